"""The two classes: names for people, 0 (negative) and 1 (positive) inside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.columns import listed
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError

__all__ = ["LabelNames"]

# Names that say by themselves which class is meant; "1" and "i" only beside their usual partner, because of files
# with classes 1 and 2, or i and ii.
PLAIN_POSITIVE = {"positive", "pos", "yes", "true"}
PLAIN_PAIRS = {("0", "1"), ("-1", "1"), ("-1", "+1"), ("c", "i")}
# Token labels that are understood whatever the classes are called.
TOKEN_LABELS = {
    "1": 1, "+1": 1, "i": 1, "true": 1, "yes": 1,
    "0": 0, "-1": 0, "c": 0, "false": 0, "no": 0,
}  # fmt: skip


@dataclass(frozen=True)
class LabelNames:
    """Names of the negative and the positive class; `others` are further classes that count as negative."""

    negative: str
    positive: str
    others: tuple[str, ...] = ()
    _targets: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        targets = {**dict.fromkeys(self.others, 0), self.negative: 0, self.positive: 1}
        if self.positive == self.negative or self.positive in self.others:
            raise SettingError(f"the positive and the negative class have the same name, {self.positive!r}")
        object.__setattr__(self, "_targets", targets)

    @classmethod
    def infer(
        cls,
        documents: Iterable[Document],
        positive: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
    ) -> LabelNames:
        """The classes of the document labels, or of the token labels where no document has a label."""
        of_documents: set[str] = set()
        of_tokens: set[str] = set()
        for document in documents:
            if document.label is not None:
                of_documents.add(document.label)
            of_tokens.update(document.token_labels or ())
        return cls.from_classes(of_documents or of_tokens, positive, path=path)

    @classmethod
    def from_classes(
        cls,
        classes: Iterable[str],
        positive: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
    ) -> LabelNames:
        """The positive class is `positive`, or one of two with a plain name (positive, pos, yes, true, 1, i)."""
        found = sorted(set(classes))
        if not found:
            raise DataError(
                "no document has a label; name the column of the labels with --label-column", path
            )
        if len(found) == 1:
            raise DataError(
                f"all labels are {found[0]!r}; two classes are needed: add documents of the other, or name another "
                "column with --label-column",
                path,
            )
        if positive is not None:
            chosen = _match(positive, found)
            if chosen is None:
                raise SettingError(
                    f"no label is {positive!r}; the classes are {listed(found)}; choose by --positive"
                )
        else:
            chosen = _plain_positive(found)
            if chosen is None:
                raise SettingError(
                    f"which class is the positive one? The classes are {listed(found)}; choose by --positive"
                )
        rest = tuple(name for name in found if name != chosen)
        return cls(rest[0], chosen) if len(rest) == 1 else cls(f"not {chosen}", chosen, rest)

    def name(self, target: int) -> str:
        """The name of class 0 or 1."""
        return self.positive if target == 1 else self.negative

    def document_target(
        self, document: Document, *, path: str | os.PathLike[str] | None = None
    ) -> int | None:
        """0 or 1; where a document has token labels only, 1 if any token is positive; None without labels."""
        if document.label is not None:
            target = self._targets.get(document.label)
            if target is None:
                known = listed([self.negative, self.positive, *self.others])
                raise DataError(
                    f"document {document.id!r} has the unknown label {document.label!r}; the classes are {known}",
                    path,
                    document.line or None,
                )
            return target
        tokens = self.token_targets(document, path=path)
        return None if tokens is None else int(tokens.any())

    def token_targets(
        self, document: Document, *, path: str | os.PathLike[str] | None = None
    ) -> NDArray[np.int8] | None:
        """0 or 1 for each token, from class names or 0/1, c/i, false/true, no/yes; None without token labels."""
        if document.token_labels is None:
            return None
        targets = np.empty(len(document.token_labels), dtype=np.int8)
        for i, label in enumerate(document.token_labels):
            target = self._targets.get(label)
            if target is None:
                target = TOKEN_LABELS.get(label.casefold())
            if target is None:
                raise DataError(
                    f"document {document.id!r} has the unknown token label {label!r} on token {i + 1}, "
                    f"{document.tokens[i]!r}; use {self.negative!r} and {self.positive!r}, or 0 and 1",
                    path,
                    document.line or None,
                )
            targets[i] = target
        return targets

    def to_json(self) -> dict[str, Any]:
        return {"negative": self.negative, "positive": self.positive, "others": list(self.others)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LabelNames:
        return cls(value["negative"], value["positive"], tuple(value.get("others", ())))


def _match(wanted: str, classes: list[str]) -> str | None:
    """The class of this name; without regard to case if that leaves no doubt."""
    if wanted in classes:
        return wanted
    close = [name for name in classes if name.casefold() == wanted.strip().casefold()]
    return close[0] if len(close) == 1 else None


def _plain_positive(classes: list[str]) -> str | None:
    if len(classes) != 2:
        return None
    for name, other in (classes, reversed(classes)):
        plain, partner = name.casefold(), other.casefold()
        if (partner, plain) in PLAIN_PAIRS or (plain in PLAIN_POSITIVE and partner not in PLAIN_POSITIVE):
            return name
    return None
