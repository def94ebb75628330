"""Exact nearest exemplars: the brute-force answer in float64, ties broken by lowest row, for much less work.

For each batch of queries and block of support rows one matrix product of sketches (see `projection`) bounds every
distance from below. Rows that the bound cannot place beyond the current k-th nearest are measured exactly, in
float64, which brings the k-th nearest closer for the blocks to come.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from exaudit._device import pick_device
from exaudit._side_by_side import on_one_core, side_by_side
from exaudit.errors import SettingError, SupportError
from exaudit.support.autotune import choose_projection
from exaudit.support.products import (
    GROUP,
    Found,
    MarkedProducts,
    PlainProducts,
    Products,
    as_integers,
    kernels,
    least,
)
from exaudit.support.projection import Projection, Sketch
from exaudit.support.rows import Fetch, Rows, Sketches

__all__ = ["ExactSearch", "as_distances", "checked_queries", "not_finite"]

Vectors = NDArray[np.float32] | NDArray[np.float16]

MAX_K = 100
SKETCHED = 4096  # queries at once, in float64
SAMPLE = 8192  # rows from which the directions are taken
SEEDS = {"cpu": 16384, "cuda": 65536}  # rows from which the first reach of a query is taken
BATCH = {"cpu": 2048, "cuda": 65536}  # queries at once; on a GPU, each look at what was found costs it a wait
ALONE = 64  # queries for each thread of a CPU, at least, where each thread has some of its own
STREAMED = 16384  # queries at once, at least, where each batch reads the vectors anew
PRODUCTS = {"cpu": 1 << 22, "cuda": 1 << 28}  # of a block of rows and a batch: 8 MB stay in a CPU's cache
TRIED = 4  # times k seeds are measured
PAIRS = {"cpu": 512, "cuda": 1 << 16}  # exact distances at once
SMALL = 1 << 27  # queries x rows x width: a search of a millisecond or two, which is not worth a second core
REFIT = 0.25  # share of rows added since the fit that calls for a new one


class ExactSearch:
    """The k nearest of a changing set of vectors, by Euclidean distance.

    vectors     (S, M) float32 or float16, an array or a memory map; it is neither copied nor changed
    directions  principal directions of the bound: a number, 0 for flat search, or "auto" to have it tuned
    stream      leave the vectors where they are (a mapped file, the host) and read them anew for every batch of queries
    fetch       on a CPU, called with rows before their vectors are looked at, to put those into `vectors`

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
        fetch: Fetch | None = None,
    ) -> None:
        if directions != "auto" and (not isinstance(directions, int) or directions < 0):
            raise SettingError(f"directions must be a number from 0 or 'auto', not {directions!r}")
        self._device = pick_device(device)
        self._seed, self._directions, self._stream = seed, directions, stream
        self._base = Rows(_checked(vectors, None), self._device, stream=stream, fetch=fetch)
        room = np.empty((0, self.width), np.float32)
        self._added = Rows(room, self._device, stream=stream, first=len(self._base))
        self._live = np.ones(len(self._base), dtype=bool)
        self._projection: Projection | None = None
        self._fitted_added = 0
        self._kernels = kernels(self._device)

    def __len__(self) -> int:
        """Rows that can be found: all that came, less those removed."""
        return int(np.count_nonzero(self._live))

    @property
    def width(self) -> int:
        return self._base.width

    @property
    def device(self) -> torch.device:
        return self._device

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

    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Distances (N, k) and rows (N, k) of the k nearest live rows of each query (N, M), nearest first."""
        squared, rows = self.nearest(queries, k)
        return as_distances(squared), rows

    def nearest(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The same with the squared distances that the order is made by: they are those of any other search, to the
        last bit, so that what several searches found can be put in order."""
        queries = checked_queries(queries, k, self.width, len(self))
        self._fitted()
        find = partial(self._nearest, torch.from_numpy(queries), k)
        small = self._device.type == "cpu" and len(queries) * len(self) * self.width <= SMALL
        return on_one_core(find) if small else find()

    def _nearest(self, queries: Tensor, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        measured = np.empty((len(queries), k), dtype=np.float64)
        rows = np.empty((len(queries), k), dtype=np.int64)
        projection = self._fitted()
        with torch.inference_mode(), _full_precision_sums():
            live = torch.from_numpy(self._live).to(self._device)
            size = SEEDS[self._device.type]
            seeds = torch.from_numpy(self._sample(size)).to(self._device)  # (s,) ascending
            base, added = seeds[seeds < self._added.first], seeds[seeds >= self._added.first]
            seed_rows = torch.cat([self._base.factor(base), self._added.factor(added)])  # (s, W)

            @torch.inference_mode()  # of the thread that does it
            def find(some: slice) -> None:
                asked = queries[some].to(self._device)  # (Q, M)
                finite = asked.isfinite().all(dim=1)
                if not bool(finite.all()):
                    raise not_finite(some.start + int((~finite).nonzero()[0]))
                batch = _Batch(asked, k, projection)
                self._narrow(batch, seeds, seed_rows)
                self._scan(batch, live, len(seeds))
                exact = self._squared(batch, batch.query, batch.row, torch.float64)
                squared, nearest = batch.nearest(exact)  # (Q, k)
                measured[some] = (
                    squared.cpu().numpy() / projection.scale**2
                )  # powers of two: nothing is rounded
                rows[some] = nearest.cpu().numpy()

            self._map(find, len(queries))
        return measured, rows

    def _map(self, work: Callable[[slice], None], count: int) -> None:
        """Work on so many queries, some at a time. A CPU's threads have batches of their own where these read no more
        than sketches: those of flat search are made anew for every batch, and streamed vectors are read."""
        step, threads = BATCH[self._device.type], torch.get_num_threads()
        sketched = self._fitted().directions is not None
        if self._device.type == "cpu" and sketched and not self._stream and count >= ALONE * threads:
            rounds = -(-count // (step * threads))
            deque(side_by_side(work, _parts(count, -(-count // (rounds * threads)))), maxlen=0)
            return
        if self._stream:
            step = max(step, STREAMED)
        elif not sketched:
            step *= 2
        for some in _parts(count, step):
            work(some)

    def adopt(self, known: Sketches, rows: NDArray[np.int64]) -> None:
        """Use sketches that were made before of the vectors of these rows; before any are added."""
        with torch.inference_mode():
            self._base.adopt(known.to(self._device), torch.from_numpy(rows))
        self._projection = self._base.sketches().projection

    def sketches(self) -> Sketches:
        """Of the rows that the search began with, for another search of the same vectors."""
        self._fitted()
        return self._base.sketches()

    def _narrow(self, batch: _Batch, seeds: Tensor, seed_rows: Tensor) -> None:
        """A first reach for each query: its distance to k rows of a sample, the nearest by their bounds."""
        rows = len(batch.reach)
        near = min(TRIED * batch.k, len(seeds))
        best = torch.empty(rows, near, dtype=torch.int64, device=self._device)  # (Q, n)
        at_once = max(PRODUCTS[self._device.type] // len(seeds), 1)
        for some in _parts(rows, at_once):
            best[some] = least(torch.mm(batch.factor[some], seed_rows.T), near)  # of (q, s)
        query = torch.arange(rows, device=self._device).repeat_interleave(near)
        squared = self._squared(batch, query, seeds[best.flatten()], torch.float32)
        batch.shorten(squared.view(-1, near).kthvalue(batch.k, dim=1).values)

    def _scan(self, batch: _Batch, live: Tensor, seen: int) -> None:
        """Pass all rows under the bound, and measure what it leaves whenever as many more were seen as before."""
        found: list[Found] = []
        waiting, done, norm, error = 0, 0, 0.0, 0.0
        most = PRODUCTS[self._device.type]
        products: Products
        if self._kernels is None:
            products = PlainProducts(batch.factor, most)
        else:
            products = MarkedProducts(batch.factor, self._kernels)
        for first, block, row_norm, row_error in self._blocks(products.rows):
            norm, error = max(norm, row_norm), max(error, row_error)
            for query, row, product in products.within(block, batch.limit(row_norm, row_error)):
                found.append((query, row + first, product))
                waiting += len(row)
                if waiting > most:
                    self._measure(batch, found, live, norm, error)
                    found, waiting = [], 0
            done += len(block)
            if done >= seen:
                self._measure(batch, found, live, norm, error)
                found, waiting, seen = [], 0, 2 * done
        self._measure(batch, found, live, norm, error)

    def _measure(
        self, batch: _Batch, found: list[Found], live: Tensor, row_norm: float, row_error: float
    ) -> None:
        """Distances of the pairs found, those with the least products first: few of the rest are near then."""
        if not found:
            return
        queries, rows, known = zip(*found, strict=True)
        query, row = torch.cat(queries), torch.cat(rows)
        kept = live[row]
        query, row = query[kept], row[kept]
        products = [product for product in known if product is not None]
        if products:
            product = torch.cat(products)[kept]
            order = ((query << 32) | as_integers(product).clamp(min=0)).argsort()  # by query, then by product
            query, row, product = query[order], row[order], product[order]
            first, _ = _runs(query, len(batch.reach))
            early = torch.arange(len(query), device=query.device) < first[query] + batch.k
            self._merge(batch, query[early], row[early])
            rest = ~early & (product <= batch.limit(row_norm, row_error)[query])
            query, row = query[rest], row[rest]
        self._merge(batch, query, row)

    def _merge(self, batch: _Batch, query: Tensor, row: Tensor) -> None:
        batch.merge(query, row, self._squared(batch, query, row, torch.float32))

    def _squared(self, batch: _Batch, query: Tensor, row: Tensor, dtype: torch.dtype) -> Tensor:
        """Scaled squared distances (n,) of pairs of a query and a row, from the differences of their numbers."""
        held = self._base.held
        if self._kernels is not None and held is not None and not len(self._added) and dtype == torch.float32:
            measured: Tensor = self._kernels.squared_distances(
                held, batch.queries, row, query, batch.projection.scale
            )
            return measured
        squared = torch.empty(len(row), dtype=dtype, device=self._device)
        # On a disk, rows that stand together are read together, and each but once.
        order = row.argsort() if self._stream else torch.arange(len(row), device=self._device)
        for part in _parts(len(row), PAIRS[self._device.type]):
            some = order[part]
            difference = self._gather(row[some]).to(dtype)  # (n, M)
            difference.sub_(batch.queries.index_select(0, query[some])).mul_(batch.projection.scale).square_()
            squared[some] = difference.sum(dim=1) if dtype == torch.float32 else _sum(difference)
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
        parts = (self._base, self._added)
        blocks = [(part, start, stop) for part in parts for start, stop in _cut(len(part), size)]
        for index in np.random.default_rng(self._seed).permutation(len(blocks)):
            part, start, stop = blocks[index]
            yield part.first + start, *part.block(start, stop)

    def _fitted(self) -> Projection:
        """The projection in use, chosen now if there is none or the set has outgrown it."""
        grown = len(self._added) - self._fitted_added
        if self._projection is None or grown > REFIT * max(len(self._live) - grown, 1):
            with torch.inference_mode():
                sample = self._gather(torch.from_numpy(self._sample(SAMPLE)).to(self._device)).float()
                sample = sample[sample.isfinite().all(dim=1)]  # sketching names the row that is not
                self._projection = choose_projection(sample, self._directions, len(self))
            self._fitted_added = len(self._added)
        with torch.inference_mode():
            for part in (self._base, self._added):
                part.sketch(self._projection)
        return self._projection

    def _sample(self, size: int) -> NDArray[np.int64]:
        """Live rows, evenly from the whole set, in ascending order."""
        live = np.flatnonzero(self._live)
        return live if len(live) <= size else live[np.linspace(0, len(live) - 1, size).astype(np.int64)]

    def _known(self, rows: ArrayLike) -> NDArray[np.int64]:
        found = np.atleast_1d(np.asarray(rows))
        if found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= len(self._live)):
            raise SupportError(f"rows must be numbers from 0 to {len(self._live) - 1}, found {rows!r:.80}")
        return found.astype(np.int64)


class _Batch:
    """Some queries, and pairs of a query and a row among which are its nearest so far."""

    def __init__(self, queries: Tensor, k: int, projection: Projection) -> None:
        self.queries, self.k, self.projection = queries, k, projection
        parts = _parts(len(queries), SKETCHED)
        self.sketch = Sketch.joined([projection.sketch(queries[some]) for some in parts])
        self.slack = 1 + (queries.shape[1] + 8) * 2.0**-23  # of a float32 sum of squares, in whatever order
        self.factor = self.sketch.as_queries().T  # (Q, W)
        # The k-th nearest is no farther than this. Lengths are scaled as the sketches are.
        self.reach = torch.full_like(self.sketch.norm, math.inf)  # (Q,)
        self.query = self.row = torch.empty(0, dtype=torch.int64, device=queries.device)  # (n,)
        self.squared = torch.empty(0, device=queries.device)  # (n,) float32, scaled

    def limit(self, row_norm: float, row_error: float) -> Tensor:
        return self.projection.limit(self.reach, self.sketch, row_norm, row_error)

    def shorten(self, squared: Tensor) -> None:
        """k rows are this near (Q,), by float32."""
        self.reach = torch.minimum(self.reach, (squared.double() * self.slack + 1e-30).sqrt())

    def merge(self, query: Tensor, row: Tensor, squared: Tensor) -> None:
        """Keep of these pairs, and of those kept before, all that may be among the k nearest."""
        query, row = torch.cat([self.query, query]), torch.cat([self.row, row])
        squared = torch.cat([self.squared, squared])
        order = ((query << 32) | squared.view(torch.int32)).argsort()  # by query, then by distance
        query, row, squared = query[order], row[order], squared[order]
        first, count = _runs(query, len(self.reach))
        enough = count >= self.k
        kth = (first + self.k - 1)[enough]
        farthest = torch.full_like(self.reach, math.inf)
        farthest[enough] = squared[kth].double()
        self.shorten(farthest)
        kept = squared <= self.reach.square()[query] * self.slack
        self.query, self.row, self.squared = query[kept], row[kept], squared[kept]

    def nearest(self, exact: Tensor) -> tuple[Tensor, Tensor]:
        """The k nearest of the pairs kept, by exact distance and then by row: (Q, k) each."""
        order = self.row.argsort()
        order = order[exact[order].argsort(stable=True)]
        order = order[self.query[order].argsort(stable=True)]
        first, _ = _runs(self.query[order], len(self.reach))
        chosen = order[first[:, None] + torch.arange(self.k, device=order.device)]  # (Q, k)
        return exact[chosen], self.row[chosen]


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def _runs(query: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    """Where the run of each query starts in sorted pairs, and how long it is."""
    edges = torch.searchsorted(query, torch.arange(queries + 1, device=query.device))
    return edges[:-1], edges.diff()


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


def checked_queries(queries: NDArray[Any], k: int, width: int, rows: int) -> NDArray[np.float32]:
    """Queries (N, M) for the k nearest of so many rows of a width, or a SupportError that says what does not fit."""
    queries = np.require(queries, np.float32, ["C", "W"])  # torch warns of arrays that cannot be written
    if queries.ndim != 2 or queries.shape[1] != width:
        raise SupportError(
            f"queries of shape {queries.shape} do not fit a support set of {width} numbers a vector; "
            "they must come from the same model"
        )
    if not 1 <= k <= MAX_K:
        raise SupportError(f"k must be from 1 to {MAX_K}, not {k}")
    if k > rows:
        raise SupportError(f"k = {k} nearest were asked for, but the support set has {rows} rows")
    return queries


def not_finite(query: int) -> SupportError:
    return SupportError(f"query {query} holds a number that is not finite")


def as_distances(squared: NDArray[np.float64]) -> NDArray[np.float32]:
    """The distances that a search tells, of squared ones."""
    with np.errstate(over="ignore"):
        return np.sqrt(squared).astype(np.float32)


def _checked(vectors: Vectors, width: int | None) -> Vectors:
    if not isinstance(vectors, np.ndarray):
        raise SupportError(f"support vectors must be an array, found {type(vectors).__name__}")
    if vectors.ndim != 2 or not vectors.shape[1] or vectors.dtype not in (np.float32, np.float16):
        raise SupportError(
            "support vectors must be float32 or float16 (rows, width), "
            f"found {vectors.dtype} of shape {vectors.shape}"
        )
    if width is not None and vectors.shape[1] != width:
        raise SupportError(
            f"vectors of {vectors.shape[1]} numbers do not fit a support set of {width}; "
            "they must come from the same model"
        )
    return vectors
