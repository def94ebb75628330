"""A warm search over the exemplars of a support set, which follows the edits made to it.

`ExemplarIndex` searches in this process. What else may stand in its place, as the search over a cluster does, is an
`Index`.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from exaudit._device import pick_device
from exaudit._memory import available_memory
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SupportError
from exaudit.support.exemplars import Exemplars
from exaudit.support.held_vectors import HeldVectors
from exaudit.support.search import ExactSearch
from exaudit.support.sketch_file import settle_sketches
from exaudit.support.support_set import SupportSet

__all__ = ["WITH_SKETCHES", "ExemplarIndex", "Index"]

WITH_SKETCHES = 1.3  # the memory of a search, in that of its vectors (benchmarks/store.py)
FEW = 128  # questions at once that need not wait until all vectors were read
_BLOCK = 8192  # rows copied at once to the file that is streamed from
Rows = npt.NDArray[np.int64]


class Index(ABC):
    """Finds the nearest exemplars in a support set, as the set stood when it was last followed."""

    exemplars: Exemplars  # columns of the live tokens
    eager = (
        False  # whether an edit is to be followed before it is acknowledged, rather than at the next question
    )

    @abstractmethod
    def follow(self, support: SupportSet) -> None:
        """Catch up with the edits of the set since the last look."""

    @abstractmethod
    def trying(self, trial: SupportSet) -> AbstractContextManager[Index]:
        """An index of a preview of the set, made of this one for as long as the block lasts."""

    @abstractmethod
    def prepare(self) -> None:
        """Fit the search now rather than at the first question."""

    @property
    @abstractmethod
    def verified(self) -> bool:
        """Whether all that was read was compared with its fingerprints."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until it was; raise a SupportError where the support set is damaged."""

    @abstractmethod
    def _nearest(self, vectors: npt.NDArray[Any], k: int) -> tuple[npt.NDArray[np.float32], Rows]:
        """Distances and rows (N, K) of the k nearest exemplars of each vector, ties broken by lowest row."""

    def __len__(self) -> int:
        return len(self.exemplars)

    @property
    def has_token_labels(self) -> bool:
        """Whether any exemplar has a label of its own."""
        return bool(self.exemplars.token_labels[:, 0].any())

    def neighbours(
        self, vectors: npt.NDArray[Any], k: int, *, offsets: Sequence[float]
    ) -> tuple[Neighbours, ...]:
        """The k nearest exemplars of each vector, as each class sees them: with its own scores and labels.

        offsets : the decision boundaries of the classes, from which their scores are counted.
        """
        if not len(self):
            raise SupportError("the support set is empty; build it, or add documents, first")
        return self.seen(*self._nearest(vectors, k), offsets=offsets)

    def seen(
        self, distances: npt.NDArray[Any], rows: Rows, *, offsets: Sequence[float]
    ) -> tuple[Neighbours, ...]:
        """Exemplars that were found earlier, with the scores and labels that they have now (N, K)."""
        at = self.at(rows)  # (N, K)
        found = self.exemplars
        return tuple(
            Neighbours(
                distances=distances,
                scores=found.scores[at, c] - np.float32(offset),
                labels=found.labels[at, c],
                token_labels=found.token_labels[at, c],
                rows=rows,
            )
            for c, offset in enumerate(offsets)
        )

    def at(self, rows: Rows) -> Rows:
        """Where rows of the set stand in the columns `exemplars`."""
        return np.searchsorted(self.exemplars.row, rows)


class ExemplarIndex(Index):
    """Searches in this process.

    The vectors are read once; after that an edit costs as much as what it touches, and a change of labels nothing,
    because labels and scores are looked up beside the vectors. Where sketches were saved, the first few questions have
    just those vectors read that they need. With `stream` the vectors go to a temporary file and are read from there in
    blocks, for sets that do not fit into memory.
    """

    def __init__(
        self, support: SupportSet, *, device: str | torch.device = "cpu", stream: bool = False
    ) -> None:
        self._device, self._stream = device, stream
        self._load(support)

    # Set by _load, beside the columns:
    _number: int  # of the edit that was followed last
    _row: Rows  # (places,) of each place in the search; ascending
    _search: ExactSearch
    _vectors: HeldVectors

    @property
    def verified(self) -> bool:
        return self._vectors.verified

    def wait(self) -> None:
        self._vectors.wait()

    def prepare(self) -> None:
        if len(self):
            self._vectors.need_all()
            self._search.sketches()

    def follow(self, support: SupportSet) -> None:
        if support.number == self._number:
            return
        try:
            changes = support.changes(self._number)
        except SupportError:  # compacted by another process: what to forget is no longer known
            self._load(support)
            return
        # What is removed may be gone from the store before it is needed, as for a fit, so it must be here already.
        if self._in_order(changes.added) and (self._vectors.whole or not len(changes.removed)):
            self._apply(support, changes.added, changes.removed)
            self.exemplars, self._number = support.exemplars(vectors=False), support.number
        else:
            self._load(support)

    @contextmanager
    def trying(self, trial: SupportSet) -> Iterator[ExemplarIndex]:
        changes = trial.changes(self._number)
        if not self._in_order(changes.added):
            yield ExemplarIndex(trial, device=self._device, stream=self._stream)
            return
        before, places = self.exemplars, len(self._row)
        self._apply(trial, changes.added, changes.removed)
        self.exemplars = trial.exemplars(vectors=False)
        try:
            yield self
        finally:
            self.exemplars = before
            self._search.remove(self._places(changes.added))
            self._search.restore(self._places(changes.removed))
            # The set may give these row numbers to others: their places here are nobody's from now on.
            self._row[places:] = self._row[places - 1] if places else -1

    def _nearest(self, vectors: npt.NDArray[Any], k: int) -> tuple[npt.NDArray[np.float32], Rows]:
        if len(vectors) > FEW:
            self._vectors.need_all()
        self._vectors.need_many()
        self._vectors.check()
        distances, places = self._search.search(vectors, k)
        self._vectors.need_documents(places[places < len(self._vectors.array)])
        return distances, self._row[places]

    def _load(self, support: SupportSet) -> None:
        support = support._share()  # an edit of another thread from now on is followed later
        self._number = support.number
        self.exemplars = support.exemplars(vectors=False)
        self._row = self.exemplars.row
        self._check_memory(support)
        with self._held(support) as vectors:
            self._vectors = vectors
            fetch = None if vectors.whole else vectors.need
            self._search = ExactSearch(vectors.array, device=self._device, stream=self._stream, fetch=fetch)
        settle_sketches(self._search, support.folder, support.fingerprints(), vectors)

    def _check_memory(self, support: SupportSet) -> None:
        """Say what the search would take, before the system ends it without a word."""
        if self._stream:
            return
        vectors = len(self._row) * support.header.width * np.dtype(support.header.dtype).itemsize
        needed = int(WITH_SKETCHES * vectors)
        left = available_memory()
        if left is not None and needed > left:
            raise SupportError(
                f"a search of the support set takes {needed / 1e9:.1f} GB, and {left / 1e9:.1f} GB of memory are "
                "left; search it from disk with `stream`, or on a machine with more memory"
            )

    @contextmanager
    def _held(self, support: SupportSet) -> Iterator[HeldVectors]:
        """The vectors; with `stream` in a map of a temporary file, which vanishes once all who opened it are done."""
        header, count = support.header, len(self._row)
        if not self._stream or not count:
            vectors = HeldVectors(support, self.exemplars)
            if pick_device(self._device).type != "cpu":  # which gets a copy of them
                vectors.need_all()
            yield vectors
            return
        with tempfile.NamedTemporaryFile(prefix="exaudit-") as file:
            for start in range(0, count, _BLOCK):
                file.write(support.vectors(self._row[start : start + _BLOCK]).data)
            file.flush()
            mapped = np.memmap(file.name, header.dtype, "r", shape=(count, header.width))
            yield HeldVectors(support, self.exemplars, mapped)

    def _apply(self, support: SupportSet, added: Rows, removed: Rows) -> None:
        places = self._places(added)
        new = added[places < 0]
        vectors = support.vectors(new)  # may fail, so before anything is changed
        if support.stored and len(new):
            support.assure(support.owners(new), vectors)
        self._search.remove(self._places(removed))
        self._search.restore(places[places >= 0])
        if len(new):
            self._search.add(vectors)
            self._row = np.concatenate([self._row, new])

    def _places(self, rows: Rows) -> Rows:
        """Places of rows in the search, -1 for rows that it never had."""
        if not len(self._row):
            return np.full(len(rows), -1, np.int64)
        places = np.searchsorted(self._row, rows).clip(max=len(self._row) - 1)
        return np.where(self._row[places] == rows, places, -1)

    def _in_order(self, added: Rows) -> bool:
        """Whether rows come after all that the search has: among equals it prefers the one that came first."""
        new = added[self._places(added) < 0]
        return not len(new) or not len(self._row) or int(new.min()) > int(self._row[-1])
