"""Vectors in a file that need not fit into memory: just the rows that are asked for are read."""

from __future__ import annotations

import mmap
import os
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.errors import SupportError

__all__ = ["VectorFile", "release"]


class VectorFile:
    """The file behind a memory map of vectors (S, M).

    Rows could be read from the map, but around each of them the kernel would read as much as the disk's read-ahead
    says, often megabytes, and all of it would count as memory of this process.
    """

    def __init__(self, vectors: np.memmap[Any, Any]) -> None:
        assert vectors.filename is not None
        self._name, self._dtype, self._width = vectors.filename, vectors.dtype, vectors.shape[1]
        # `offset` is that of the first map, of which `vectors` may be a part.
        begin = np.frombuffer(vectors._mmap, np.uint8).ctypes.data  # type: ignore[attr-defined]
        mapped_from = vectors.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        self._start = mapped_from + vectors.ctypes.data - begin
        self._descriptor = os.open(vectors.filename, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # read nothing ahead

    @classmethod
    def of(cls, vectors: NDArray[Any]) -> VectorFile | None:
        """The file of vectors, if they are mapped from one as they stand there."""
        if not isinstance(vectors, np.memmap) or vectors.mode == "c" or not vectors.flags.c_contiguous:
            return None
        return (
            cls(vectors) if vectors.filename is not None and vectors.size and hasattr(os, "preadv") else None
        )

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The vectors of a block of rows."""
        out = np.empty((stop - start, self._width), self._dtype)
        self._fill(out, start)
        return out

    def gather(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The vectors of some rows, in ascending order; those that stand together are read together."""
        out = np.empty((len(rows), self._width), self._dtype)
        edges = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        for first, last in pairwise(edges):
            self._fill(out[first:last], int(rows[first]) if last > first else 0)
        return out

    def _fill(self, out: NDArray[Any], row: int) -> None:
        at = self._start + row * self._width * self._dtype.itemsize
        left = out.reshape(-1).view(np.uint8).data
        while left:
            count = os.preadv(self._descriptor, [left], at)
            if not count:
                raise SupportError(f"{self._name} has become shorter while it was searched")
            left, at = left[count:], at + count


def release(vectors: NDArray[Any]) -> None:
    """Give back the memory that what was read of a map takes, if it is one; it is read again where needed."""
    if isinstance(vectors, np.memmap):
        vectors._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
