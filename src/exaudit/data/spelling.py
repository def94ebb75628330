"""How labels are written: which cells hold none, and which spellings are the same label."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from exaudit.data.document import Document, Label

__all__ = [
    "Spellings",
    "folded",
    "is_missing",
    "label_name",
    "label_names",
    "number_name",
    "renamed",
    "split_names",
]

# What programs write where there is no label. None and NA only as pandas and R write them: a class may be called none.
MISSING = {"None", "NA"}
MISSING_IN_ANY_CASE = {"", "nan", "n/a", "#n/a", "<na>", "null"}
WHOLE_NUMBER = re.compile(r"([+-]?\d+)\.0+")  # 1.0, as data frames write the label 1


def label_name(text: str) -> str | None:
    """The label of a cell, None where it holds none; 1.0 is 1, as it is where numbers are not text."""
    name = text.strip()
    if is_missing(name):
        return None
    return WHOLE_NUMBER.sub(r"\1", name) if WHOLE_NUMBER.fullmatch(name) else name


def label_names(text: str, separator: str) -> tuple[str, ...] | None:
    """The labels of a cell that may hold several. None of them where it is blank; None where they are not known."""
    if text.strip() and label_name(text) is None:
        return None
    names = (label_name(part) for part in text.split(separator))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def split_names(text: str, separator: str) -> tuple[str, ...]:
    """The labels of a token, as they are written."""
    return tuple(dict.fromkeys(name for part in text.split(separator) if (name := part.strip())))


def number_name(value: float) -> str:
    """A number as a label or an id: 1 and 1.0, as data frames write it, are the same."""
    return str(int(value)) if value == value // 1 and abs(value) < 2**53 else str(value)


def is_missing(value: Any) -> bool:
    """Whether a label is none: None, NaN, pandas' NA, or a word that programs write for them."""
    if isinstance(value, str):
        name = value.strip()
        return name in MISSING or name.casefold() in MISSING_IN_ANY_CASE
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


@lru_cache(maxsize=10_000)
def folded(name: str) -> str:
    """What labels that differ in case, in white space or in a .0 alone have in common."""
    plain = " ".join(unicodedata.normalize("NFC", name).casefold().split())
    return WHOLE_NUMBER.sub(r"\1", plain) if WHOLE_NUMBER.fullmatch(plain) else plain


class Spellings:
    """The labels of a file and how often each is written. Of those that differ in case alone, the commonest counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, label: Label | None) -> None:
        if label is not None:
            self._counts.update((label,) if isinstance(label, str) else label)

    def variants(self) -> list[tuple[str, str, int]]:
        """Each label that is taken for a commoner one, that one, and how often, the most frequent first."""
        chosen: dict[str, str] = {}
        found = []
        for name, count in sorted(self._counts.items(), key=lambda item: (-item[1], item[0])):
            common = chosen.setdefault(folded(name), name)
            if common != name:
                found.append((name, common, count))
        return found

    def unified(self, documents: Sequence[Document]) -> list[Document]:
        """The documents with the commonest spelling of every label."""
        common = {name: chosen for name, chosen, _ in self.variants()}
        if not common:
            return list(documents)
        return [replace(document, label=renamed(document.label, common)) for document in documents]


def renamed(label: Label | None, names: dict[str, str]) -> Label | None:
    """A label under its new name, or several."""
    if label is None or isinstance(label, str):
        return None if label is None else names.get(label, label)
    return tuple(dict.fromkeys(names.get(name, name) for name in label))
