"""A support set in plain arrays: for experiments, for tests, and for trying an edit before it is made."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from exaudit.data.labels import Kind
from exaudit.errors import SupportError
from exaudit.support.exemplars import Array, BatchIndex, SupportBatch, SupportDocument
from exaudit.support.header import SupportHeader
from exaudit.support.history import BatchRecord, Entry
from exaudit.support.support_set import SupportSet

__all__ = ["MemorySupportSet"]


class MemorySupportSet(SupportSet):
    """A support set that lives as long as the process."""

    def __init__(self, where: str = "support set in memory") -> None:
        super().__init__(where)
        self._batches: dict[int, SupportBatch] = {}
        self._narrow: dict[int, BatchIndex] = {}
        self._base: SupportSet | None = None

    @classmethod
    def create(
        cls,
        *,
        width: int,
        labels: Sequence[str],
        kind: Kind = "binary",
        model: str = "",
        dtype: str = "float32",
        precision: str = "float32",
    ) -> MemorySupportSet:
        """An empty set for exemplars of `model` (its fingerprint); of two labels the negative one comes first."""
        support = cls()
        header = SupportHeader(width, tuple(labels), model, dtype, kind, precision)
        support._commit(lambda state: Entry("create", "created the support set", header=header), None, "")
        return support

    @classmethod
    def preview(cls, base: SupportSet) -> MemorySupportSet:
        """A copy of `base` to try edits on: what is done to it is never written, `base` does not change."""
        support = cls(f"{base.where} (preview)")
        support._base, support._state = base._share(), base._state.copy()
        return support

    def _append(self, entry: Entry) -> bool:
        return entry.parent == self._state.head

    def _news(self) -> list[Entry]:
        return []

    def _save(self, batch: SupportBatch) -> BatchRecord:
        vectors = np.array(batch.vectors)  # the caller may reuse its arrays
        batch = SupportBatch(batch.documents, vectors, np.array(batch.scores), batch.token_labels)
        record = BatchRecord(secrets.randbits(62), len(batch.documents), len(vectors))
        self._batches[record.key], self._narrow[record.key] = batch, batch.index(self.header)
        return record

    def _indexes(self, keys: Sequence[int]) -> Mapping[int, BatchIndex]:
        return self._narrow

    def _read_vectors(self, rows: npt.NDArray[np.int64], out: Array) -> None:
        if rows.min(initial=0) < 0 or rows.max(initial=-1) >= self.row_count:
            raise SupportError(f"{self.where}: there are {self.row_count} rows; one asked for is not there")
        for first, batch, places in self._owners(self._state.first_rows, rows):
            if batch is not None:
                out[places] = batch.vectors[rows[places] - first]
            elif self._base is not None:
                out[places] = self._base.vectors(rows[places])

    def _read_documents(self, numbers: Sequence[int]) -> list[SupportDocument]:
        wanted, found = np.asarray(numbers, np.int64), {}
        for first, batch, places in self._owners(self._state.batches, wanted):
            if batch is not None:
                for n in wanted[places].tolist():
                    own = batch.documents[n - first]
                    found[n] = SupportDocument(n, -1, own.id, own.text, own.tokens, "", (), own.meta)
            elif self._base is not None:
                read = self._base._read_documents(wanted[places].tolist())
                found.update({document.number: document for document in read})
        return [found[number] for number in numbers]

    def _owners(
        self, firsts: Mapping[int, int], wanted: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, SupportBatch | None, npt.NDArray[np.int64]]]:
        """The batches that own some of the wanted rows (or documents), None for the base, and which those are."""
        own = [(first, key) for key, first in firsts.items() if key in self._batches]  # ascending
        which = np.searchsorted([first for first, _ in own], wanted, side="right") - 1
        for owner in np.unique(which).tolist():
            first, batch = (own[owner][0], self._batches[own[owner][1]]) if owner >= 0 else (0, None)
            yield first, batch, np.flatnonzero(which == owner)
