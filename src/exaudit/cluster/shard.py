"""A shard: the vectors of some documents of a support set in the memory of one node, and the search over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import ray
import torch

from exaudit._version import __version__
from exaudit.support.portion import Portion
from exaudit.support.search import ExactSearch

__all__ = ["Answer", "Shard", "merged"]

Rows = npt.NDArray[np.int64]
Squared = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """The nearest of the rows of one shard."""

    number: int  # of the edit up to which the shard has followed the support set
    searched: int  # rows that could have been found
    squared: Squared  # (N, k), fewer columns where the shard has fewer rows
    rows: Rows  # the same


class Shard:
    """What runs as an actor of Ray. Every vector is compared with its fingerprint before it can be found."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def start(self) -> tuple[str, str]:
        """The node that it is on, and the version of exaudit there."""
        return str(ray.get_runtime_context().get_node_id()), __version__

    def load(self, number: int, portion: Portion) -> int:
        """Hold these documents and no others; returns the number of the edit that this is right for."""
        self._search = ExactSearch(np.empty((0, portion.shape[1]), portion.dtype))  # lest both be in memory
        self._row = portion.rows  # (places,) of each place in the search; ascending
        self._search = ExactSearch(portion.read())
        if len(self._search):
            self._search.sketches()  # fit it now rather than at the first question
        self._number = number
        return number

    def follow(self, number: int, removed: Rows, restored: Rows, added: Portion | None) -> int:
        """Make an edit good: rows to find no more, rows to find again, and documents that come after all it has."""
        vectors = None if added is None else added.read()  # may fail, so before anything is changed
        self._search.remove(self._places(removed))
        self._search.restore(self._places(restored))
        if added is not None and vectors is not None:
            self._search.add(vectors)
            self._row = np.concatenate([self._row, added.rows])
        self._number = number
        return number

    def search(self, queries: npt.NDArray[np.float32], k: int, hidden: Rows) -> Answer:
        """The k nearest, as if some rows were not there."""
        out = self._places(np.intersect1d(hidden, self._row)) if len(hidden) else hidden
        self._search.remove(out)
        try:
            count = len(self._search)
            squared, places = np.empty((len(queries), 0)), np.empty((len(queries), 0), np.int64)
            if count:
                squared, places = self._search.nearest(queries, min(k, count))
        finally:
            self._search.restore(out)
        return Answer(self._number, count, squared, self._row[places])

    def _places(self, rows: Rows) -> Rows:
        return np.searchsorted(self._row, rows)


def merged(parts: Sequence[tuple[Squared, Rows]], k: int) -> tuple[Squared, Rows]:
    """The k nearest of what several searches found, by distance and then by row: the order of a single search."""
    squared, rows = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    order = np.lexsort((rows, squared))[:, :k]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(rows, order, axis=1)
