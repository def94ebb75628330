"""The vectors of a support set as a search holds them: each is read when it is first needed.

A few questions, with sketches at hand, need few vectors. What is read for them is compared at once: a vector with the
checksum that was saved with its sketch, a document that is an answer with its fingerprint. Where all is read, it is
compared in the background (see `verification`).
"""

from __future__ import annotations

import hashlib
import mmap
from threading import Lock

import numpy as np
from numpy.typing import DTypeLike, NDArray

from exaudit._arrays import ranges
from exaudit.support.exemplars import Array, Exemplars
from exaudit.support.support_set import SupportSet, damaged
from exaudit.support.vector_file import release
from exaudit.support.verification import Verification

__all__ = ["CHECKSUM", "HeldVectors"]

MANY = 0.1  # share of the vectors that, once it was read here and there, calls for the rest in one go
CHECKSUM = 16  # bytes
_BLOCK = 4096  # vectors of which checksums are made together


class HeldVectors:
    """Vectors (S, M) of the live tokens of a set.

    support : the set as it stays for this object, whatever is done to it (`SupportSet._share`).
    exemplars : the tokens.
    array : all of their vectors, if they were read already. Otherwise it is made here, and memory that nothing was
        written to takes no room.
    """

    def __init__(self, support: SupportSet, exemplars: Exemplars, array: Array | None = None) -> None:
        self._support, self._row, self._document = support, exemplars.row, exemplars.document
        self._verification: Verification | None = None  # of all; None: what was read was compared when it was
        self._read, self._known = (np.zeros(len(self._row), bool) for _ in range(2))
        self._checksums = np.zeros((len(self._row), CHECKSUM), np.uint8)  # of those that are known
        self._pages: mmap.mmap | None = None  # what the array is made of
        self._reading = Lock()
        if array is None:
            self.array, self._pages = _room(len(self._row), support.header.width, support.header.dtype)
        else:
            self.array = array
            self._hold_all()

    @property
    def whole(self) -> bool:
        """Whether all were read."""
        return self._verification is not None

    @property
    def verified(self) -> bool:
        """Whether all that was read was compared."""
        return self._verification is None or self._verification.done

    def check(self) -> None:
        """Raise a SupportError where damage has been found so far."""
        if self._verification is not None:
            self._verification.check()

    def wait(self) -> None:
        """Wait until all that was read was compared; raise a SupportError where it is damaged."""
        if self._verification is not None:
            self._verification.wait()

    def expect(self, places: NDArray[np.int64], checksums: NDArray[np.uint8]) -> None:
        """Tell the checksums of vectors (n, CHECKSUM) before they are read."""
        self._checksums[places], self._known[places] = checksums, True

    def checksums(self) -> NDArray[np.uint8]:
        """Of all vectors: (S, CHECKSUM)."""
        self.need_all()
        found = [np.zeros((0, CHECKSUM), np.uint8)]
        for start in range(0, len(self.array), _BLOCK):
            found.append(_checksums(self.array[start : start + _BLOCK]))
            release(self.array)
        return np.concatenate(found)

    def need(self, places: NDArray[np.int64]) -> None:
        """Have the vectors at these places in the array; where a checksum is not known, with all of the document."""
        if self.whole or self._read[places].all():
            return
        with self._reading:  # a search has several threads
            self._need(places)

    def _need(self, places: NDArray[np.int64]) -> None:
        missing = np.unique(places[~self._read[places]])
        alone, others = missing[self._known[missing]], missing[~self._known[missing]]
        vectors = self._support.vectors(self._row[alone])
        differ = (_checksums(vectors) != self._checksums[alone]).any(axis=1)
        if differ.any():
            number = self._document[alone[differ][0]]
            raise damaged(self._support.where, self._support._state.ids[number])
        self.array[alone], self._read[alone] = vectors, True
        if len(others):
            self._need_documents(np.unique(self._document[others]).astype(np.int64))

    def need_documents(self, places: NDArray[np.int64]) -> None:
        """Have the documents of these places compared with their fingerprints: texts and scores, too."""
        if not self.whole:
            numbers = np.unique(self._document[places]).astype(np.int64)
            new = [number not in self._support._assured for number in numbers.tolist()]
            if self._support.stored and any(new):
                self._need_documents(numbers[new])

    def need_all(self) -> None:
        """Have all of them in the array."""
        if not self.whole:
            if self._pages is not None:
                self._pages.madvise(mmap.MADV_HUGEPAGE)  # as arrays of numpy are
            self._support.read_vectors(self._row, self.array)
            self._hold_all()

    def need_many(self) -> None:
        """Have all of them there if many are by now."""
        if not self.whole and np.count_nonzero(self._read) > MANY * len(self._read):
            self.need_all()

    def _need_documents(self, numbers: NDArray[np.int64]) -> None:
        state = self._support._state
        rows = ranges(state.row[numbers], state.length[numbers])
        vectors = self._support.vectors(rows)
        self._support.assure(numbers, vectors)
        places = np.searchsorted(self._row, rows)
        self.array[places], self._read[places] = vectors, True

    def _hold_all(self) -> None:
        self._verification = Verification(self._support, self.array)
        self._verification.check()


def _room(rows: int, width: int, dtype: DTypeLike) -> tuple[Array, mmap.mmap | None]:
    """Zeros (rows, width). Those of numpy take megabytes of memory around each row that is written to."""
    kind = np.dtype(dtype)
    if not rows or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros((rows, width), kind), None
    room = mmap.mmap(-1, rows * width * kind.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, kind).reshape(rows, width), room


def _checksums(vectors: Array) -> NDArray[np.uint8]:
    """Of vectors (n, M): (n, CHECKSUM)."""
    sums = b"".join(hashlib.sha256(vector.data).digest()[:CHECKSUM] for vector in vectors)
    return np.frombuffer(sums, np.uint8).reshape(-1, CHECKSUM)
