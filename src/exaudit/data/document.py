"""A document: the text, its tokens, and what people said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from exaudit.data.words import split_words
from exaudit.errors import DataError

__all__ = ["Document", "Label"]

Label = str | tuple[str, ...]  # a class, or several (perhaps none) where documents have lists of labels


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its tokens, an optional label, and optional token labels.

    Labels are kept as the strings of the user's file; `exaudit.data.labels.LabelSet` turns them into
    numbers. `line` is where the document starts in its file, for messages (0: not from a file). `starts` are the
    tokens' places in the text, needed only where looking for the tokens from left to right would not find them. `cut`
    says how the tokens were made of the text, so that they can be made anew (`recut`); None: they came with it.
    """

    id: str
    text: str
    tokens: tuple[str, ...]
    label: Label | None = None
    token_labels: tuple[Label, ...] | None = None
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)
    line: int = 0
    starts: tuple[int, ...] | None = None
    cut: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.token_labels is not None and len(self.token_labels) != len(self.tokens):
            raise DataError(
                f"document {self.id!r} has {len(self.tokens)} tokens but {len(self.token_labels)} token labels; "
                "give one label per token"
            )
        if self.starts is not None and len(self.starts) != len(self.tokens):
            raise DataError(
                f"document {self.id!r} has {len(self.tokens)} tokens but {len(self.starts)} starts"
            )

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        id: str = "",
        label: Label | None = None,
        token_labels: Sequence[Label] | None = None,
        meta: Mapping[str, str] | None = None,
        line: int = 0,
        cut: str = "words",
    ) -> Document:
        """A document whose tokens are cut out of the text: "words", or what stands between "whitespace".

        Token labels are those of the tokens between white space, whatever `cut` says, and these are kept.
        """
        if token_labels is not None:
            return cls(id, text, tuple(text.split()), label, tuple(token_labels), meta or {}, line)
        return cls(id, text, (), label, None, meta or {}, line, cut="none yet").recut(cut)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[str],
        *,
        id: str = "",
        text: str | None = None,
        label: Label | None = None,
        token_labels: Sequence[Label] | None = None,
        meta: Mapping[str, str] | None = None,
        line: int = 0,
    ) -> Document:
        """A document with given tokens; `text` defaults to the tokens joined by a space."""
        labels = None if token_labels is None else tuple(token_labels)
        text = " ".join(tokens) if text is None else text
        return cls(id, text, tuple(tokens), label, labels, meta or {}, line)

    def recut(self, how: str) -> Document:
        """The same document with its text cut into tokens in this way; one that came with tokens, or has token labels,
        stays as it is."""
        if self.cut in (None, how) or self.token_labels is not None:
            return self
        tokens, starts = split_words(self.text, how)
        # Only behind a tag or an entity, which is left out, could a token be found too early.
        needed = how == "words" and ("<" in self.text or "&" in self.text)
        return replace(self, tokens=tokens, starts=starts if needed else None, cut=how)

    def without_token_labels(self) -> Document:
        """The same document for those who must not see the labels of its tokens."""
        return replace(self, token_labels=None)

    def spans(self) -> list[tuple[int, int]]:
        """Character offsets of each token: `text[start:end] == token`, in order."""
        spans, position = [], 0
        for i, token in enumerate(self.tokens):
            start = self.text.find(token, position) if self.starts is None else self.starts[i]
            if start < position or not self.text.startswith(token, start):
                raise DataError(
                    f"document {self.id!r}: the token {token!r} is not in the text after character {position}"
                )
            position = start + len(token)
            spans.append((start, position))
        return spans
