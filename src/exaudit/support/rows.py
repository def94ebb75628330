"""A run of support rows: their vectors, wherever those live, and the sketches that search scans."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from exaudit.errors import SupportError
from exaudit.support.projection import Projection
from exaudit.support.vector_file import VectorFile

__all__ = ["Fetch", "Rows", "Sketches"]

STEP = 4096  # rows sketched at once
FEW = 4096  # rows whose sketches are kept even if they are as long as the vectors: made anew, they are most of a search
Fetch = Callable[[NDArray[np.int64]], None]


@dataclass(frozen=True)
class Sketches:
    """A projection and the sketches of n rows by it, as the search keeps them."""

    projection: Projection
    norm: Tensor  # (n,) float64
    error: Tensor  # (n,) float64
    factor: Tensor  # (n, W); (0, W) of flat search

    def __len__(self) -> int:
        return len(self.norm)

    def take(self, places: Tensor) -> Sketches:
        """Those of some of the rows."""
        factor = self.factor[places] if len(self.factor) else self.factor
        return Sketches(self.projection, self.norm[places], self.error[places], factor)

    def to(self, device: torch.device) -> Sketches:
        """The same on another device."""
        own = self.projection
        directions = None if own.directions is None else own.directions.to(device)
        projection = replace(own, mean=own.mean.to(device), directions=directions)
        return replace(self, projection=projection, factor=self.factor.to(device))


class Rows:
    """Vectors (S, M) and their sketches. Those of flat search are as long as the vectors: kept of a few rows only.

    fetch : puts vectors into their places, if they are not there from the start.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        device: torch.device,
        *,
        stream: bool,
        first: int = 0,
        fetch: Fetch | None = None,
    ) -> None:
        self.first = first  # the number of the first row
        self._device, self._stream, self._fetch = device, stream, fetch
        self._room = vectors  # the vectors, and room to grow once some were appended
        self._file = VectorFile.of(vectors) if stream else None
        self._hold(vectors)
        self._projection: Projection | None = None

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def width(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def held(self) -> Tensor | None:
        """All vectors, where they stand row after row on the device of the search."""
        return None if self._stream or not self._vectors.is_contiguous() else self._vectors

    def append(self, vectors: NDArray[Any]) -> None:
        count, total = len(self), len(self) + len(vectors)
        if total > len(self._room):
            room = np.empty((max(total, total * 3 // 2), self.width), dtype=self._room.dtype)
            room[:count] = self._room[:count]
            self._room, self._file = room, None
        self._room[count:total] = vectors
        self._hold(self._room[:total])

    def gather(self, row: Tensor) -> Tensor:
        """Vectors (n, M) of some rows by number, on the device of the search."""
        place = (row - self.first).to(self._vectors.device)
        if self._fetch is not None:
            self._fetch(place.numpy())
        if self._file is None:
            return self._vectors.index_select(0, place).to(self._device)
        near, which = np.unique(
            place.numpy(), return_inverse=True
        )  # each row is read once, in the file's order
        return torch.from_numpy(self._file.gather(near)[which]).to(self._device)

    def sketch(self, projection: Projection) -> None:
        """Sketch the rows that are not, or not by this projection."""
        if projection is not self._projection:
            self._projection = projection
            self._norm = self._error = torch.empty(0, dtype=torch.float64)
            self._factor = torch.empty(0, projection.width, dtype=projection.dtype, device=self._device)
        done, total = len(self._norm), len(self)
        kept = projection.directions is not None or (total <= FEW and not self._stream)
        if kept and len(self._factor) < done:
            done = 0  # of the sketches of flat search, those that were made before are their lengths alone
        if done == total:
            return
        norm, error = (torch.empty(total, dtype=torch.float64) for _ in range(2))
        norm[:done], error[:done] = self._norm[:done], self._error[:done]
        factor = self._factor.new_empty(total if kept else 0, projection.width)
        if kept:
            factor[:done] = self._factor[:done]
        for start in range(done, total, STEP):
            some = slice(start, min(start + STEP, total))
            sketch = projection.sketch(self._read(some))
            norm[some], error[some] = sketch.norm, sketch.error
            self._check_finite(some, error[some])
            if kept:
                factor[some] = sketch.as_rows()
        self._norm, self._error, self._factor = norm, error, factor

    def adopt(self, known: Sketches, at: Tensor) -> None:
        """Take sketches that were made before, of the rows at places `at` (n,); make those of the others."""
        projection, total = known.projection, len(self)
        norm, error, factor = known.norm, known.error, known.factor
        if not torch.equal(at, torch.arange(total)):
            norm, error = norm.new_empty(total), error.new_empty(total)
            kept = projection.directions is not None
            factor = factor.new_empty(total if kept else 0, projection.width)
            norm[at], error[at] = known.norm, known.error
            if kept:
                factor[at.to(self._device)] = known.factor
            missing = torch.ones(total, dtype=torch.bool).index_fill_(0, at, False).nonzero().flatten()
            for start in range(0, len(missing), STEP):
                some = missing[start : start + STEP]
                sketch = projection.sketch(self.gather(some + self.first))
                norm[some], error[some] = sketch.norm.cpu(), sketch.error.cpu()
                if kept:
                    factor[some.to(self._device)] = sketch.as_rows()
        self._projection, self._norm, self._error, self._factor = projection, norm, error, factor

    def sketches(self) -> Sketches:
        """Those in use, of all rows."""
        if self._projection is None:
            raise RuntimeError("sketches before sketch")
        factor = self._factor[:0] if self._projection.directions is None else self._factor
        return Sketches(self._projection, self._norm, self._error, factor)

    def factor(self, row: Tensor) -> Tensor:
        """Sketches of some rows by number, as a factor of the product (n, W)."""
        if self._projection is None:
            raise RuntimeError("factor before sketch")
        if len(self._factor) < len(self._norm):
            return self._projection.sketch(self.gather(row)).as_rows()
        return self._factor.index_select(0, row - self.first)

    def block(self, start: int, stop: int) -> tuple[Tensor, float, float]:
        """Some sketches as a factor of the product, their greatest squared norm, and their greatest error."""
        if self._projection is None:
            raise RuntimeError("block before sketch")
        norm, error = self._norm[start:stop], self._error[start:stop]
        if len(self._factor) < len(self._norm):
            factor = self._projection.flat_rows(self._read(slice(start, stop)), norm.to(self._device))
        else:
            factor = self._factor[start:stop]  # (B, W)
        return factor, float(norm.max()), float(error.max())

    def _read(self, some: slice) -> Tensor:
        if self._fetch is not None:
            self._fetch(np.arange(some.start, some.stop))
        if self._file is None:
            return self._vectors[some].to(self._device)
        return torch.from_numpy(self._file.read(some.start, some.stop)).to(self._device)

    def _hold(self, vectors: NDArray[Any]) -> None:
        held = _as_tensor(vectors)
        self._vectors = held if self._stream else held.to(self._device)

    def _check_finite(self, some: slice, error: Tensor) -> None:
        if not bool(error.isfinite().all()):
            finite = self._read(some).isfinite().all(dim=1)
            if not bool(finite.all()):
                row = self.first + some.start + int((~finite).nonzero()[0])
                raise SupportError(f"row {row} of the support set holds a number that is not finite")


def _as_tensor(array: NDArray[Any]) -> Tensor:
    """The same memory as a tensor, to be read only."""
    with warnings.catch_warnings():  # torch warns of arrays that cannot be written
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)
