"""A document: the text, its tokens, and what people said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from exaudit.errors import DataError

__all__ = ["Document", "Label"]

Label = str | tuple[str, ...]  # a class, or several (perhaps none) where documents have lists of labels


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its tokens, an optional label, and optional token labels.

    Labels are kept as the strings of the user's file; `exaudit.data.labels.LabelSet` turns them into
    numbers. `line` is where the document starts in its file, for messages (0: not from a file). `starts` are the
    tokens' places in the text, needed only where looking for the tokens from left to right would not find them.
    """

    id: str
    text: str
    tokens: tuple[str, ...]
    label: Label | None = None
    token_labels: tuple[Label, ...] | None = None
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)
    line: int = 0
    starts: tuple[int, ...] | None = None

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
    ) -> Document:
        """A document whose tokens are the text split on white space."""
        labels = None if token_labels is None else tuple(token_labels)
        return cls(id, text, tuple(text.split()), label, labels, meta or {}, line)

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
