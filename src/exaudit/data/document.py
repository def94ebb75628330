"""A document: the text, its tokens, and what people said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from exaudit.errors import DataError

__all__ = ["Document"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its tokens, an optional label, and optional token labels.

    Labels are kept as the strings of the user's file; `exaudit.data.labels.LabelNames` turns them into
    0 and 1. `line` is where the document starts in its file, for messages (0: not from a file).
    """

    id: str
    text: str
    tokens: tuple[str, ...]
    label: str | None = None
    token_labels: tuple[str, ...] | None = None
    meta: Mapping[str, str] = field(default=_NOTHING, hash=False)
    line: int = 0

    def __post_init__(self) -> None:
        if self.token_labels is not None and len(self.token_labels) != len(self.tokens):
            raise DataError(
                f"document {self.id!r} has {len(self.tokens)} tokens but {len(self.token_labels)} token labels; "
                "give one label per token"
            )

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        id: str = "",
        label: str | None = None,
        token_labels: Sequence[str] | None = None,
        meta: Mapping[str, str] = _NOTHING,
        line: int = 0,
    ) -> Document:
        """A document whose tokens are the text split on white space."""
        labels = None if token_labels is None else tuple(token_labels)
        return cls(id, text, tuple(text.split()), label, labels, meta, line)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[str],
        *,
        id: str = "",
        text: str | None = None,
        label: str | None = None,
        token_labels: Sequence[str] | None = None,
        meta: Mapping[str, str] = _NOTHING,
        line: int = 0,
    ) -> Document:
        """A document with given tokens; `text` defaults to the tokens joined by a space."""
        labels = None if token_labels is None else tuple(token_labels)
        text = " ".join(tokens) if text is None else text
        return cls(id, text, tuple(tokens), label, labels, meta, line)

    def spans(self) -> list[tuple[int, int]]:
        """Character offsets of each token: `text[start:end] == token`, in order."""
        spans, position = [], 0
        for token in self.tokens:
            start = self.text.find(token, position)
            if start < 0:
                raise DataError(
                    f"document {self.id!r}: the token {token!r} is not in the text after character {position}"
                )
            position = start + len(token)
            spans.append((start, position))
        return spans
