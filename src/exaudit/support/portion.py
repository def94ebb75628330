"""Some documents of a stored support set, for a process that reads their vectors and need not know the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from exaudit._arrays import ranges
from exaudit.support.exemplars import Array, document_digest
from exaudit.support.store import TEXTS, LanceSupportSet, document_of
from exaudit.support.support_set import damaged
from exaudit.support.tables import Located

__all__ = ["Portion"]

_BLOCK_BYTES, _DOCUMENTS = 8 << 20, 512  # read and compared at a time


@dataclass(frozen=True)
class Portion:
    """Where documents and the vectors of their tokens are, and what is known of them to compare with."""

    where: str
    shape: tuple[int, int]  # (n, M) of the vectors
    dtype: str
    rows: npt.NDArray[np.int64]  # (n,) ascending
    scores: npt.NDArray[np.float32]  # (n, K)
    lengths: npt.NDArray[np.int32]  # (d,)
    ids: Sequence[str | None]
    digests: Sequence[bytes]
    documents: Located
    vectors: Located

    @classmethod
    def of(cls, support: LanceSupportSet, numbers: npt.NDArray[np.int64], *, afresh: bool = False) -> Portion:
        """The documents with these numbers, which ascend; afresh: look for the tables' newest versions."""
        state, header = support._state, support.header
        lengths = state.length[numbers]
        rows = ranges(state.row[numbers], lengths)
        documents, vectors = support.located(numbers, rows, afresh=afresh)
        return cls(
            where=support.where,
            shape=(len(rows), header.width),
            dtype=header.dtype,
            rows=rows,
            scores=state.scores[rows],
            lengths=lengths,
            ids=[state.ids[number] for number in numbers.tolist()],
            digests=[state.digests[number] for number in numbers.tolist()],
            documents=documents,
            vectors=vectors,
        )

    def read(self) -> Array:
        """The vectors (n, M), each document compared with the fingerprint that was taken when it was added."""
        out = np.empty(self.shape, self.dtype)
        documents, vectors = self.documents.open(), self.vectors.open()
        ends = np.cumsum(self.lengths, dtype=np.int64)
        starts = ends - self.lengths
        for some in self._blocks(starts):
            block = slice(int(starts[some.start]), int(ends[some.stop - 1]))
            vectors.read_into(block, "vector", out[block])
            texts = documents.take(some, TEXTS).to_pylist()
            for n, text in zip(range(some.start, some.stop), texts, strict=True):
                own = slice(int(starts[n]), int(ends[n]))
                if document_digest(document_of(n, text), out[own], self.scores[own]) != self.digests[n]:
                    raise damaged(self.where, self.ids[n])
        return out

    def _blocks(self, starts: npt.NDArray[np.int64]) -> Iterator[slice]:
        """Documents of about as many bytes each time."""
        tokens = max(1, _BLOCK_BYTES // (self.shape[1] * np.dtype(self.dtype).itemsize))
        first = 0
        while first < len(starts):
            last = int(np.searchsorted(starts, starts[first] + tokens))
            last = min(max(last, first + 1), first + _DOCUMENTS)
            yield slice(first, last)
            first = last
