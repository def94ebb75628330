"""Short sketches of vectors: the distance of two sketches bounds the distance of their vectors from below.

Let c = a - mean, p = P c its coordinates on the leading principal directions, and rho = ||c - P'p|| what they
leave. For two vectors a and b

    ||a - b||^2  >=  ||p_a - p_b||^2 + (rho_a - rho_b)^2  =  ||z_a - z_b||^2        with z = (p, rho),

and flat search is the case z = c. The stored sketch is z rounded to a short float; with e = ||stored - z||,

    ||a - b||  >=  ||stored_a - stored_b|| - e_a - e_b.

All squared distances of a block come from one matrix product: the squared norms ride along as six more columns,
so that the product *is* the squared distance, and its rounding is relative to the distance, not to the norms.
bfloat16 doubles the speed of the product where the hardware has it; the errors e pay for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from exaudit._device import has_bfloat16

__all__ = ["ALIGNED", "Projection", "Sketch", "fast_dtype", "principal_directions"]

ALIGNED = 8  # short floats; what starts at a multiple of them, a GPU multiplies fast
NORM_COLUMNS = 6  # three parts of this side's squared norm, three ones for the other side's
_FAR = 2.0**40  # sketches are scaled to norm 1; one this far out could overflow, and so bounds nothing


@dataclass(frozen=True)
class Sketch:
    """Rounded coordinates of n vectors, their squared norms, and how far rounding may have moved each."""

    z: Tensor  # (n, Z) bfloat16 or float32
    norm: Tensor  # (n,) float64, of z as stored, squared
    error: Tensor  # (n,) float64

    @classmethod
    def joined(cls, parts: Sequence[Sketch]) -> Sketch:
        return cls(
            *(torch.cat(column) for column in zip(*((p.z, p.norm, p.error) for p in parts), strict=True))
        )

    def as_rows(self) -> Tensor:
        """The left factor of the product, for support rows."""
        return _joined(self.z, _parts(self.norm, self.z.dtype), _ones(self.z))  # (n, W)

    def as_queries(self) -> Tensor:
        """The right factor of the product, for queries."""
        return _joined(self.z * -2, _ones(self.z), _parts(self.norm, self.z.dtype)).T  # (W, n)


@dataclass(frozen=True)
class Projection:
    """Where sketches are taken from: the mean, the directions (None: flat, z = c), and a scale."""

    mean: Tensor  # (M,) float32
    directions: Tensor | None  # (M, d) float64, orthonormal columns
    scale: float  # a power of two that brings norms to about 1, so that no square over- or underflows
    dtype: torch.dtype

    @property
    def width(self) -> int:
        """Columns of the product."""
        coordinates = len(self.mean) if self.directions is None else self.directions.shape[1] + 1
        return _aligned(coordinates + NORM_COLUMNS)

    def sketch(self, vectors: Tensor) -> Sketch:
        """Sketch vectors (n, M) of any float type."""
        if self.directions is None:
            z = (vectors.float() - self.mean) * self.scale  # (n, M) each difference correctly rounded
        else:
            # float64, because rho is a small difference of large numbers
            c = (vectors.double() - self.mean) * self.scale  # (n, M)
            p = c @ self.directions  # (n, d)
            rho = (c.square().sum(1) - p.square().sum(1)).clamp_(min=0).sqrt_()  # (n,)
            z = torch.cat([p, rho[:, None]], dim=1)  # (n, d + 1)
        length = z.double().norm(dim=1) if z.shape[1] < 64 else z.norm(dim=1).double()  # (n,)
        near = length < _FAR
        stored = torch.where(near[:, None], z, 0).to(self.dtype)
        # The second term covers the rounding of c, of rho, and of the norms here; all are below 1e-6 of the length.
        error = z.sub_(stored).norm(dim=1).double() + 2e-6 * length
        error = torch.where(near, error + 1e-30, math.inf)
        wide = torch.float32 if self.directions is None else torch.float64
        return Sketch(stored, stored.to(wide).square().sum(dim=1).double(), error)

    def flat_rows(self, vectors: Tensor, norm: Tensor) -> Tensor:
        """`sketch(vectors).as_rows()` for flat search, from squared norms known already."""
        out = torch.zeros(len(vectors), self.width, dtype=self.dtype, device=self.mean.device)
        z = (vectors.float() - self.mean).mul_(self.scale)
        out[:, : z.shape[1]] = torch.where((norm == 0)[:, None], 0, z) if bool((norm == 0).any()) else z
        out[:, z.shape[1] : z.shape[1] + 3] = _parts(norm, self.dtype)
        out[:, z.shape[1] + 3 : z.shape[1] + NORM_COLUMNS] = 1
        return out

    def limit(self, reach: Tensor, queries: Sketch, row_norm: float, row_error: float) -> Tensor:
        """The greatest product that a row nearer than `reach` (Q,), scaled, can show; what shows more is excluded.

        Beside the errors of the sketches it allows for rounding: of the sums (at most 2^-22 of the sum of all
        magnitudes for each term, four times what float32 needs), of the result, and of the limit itself.
        """
        bound: Tensor = (reach * (1 + 1e-9) + queries.error + row_error).square_()  # (Q,)
        bound += self.width * 2.0**-21 * (queries.norm + row_norm) + 1e-30
        # Twice the rounding unit covers product and limit; the third covers the product of the two.
        return (bound * (1 + 1.5 * torch.finfo(self.dtype).eps)).to(self.dtype)  # (Q,)


def principal_directions(sample: Tensor, mean: Tensor) -> Tensor:
    """All principal directions of a sample (n, M), the leading one first, as columns (M, M) in float64."""
    centred = sample.double() - mean
    _, directions = torch.linalg.eigh(centred.T @ centred)
    leading: Tensor = directions.flip(1).contiguous()
    return leading


def fast_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where its matrix product beats float32's; some CPUs only emulate it. What the hardware has, not what a
    clock says: sketches are saved for one type, and a slip of the clock would have them made again."""
    return torch.bfloat16 if device.type == "cuda" or has_bfloat16(device) else torch.float32


def _parts(norm: Tensor, dtype: torch.dtype) -> Tensor:
    """Split numbers into three short floats whose sum is theirs to 24 bits or better."""
    first = norm.to(dtype)
    second = (norm - first).to(dtype)
    third = (norm - first.double() - second).to(dtype)
    return torch.stack([first, second, third], dim=1)  # (n, 3)


def _joined(*columns: Tensor) -> Tensor:
    """Side by side (n, W), with as many columns of zeros behind them as the width wants."""
    joined = torch.cat(columns, dim=1)
    return torch.nn.functional.pad(joined, (0, _aligned(joined.shape[1]) - joined.shape[1]))


def _aligned(width: int) -> int:
    return -(-width // ALIGNED) * ALIGNED


def _ones(z: Tensor) -> Tensor:
    return torch.ones(len(z), 3, dtype=z.dtype, device=z.device)
