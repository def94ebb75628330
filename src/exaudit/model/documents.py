"""What a caller hands over, as documents: texts, lists of tokens or Documents, with labels beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exaudit.data.columns import TEXT_NAMES, find_column, listed
from exaudit.data.document import Document, Label
from exaudit.data.frames import column_names, is_table
from exaudit.data.labels import Value
from exaudit.data.spelling import is_missing
from exaudit.errors import DataError, SettingError

__all__ = ["as_documents", "each_document", "values_of"]


def as_documents(
    X: Iterable[Any], y: Sequence[Any] | None = None, *, name: str = "X", cut: str = "words"
) -> list[Document]:
    """Texts, token lists or Documents as Documents, with labels y where given.

    cut : how texts become tokens, also those of Documents whose tokens were cut in another way.
    """
    if isinstance(X, str):
        raise SettingError(f"{name} is one string; give a list of texts")
    documents = list(each_document(X, name, cut=cut))
    if y is None:
        return documents
    if len(y) != len(documents):
        raise DataError(f"{len(documents)} documents but {len(y)} labels; give one label per document")
    if missing := sum(_is_missing(label) for label in y):
        raise DataError(
            f"{missing:,} of {len(y):,} labels {'is' if missing == 1 else 'are'} missing (None, NaN or such); leave "
            "these documents and their labels out"
        )
    return [replace(d, label=_label(label)) for d, label in zip(documents, y, strict=True)]


def each_document(X: Iterable[Any], name: str = "X", *, cut: str = "words") -> Iterator[Document]:
    """The same one after another, each with its number for an id where it has none."""
    if is_table(X):
        names = [str(column) for column in column_names(X)]
        place = find_column(names, None, TEXT_NAMES) or 0
        raise SettingError(
            f"{name} is a table with the columns {listed(names)}; give the one of the texts, as in "
            f"{name}[{names[place]!r}], or `read_documents({name})`, which takes texts and labels from it"
            if names
            else f"{name} is a table without columns; give texts"
        )
    for number, item in enumerate(X, 1):
        if isinstance(item, Document):
            document = item.recut(cut)
        elif isinstance(item, str):
            document = Document.from_text(item, id=str(number), cut=cut)
        elif isinstance(item, list | tuple) and all(isinstance(token, str) for token in item):
            document = Document.from_tokens(item, id=str(number))
        else:
            raise SettingError(
                f"item {number} of {name} is a {type(item).__name__}; give texts, lists of tokens or Documents"
            )
        if not document.tokens:
            raise DataError(
                f"document {document.id!r} of {name} is empty: it has no tokens", line=document.line or None
            )
        yield document


def values_of(y: Iterable[Any] | None) -> dict[str, Value]:
    """The labels as the caller gave them, by the names that they have here."""
    found: dict[str, Value] = {}
    for label in y if y is not None else ():
        for one in label if _is_list(label) else (label,):
            found[str(one)] = one.item() if isinstance(one, np.generic) else one
    kinds = {str if isinstance(value, str) else float for value in found.values()}
    if len(kinds) > 1:
        some = ", ".join(repr(value) for value in list(found.values())[:4])
        raise DataError(f"labels of mixed kinds, text and numbers: {some}; give one kind")
    return found


def _is_missing(label: Any) -> bool:
    return any(map(is_missing, label)) if _is_list(label) else is_missing(label)


def _label(label: Any) -> Label:
    return tuple(str(one) for one in label) if _is_list(label) else str(label)


def _is_list(label: Any) -> bool:
    return isinstance(label, list | tuple | set | frozenset)
