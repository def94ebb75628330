"""A support set in plain arrays: for experiments, for tests, and for trying an edit before it is made."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from exaudit.errors import SupportError
from exaudit.support.exemplars import Array, BatchIndex, SupportBatch, SupportDocument, SupportHeader
from exaudit.support.history import BatchRecord, Entry
from exaudit.support.support_set import SupportSet

__all__ = ["MemorySupportSet"]


class MemorySupportSet(SupportSet):
    """A support set that lives as long as the process."""

    def __init__(self, where: str = "support set in memory") -> None:
        super().__init__(where)
        self._entries: list[Entry] = []
        self._seen = 0
        self._batches: dict[int, SupportBatch] = {}
        self._narrow: dict[int, BatchIndex] = {}
        self._base: SupportSet | None = None
        self._base_documents = self._base_rows = 0

    @classmethod
    def create(
        cls, *, width: int, labels: Sequence[str], model: str = "", dtype: str = "float32"
    ) -> MemorySupportSet:
        """An empty set for exemplars of `model` (its fingerprint), labelled (negative, positive)."""
        support = cls()
        header = SupportHeader(width, (labels[0], labels[1]), model, dtype)
        support._commit(lambda state: Entry("create", "created the support set", header=header), None, "")
        return support

    @classmethod
    def preview(cls, base: SupportSet) -> MemorySupportSet:
        """A copy of `base` to try edits on: what is done to it is never written, `base` does not change."""
        support = cls(f"{base.where} (preview)")
        support._base, support._state = base._share(), base._state.copy()
        support._base_documents, support._base_rows = len(base._state.live), base.row_count
        return support

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)

    def _news(self) -> list[Entry]:
        news = self._entries[self._seen :]
        self._seen += len(news)
        return news

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
            raise SupportError(
                f"{self.where}: there are {self.row_count} rows, from 0; one asked for is not there"
            )
        state = self._state
        if self._base is not None and (mask := rows < self._base_rows).any():
            old = np.empty((int(mask.sum()), out.shape[1]), out.dtype)
            self._base._read_vectors(rows[mask], old)
            out[mask] = old
        for key, batch in self._batches.items():
            first = state.first_rows.get(key)
            if first is not None:
                mask = (rows >= first) & (rows < first + len(batch.vectors))
                if mask.any():
                    out[mask] = batch.vectors[rows[mask] - first]

    def _read_documents(self, numbers: Sequence[int]) -> list[SupportDocument]:
        found = []
        for number in numbers:
            if self._base is not None and number < self._base_documents:
                found += self._base._read_documents([number])
                continue
            for key, batch in self._batches.items():
                first = self._state.batches.get(key, number + 1)
                if first <= number < first + len(batch.documents):
                    document = batch.documents[number - first]
                    found.append(
                        SupportDocument(
                            number, -1, document.id, document.text, document.tokens, "", (), document.meta
                        )
                    )
        return found
