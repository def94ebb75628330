"""Are two samples from one source? A permutation test over several measures at once, exact at any size.

Each measure is compared by the largest gap between the two distribution functions (Kolmogorov-Smirnov), and the
content, which has many directions, by the energy distance. If the samples are exchangeable, each way of saying which
rows are new is as likely as the one that is true, so the true one is compared with random others. The measures are
joined by the smallest of their p-values, itself compared with those of the same random others (Westfall and Young,
1993): the chance of any false alarm is at most the rate, however the measures hang together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["TwoSample", "draws_for", "energy_distance", "largest_gap", "two_sample_test"]

Floats = NDArray[np.float64]
_CHUNK = 250  # permutations at once
_EPSILON = (
    1e-6  # energies that differ by less, relative to the spread, are equal: they are sums of rounded numbers
)


@dataclass(frozen=True, eq=False)
class TwoSample:
    """`p` is of the question whether anything differs; `adjusted` of each measure, corrected for asking of all."""

    p: float
    adjusted: Floats  # (K,) or (K + 1,) with the content last


def draws_for(rate: float) -> int:
    """Permutations enough for a false-alarm rate: 1,999 for 1%."""
    return round(20 / rate) - 1


def two_sample_test(
    old: Floats,
    new: Floats,
    contents: tuple[Floats, Floats] | None = None,
    *,
    draws: int = 1999,
    seed: int = 0,
) -> TwoSample:
    """Compare rows (m, K) with rows (n, K) and, where given, their contents (m, C) and (n, C)."""
    values = np.concatenate([new, old])  # (N, K)
    size, count = len(values), len(new)
    orders = np.argsort(values, axis=0, kind="stable").T  # (K, N)
    ends = [_ends(values[order, k]) for k, order in enumerate(orders)]
    apart = None if contents is None else _distances(np.concatenate([contents[1], contents[0]]))  # (N, N)
    random = np.random.default_rng(seed)
    first = np.zeros((1, size), np.int32)
    first[0, :count] = 1  # the truth: the new rows are the new ones
    found = []
    for start in range(0, draws + 1, _CHUNK):
        shuffled = np.repeat(first, min(_CHUNK, draws + 1 - start), 0)
        shuffled[start == 0 :] = random.permuted(shuffled[start == 0 :], axis=1)
        gaps = [_gaps(shuffled[:, order], end, count) for order, end in zip(orders, ends, strict=True)]
        if apart is not None:
            gaps.append(_energies(shuffled, apart, count))
        found.append(np.stack(gaps, 1))
    return _joined(np.concatenate(found))


def largest_gap(old: Floats, new: Floats) -> tuple[float, float, float]:
    """Where the distribution functions are farthest apart: the value, and the shares of both samples above it."""
    places = np.unique(np.concatenate([old, new]))
    above = [1 - np.searchsorted(np.sort(own), places, side="right") / len(own) for own in (old, new)]
    widest = int(np.abs(above[1] - above[0]).argmax())
    return float(places[widest]), float(above[0][widest]), float(above[1][widest])


def energy_distance(old: Floats, new: Floats) -> float:
    """How far apart two samples of points are (Szekely and Rizzo, 2004): 0 where they are the same points."""
    points = np.concatenate([new, old])
    first = np.zeros((1, len(points)), np.int32)
    first[0, : len(new)] = 1
    return float(_energies(first, _distances(points), len(new))[0])


def _ends(ordered: Floats) -> NDArray[np.intp]:
    """The last place of each run of equal values: between equal values there is no gap to be seen."""
    return np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))


def _gaps(shuffled: NDArray[np.int32], ends: NDArray[np.intp], count: int) -> Floats:
    """The largest gap of each permutation (B, N), in whole numbers until the end, so that equal gaps are equal."""
    size = shuffled.shape[1]
    below = np.cumsum(shuffled, axis=1, dtype=np.int32)[:, ends]  # (B, E)
    gaps = np.abs(below * np.int64(size) - (ends + 1) * count).max(axis=1)
    return np.asarray(gaps / (count * (size - count)))


def _distances(points: Floats) -> NDArray[np.float32]:
    """Euclidean distances of all points (N, N)."""
    points = points - points.mean(0)
    squares = (points**2).sum(1)
    products = squares[:, None] + squares[None, :] - 2 * points @ points.T
    np.fill_diagonal(products, 0.0)
    return np.asarray(np.sqrt(np.maximum(products, 0)), np.float32)


def _energies(shuffled: NDArray[np.int32], apart: NDArray[np.float32], count: int) -> Floats:
    """The energy distance of each permutation (B, N)."""
    chosen = shuffled.astype(np.float32)
    rest = len(apart) - count
    whole = float(apart.sum(dtype=np.float64))
    to_all = chosen @ apart.sum(1, dtype=np.float64)  # (B,)
    inside = np.einsum("bn,bn->b", (chosen @ apart).astype(np.float64), chosen)  # (B,)
    across, outside = to_all - inside, whole - 2 * to_all + inside
    energies = 2 * across / (count * rest) - inside / count**2 - outside / rest**2
    grain = max(whole / len(apart) ** 2, np.finfo(np.float64).tiny) * _EPSILON
    return np.asarray(np.rint(energies / grain) * grain)


def _joined(statistics: Floats) -> TwoSample:
    """P-values of all permutations (B + 1, K), the true one first, joined by their smallest."""
    total = len(statistics)
    ordered = np.sort(statistics, axis=0)
    p = np.stack(
        [
            (total - np.searchsorted(column, own, side="left")) / total
            for column, own in zip(ordered.T, statistics.T, strict=True)
        ],
        axis=1,
    )  # (B + 1, K)
    smallest = np.sort(p.min(axis=1))  # (B + 1,)
    adjusted = np.searchsorted(smallest, p[0], side="right") / total  # (K,)
    return TwoSample(float(adjusted.min()), adjusted)
