"""Exact nearest exemplars: the brute-force answer in float64, ties broken by lowest row, for much less work.

For each batch of queries and block of support rows one matrix product of sketches (see `projection`) bounds every
distance from below. Rows that the bound cannot place beyond the current k-th nearest are measured exactly, in
float64, which brings the k-th nearest closer for the blocks to come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from exaudit._device import pick_device
from exaudit.errors import SettingError, SupportError
from exaudit.support.pilot import choose_projection
from exaudit.support.projection import Projection, Sketch
from exaudit.support.rows import Rows

__all__ = ["ExactSearch"]

Vectors = NDArray[np.float32] | NDArray[np.float16]

MAX_K = 100
GROUP = 32  # rows whose least product is looked at before the products themselves
SAMPLE = 8192  # rows from which the directions, and the first reach of a query, are taken
REFIT = 0.25  # share of rows added since the fit that calls for a new one


class ExactSearch:
    """The k nearest of a changing set of vectors, by Euclidean distance.

    vectors     (S, M) float32 or float16, an array or a memory map; it is neither copied nor changed
    directions  principal directions of the bound: a number, 0 for flat search, or "auto" for a small pilot
    stream      leave the vectors where they are (a memory map, the host) and read them in blocks

    Rows are numbered from 0 in the order they came, and a number is never given twice. Edits count at once.
    """

    def __init__(
        self,
        vectors: Vectors,
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
        directions: int | Literal["auto"] = "auto",
        stream: bool = False,
    ) -> None:
        if directions != "auto" and (not isinstance(directions, int) or directions < 0):
            raise SettingError(f"directions must be a number from 0 or 'auto', not {directions!r}")
        self._device = pick_device(device)
        self._seed, self._directions, self._stream = seed, directions, stream
        self._base = Rows(_checked(vectors, None), self._device, stream=stream)
        room = np.empty((0, self.width), np.float32)
        self._added = Rows(room, self._device, stream=stream, first=len(self._base))
        self._live = np.ones(len(self._base), dtype=bool)
        self._projection: Projection | None = None
        self._fitted_added = 0

    def __len__(self) -> int:
        """Rows that can be found: all that came, less those removed."""
        return int(np.count_nonzero(self._live))

    @property
    def width(self) -> int:
        return self._base.width

    @property
    def directions_(self) -> int:
        """Directions in use (0: flat search)."""
        directions = self._fitted().directions
        return 0 if directions is None else directions.shape[1]

    def add(self, vectors: Vectors) -> NDArray[np.int64]:
        """Append vectors (n, M); returns their rows."""
        vectors = _checked(vectors, self.width)
        first = len(self._live)
        self._added.append(vectors)
        self._live = np.concatenate([self._live, np.ones(len(vectors), dtype=bool)])
        return np.arange(first, len(self._live), dtype=np.int64)

    def remove(self, rows: ArrayLike) -> None:
        """Stop finding these rows. They keep their numbers, and `restore` brings them back."""
        self._live[self._known(rows)] = False

    def restore(self, rows: ArrayLike) -> None:
        """Find these rows again."""
        self._live[self._known(rows)] = True

    def refit(self) -> None:
        """Choose the directions anew at the next search; it happens by itself when many rows were added."""
        self._projection = None

    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Distances (N, k) and rows (N, k) of the k nearest live rows of each query (N, M), nearest first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.width:
            raise SupportError(
                f"queries of shape {queries.shape} do not fit a support set of {self.width} numbers a vector; "
                "they must come from the same model"
            )
        if not np.isfinite(queries).all():
            row = int(np.flatnonzero(~np.isfinite(queries).all(axis=1))[0])
            raise SupportError(f"query {row} holds a number that is not finite")
        if not 1 <= k <= MAX_K:
            raise SupportError(f"k must be from 1 to {MAX_K}, not {k}")
        if k > len(self):
            raise SupportError(f"k = {k} nearest were asked for, but the support set has {len(self)} rows")
        distances = np.empty((len(queries), k), dtype=np.float32)
        rows = np.empty((len(queries), k), dtype=np.int64)
        projection = self._fitted()
        step = 16384 if self._device.type == "cuda" else 4096 if projection.directions is None else 2048
        with torch.inference_mode(), _full_precision_sums():
            live = torch.from_numpy(self._live).to(self._device)
            seeds = torch.from_numpy(self._sample(SAMPLE)).to(self._device)
            seed_rows = projection.sketch(self._gather(seeds)).as_rows()  # (s, W)
            for start in range(0, len(queries), step):
                some = slice(start, start + step)
                batch = _Batch(torch.from_numpy(queries[some]).to(self._device), k, projection)
                self._narrow(batch, seeds, seed_rows)
                self._scan(batch, live, len(seeds))
                distances[some] = batch.squared.sqrt().float().cpu().numpy()
                rows[some] = batch.rows.cpu().numpy()
        return distances, rows

    def _narrow(self, batch: _Batch, seeds: Tensor, seed_rows: Tensor) -> None:
        """A first reach for each query: its distance to k rows of a sample, the nearest by their bounds."""
        products = torch.mm(seed_rows, batch.factor).float().T.contiguous()  # (Q, s)
        best = products.topk(batch.k, dim=1, largest=False, sorted=False).indices  # (Q, k)
        query = torch.arange(len(best), device=self._device).repeat_interleave(batch.k)
        squared = self._squared(batch, query, seeds[best.flatten()])
        batch.reach = squared.view(-1, batch.k).amax(dim=1).sqrt()  # (Q,)

    def _scan(self, batch: _Batch, live: Tensor, seen: int) -> None:
        """Pass all rows under the bound; measure what it leaves each time the rows seen have doubled."""
        pending: list[tuple[Tensor, Tensor, Tensor]] = []
        waiting, done = 0, 0
        elements = 1 << (28 if self._device.type == "cuda" else 22)
        size = min(max(elements // len(batch.reach) // GROUP, 1) * GROUP, 1 << 16)
        out = torch.empty(size, len(batch.reach), dtype=batch.projection.dtype, device=self._device)
        for first, block, row_norm, row_error in self._blocks(size):
            limit = batch.limit(row_norm, row_error)
            query, offset, product = _within(torch.mm(block, batch.factor, out=out[: len(block)]), limit)
            row = offset + first
            kept = live[row]
            pending.append((query[kept], row[kept], product[kept]))
            waiting, done = waiting + len(row), done + len(block)
            if done >= seen or waiting > elements:
                self._settle(batch, pending)
                pending, waiting, seen = [], 0, max(seen, 2 * done)
        self._settle(batch, pending)

    def _settle(self, batch: _Batch, pending: list[tuple[Tensor, Tensor, Tensor]]) -> None:
        if pending:
            query, row, _ = (torch.cat(column) for column in zip(*pending, strict=True))
            batch.merge(query, row, self._squared(batch, query, row))

    def _squared(self, batch: _Batch, query: Tensor, row: Tensor) -> Tensor:
        """Exact squared distances (n,) of pairs of a query and a row, in float64."""
        step = 1 << (16 if self._device.type == "cuda" else 9)
        squared = torch.empty(len(row), dtype=torch.float64, device=self._device)
        for start in range(0, len(row), step):
            some = slice(start, start + step)
            difference = self._gather(row[some]).double().sub_(batch.queries[query[some]])  # (n, M)
            squared[some] = _sum(difference.square_())
        return squared

    def _gather(self, row: Tensor) -> Tensor:
        """Vectors (n, M) of some rows."""
        added = row >= self._added.first
        if not len(self._added) or not bool(added.any()):
            return self._base.gather(row)
        vectors = torch.empty(len(row), self.width, device=self._device)
        vectors[added] = self._added.gather(row[added]).float()
        vectors[~added] = self._base.gather(row[~added]).float()
        return vectors

    def _blocks(self, size: int) -> Iterator[tuple[int, Tensor, float, float]]:
        """Blocks of all rows, each with its first, in a random order: neighbours in the set are often alike."""
        blocks = [(part, start, stop) for part in (self._base, self._added) for start, stop in _cut(len(part), size)]
        for index in np.random.default_rng(self._seed).permutation(len(blocks)):
            part, start, stop = blocks[index]
            yield part.first + start, *part.block(start, stop)

    def _fitted(self) -> Projection:
        """The projection in use, chosen now if there is none or the set has outgrown it."""
        grown = len(self._added) - self._fitted_added
        if self._projection is None or grown > REFIT * max(len(self._live) - grown, 1):
            with torch.inference_mode():
                sample = self._gather(torch.from_numpy(self._sample(SAMPLE)).to(self._device)).float()
                self._projection = choose_projection(sample, self._directions, len(self))
            self._fitted_added = len(self._added)
        with torch.inference_mode():
            for part in (self._base, self._added):
                part.sketch(self._projection)
        return self._projection

    def _sample(self, size: int) -> NDArray[np.int64]:
        live = np.flatnonzero(self._live)
        if len(live) <= size:
            return live
        return np.sort(np.random.default_rng(self._seed).choice(live, size, replace=False))

    def _known(self, rows: ArrayLike) -> NDArray[np.int64]:
        found = np.atleast_1d(np.asarray(rows))
        if found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= len(self._live)):
            raise SupportError(f"rows must be numbers from 0 to {len(self._live) - 1}, found {rows!r:.80}")
        return found.astype(np.int64)


class _Batch:
    """Some queries and the nearest rows found for each so far."""

    def __init__(self, queries: Tensor, k: int, projection: Projection) -> None:
        self.k, self.projection = k, projection
        self.sketch: Sketch = projection.sketch(queries)
        self.factor = self.sketch.as_queries().contiguous()  # (W, Q)
        self.queries = queries.double()  # (Q, M)
        shape = (len(queries), k)
        self.squared = torch.full(shape, math.inf, dtype=torch.float64, device=queries.device)
        self.rows = torch.full(shape, torch.iinfo(torch.int64).max, device=queries.device)
        self.reach = self.squared[:, 0].clone()  # (Q,) no farther than this is the k-th nearest

    def limit(self, row_norm: float, row_error: float) -> Tensor:
        return self.projection.limit(self.reach, self.sketch, row_norm, row_error)

    def merge(self, query: Tensor, row: Tensor, squared: Tensor) -> None:
        """Keep the k nearest of those kept and these, by distance and then by row."""
        count = len(self.reach)
        query = torch.cat([query, torch.arange(count, device=query.device).repeat_interleave(self.k)])
        row, squared = torch.cat([row, self.rows.flatten()]), torch.cat([squared, self.squared.flatten()])
        order = row.argsort(stable=True)
        order = order[squared[order].argsort(stable=True)]
        order = order[query[order].argsort(stable=True)]
        query = query[order]
        first = torch.searchsorted(query, torch.arange(count, device=query.device))
        place = torch.arange(len(query), device=query.device) - first[query]
        kept = place < self.k
        at = (query[kept], place[kept])
        self.squared[at], self.rows[at] = squared[order][kept], row[order][kept]
        self.reach = torch.minimum(self.reach, self.squared[:, -1].sqrt())


def _within(product: Tensor, limit: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where products (B, Q) are at most the limit (Q,): the queries, the rows, and the products.

    Floats that are not negative are in the order of their bits, and integers compare faster; a negative product
    (rounding of zero) is a negative integer, and within any limit.
    """
    integers = torch.int16 if product.dtype == torch.bfloat16 else torch.int32
    size = GROUP if len(product) % GROUP == 0 else 1
    groups = product.view(integers).view(len(product) // size, size, -1)  # (B / g, g, Q)
    limits = limit.view(integers)
    group, query = (groups.amin(dim=1) <= limits).nonzero(as_tuple=True)  # (H,)
    near, offset = (groups[group, :, query] <= limits[query, None]).nonzero(as_tuple=True)
    row, query = group[near] * size + offset, query[near]
    return query, row, product[row, query]


def _sum(values: Tensor) -> Tensor:
    """Sum over the last axis (n, M) in an order that no device or batch size changes, so that equals stay equal."""
    width = values.shape[1]
    while width > 1:
        half = (width + 1) // 2
        values[:, : width - half] += values[:, half:width]
        width = half
    return values[:, 0]


def _cut(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Blocks of whole groups of rows; the last few rows make a block of their own."""
    whole = count // GROUP * GROUP
    edges = [*range(0, whole, size), whole, count]
    return ((start, stop) for start, stop in pairwise(edges) if stop > start)


@contextmanager
def _full_precision_sums() -> Iterator[None]:
    """cuBLAS may add partial sums in bfloat16 unless told not to; the bound allows for float32 sums."""
    backend = torch.backends.cuda.matmul
    before = backend.allow_bf16_reduced_precision_reduction
    backend.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        backend.allow_bf16_reduced_precision_reduction = before


def _checked(vectors: Vectors, width: int | None) -> Vectors:
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype not in (np.float32, np.float16):
        found = f"{vectors.dtype} of shape {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors)
        raise SupportError(f"support vectors must be a float32 or float16 array (rows, width), found {found}")
    if width is not None and vectors.shape[1] != width:
        raise SupportError(
            f"vectors of {vectors.shape[1]} numbers do not fit a support set of {width}; "
            "they must come from the same model"
        )
    if not vectors.shape[1]:
        raise SupportError("support vectors have no numbers in them")
    return vectors
