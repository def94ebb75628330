"""What was decided and what is true, in one shape for every kind of model: a column for each of the K classes that are
decided (`LabelSet.views`), which is one where there are two classes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.scores import MultiScores, Scores

__all__ = ["Table", "Tables", "as_row", "true_classes", "word_decisions"]

Table = NDArray[np.int8]


class Tables(Sequence[Table]):
    """The tables (N, K) of many documents in one piece: an array for each takes ten times as much as its numbers."""

    def __init__(self, columns: int, tables: Iterable[Table] = ()) -> None:
        self._columns, self._numbers, self._ends = columns, bytearray(), array("q", [0])
        for table in tables:
            self.append(table)

    def append(self, table: Table) -> None:
        self._numbers += table.astype(np.int8).tobytes()
        self._ends.append(self._ends[-1] + len(table))

    @property
    def joined(self) -> Table:
        """All of them, one below the other."""
        return np.frombuffer(self._numbers, np.int8).reshape(-1, self._columns)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Table: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Table]: ...
    def __getitem__(self, place: int | slice) -> Table | Sequence[Table]:
        if isinstance(place, slice):
            return [self[n] for n in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        return self.joined[self._ends[place] : self._ends[place + 1]]


def true_classes(document: Document, labels: LabelSet) -> tuple[int, ...] | None:
    """The numbers of the classes that a document is labelled with; None without labels."""
    if labels.kind == "multiclass" and document.label is not None:
        return (int(labels.targets([document])[0]),)  # quick, also for many classes
    return labels.document_classes(document)


def as_row(classes: tuple[int, ...], labels: LabelSet) -> Table:
    """Classes as zeros and ones (K,)."""
    if labels.kind == "binary":
        return np.array(classes, dtype=np.int8)  # 0 or 1
    row = np.zeros(len(labels), dtype=np.int8)
    row[list(classes)] = 1
    return row


def word_decisions(scores: Scores) -> Table:
    """The classes that each word is decided to carry (N, K); of classes that exclude each other, the strongest."""
    decided = np.stack([view.decisions for view in scores.views], 1)
    if isinstance(scores, MultiScores) and scores.one_of:
        strongest = np.where(decided, scores.strengths, -np.inf).argmax(1)  # (N,)
        decided &= strongest[:, None] == np.arange(decided.shape[1])
    return decided.astype(np.int8)
