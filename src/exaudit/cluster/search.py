"""Exact search over a support set that is spread over the nodes of a Ray cluster, with the answers of one process.

The vectors are in shards (see `shard`); labels and scores, and the order of all that was found, stay with the caller. A
shard that is lost with its node is loaded again on another one, at the version that was asked for, and asked again.
What cannot be answered by all shards is an error: there are no answers of a part of the support set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import RayError, RayTaskError

from exaudit._arrays import ranges
from exaudit._version import __version__
from exaudit.audit.index import Index
from exaudit.cluster.placement import GROWTH, Placement
from exaudit.cluster.shard import Answer, Shard, merged
from exaudit.errors import ClusterError, ExauditError, SupportError
from exaudit.support.exemplars import Exemplars
from exaudit.support.portion import Portion
from exaudit.support.search import ExactSearch, as_distances, checked_queries, not_finite
from exaudit.support.store import LanceSupportSet
from exaudit.support.support_set import SupportSet

__all__ = ["ShardedIndex"]

PATIENCE = 120.0  # seconds until a shard must have found a node: a cluster may have to start one first
_ATTEMPTS = 4  # a shard may be lost so often, less one, for one question
_QUERIES = 8192  # sent at once: what a shard searches for together, and far less than an object store holds

Numbers = npt.NDArray[np.int64]
NONE = np.empty(0, np.int64)


@dataclass(eq=False)
class _Place:
    """What the caller knows of a shard."""

    documents: Numbers  # that it holds, found or not; ascending
    actor: Any = None
    node: str = ""  # where it is, or was
    loaded: bool = False  # whether it holds them, at the version of the index
    why: str = ""  # it was lost, the last time

    def lose(self, why: object) -> None:
        if self.actor is not None:
            with suppress(RayError):
                ray.kill(self.actor)
        self.actor, self.loaded, self.why = None, False, (str(why).strip().splitlines() or [""])[-1][:200]


class ShardedIndex(Index):
    """Searches in shards on a Ray cluster, which the caller is connected to.

    Parameters
    ----------
    support
        A support set in a folder or an object store that all nodes can read.
    shards
        How many; by default one for each node, more if they would be large, fewer if they would be tiny.
    patience
        Seconds to wait until the cluster has room for a shard.
    """

    eager = True  # no edit is acknowledged before all shards have it

    def __init__(self, support: SupportSet, *, shards: int | None = None, patience: float = PATIENCE) -> None:
        if not isinstance(support, LanceSupportSet):
            raise SupportError(f"{support.where}: it is not stored where other machines could read it")
        self._asked, self._patience = shards, patience
        self._places: list[_Place] = []
        self._load(support)

    # Set by _load, beside the columns:
    _support: LanceSupportSet
    _number: int  # of the edit that was followed last
    _live: Numbers  # documents at that edit
    _placement: Placement
    _room: float  # tokens at which the documents are spread anew
    _trial: tuple[Numbers, ExactSearch, Numbers] | None  # rows to hide, and others to search here

    @property
    def number(self) -> int:
        """The edit of the support set up to which all answers hold."""
        return self._number

    @property
    def verified(self) -> bool:
        return True  # a shard compares what it reads before it answers

    def wait(self) -> None:
        pass

    def prepare(self) -> None:
        self._settle()

    def close(self) -> None:
        """Give the cluster its memory back; the next question would ask for it again."""
        for place in self._places:
            place.lose("it was closed")

    def follow(self, support: SupportSet) -> None:
        if support.number == self._number:
            return
        number = support.number  # first: an edit of another thread from now on is followed later
        before, now = self.exemplars, support.exemplars(vectors=False)
        if number < self._number or len(now) > self._room:
            self._load(support)
            return
        live, lengths = _documents(now)
        removed, added = np.setdiff1d(self._live, live), np.setdiff1d(live, self._live)
        new = np.setdiff1d(added, np.concatenate([place.documents for place in self._places]))
        sizes = [int(lengths[np.isin(live, place.documents)].sum()) for place in self._places]
        smallest = self._places[int(np.argmin(sizes))]
        # Among equals a search prefers the one that came first, so one that they do not come last in begins anew.
        in_order = not len(new) or not len(smallest.documents) or new[0] > smallest.documents[-1]
        portion = Portion.of(self._support, new) if len(new) and in_order else None
        told = {}
        for place in self._places:
            if place.loaded and (in_order or place is not smallest):
                gone, back = (np.intersect1d(some, place.documents) for some in (removed, added))
                more = portion if place is smallest else None
                told[place] = place.actor.follow.remote(number, _rows(before, gone), _rows(now, back), more)
            place.loaded = False  # until it says so
        smallest.documents = np.union1d(smallest.documents, new)
        self.exemplars, self._number, self._live = now, number, live
        with suppress(SupportError):  # has the set been compacted? It is loaded afresh, or that fails, too
            self._acknowledge(told)
        self._settle()

    @contextmanager
    def trying(self, trial: SupportSet) -> Iterator[ShardedIndex]:
        before, tried = self.exemplars, trial.exemplars(vectors=False)
        hidden = np.setdiff1d(before.row, tried.row, assume_unique=True)
        added = np.setdiff1d(tried.row, before.row, assume_unique=True)
        self._trial, self.exemplars = (hidden, ExactSearch(trial.vectors(added)), added), tried
        try:
            yield self
        finally:
            self._trial, self.exemplars = None, before

    def _nearest(self, vectors: npt.NDArray[Any], k: int) -> tuple[npt.NDArray[np.float32], Numbers]:
        queries = checked_queries(vectors, k, self._support.header.width, len(self))
        if not (finite := np.isfinite(queries).all(axis=1)).all():
            raise not_finite(int(np.argmin(finite)))
        distances = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), _QUERIES):
            some = slice(start, start + _QUERIES)
            squared, rows[some] = merged(self._parts(queries[some], k), k)
            distances[some] = as_distances(squared)
        return distances, rows

    def _parts(
        self, queries: npt.NDArray[np.float32], k: int
    ) -> list[tuple[npt.NDArray[np.float64], Numbers]]:
        """What all shards found, each for the same version, and what was found here in a trial."""
        hidden, here, added = self._trial or (NONE, None, NONE)
        sent, found = ray.put(queries), dict[_Place, Answer]()
        for _ in range(_ATTEMPTS):
            self._settle()
            asked = {
                place: place.actor.search.remote(sent, k, hidden)
                for place in self._places
                if place not in found
            }
            answers, wrong = _gather(asked)
            if wrong is not None:
                raise wrong
            for place, answer in answers.items():
                if answer.number == self._number:
                    found[place] = answer
                else:
                    place.lose(f"it answered for version {answer.number}, not {self._number}")
            if len(found) == len(self._places):
                parts = [(answer.squared, answer.rows) for answer in found.values()]
                searched = sum(answer.searched for answer in found.values())
                if here is not None and len(here):
                    squared, places = here.nearest(queries, min(k, len(here)))
                    parts.append((squared, added[places]))
                    searched += len(here)
                if searched != len(self):
                    raise RuntimeError(f"{searched} exemplars were searched, and there are {len(self)}")
                return parts
        raise self._given_up([place for place in self._places if place not in found])

    # Shards that come and go

    def _load(self, support: SupportSet) -> None:
        """Spread all documents anew."""
        assert isinstance(support, LanceSupportSet)
        number, exemplars, header = support.number, support.exemplars(vectors=False), support.header
        documents, lengths = _documents(exemplars)
        row_bytes = header.width * np.dtype(header.dtype).itemsize
        placement = Placement.of(lengths, row_bytes, self._asked)  # may fail, so before anything is changed
        self.close()
        self._support, self._number, self._live, self._trial = support, number, documents, None
        self.exemplars, self._room = exemplars, GROWTH * max(len(exemplars), 1)
        self._placement = placement
        self._places = [_Place(part) for part in np.split(documents, placement.edges[1:-1])]
        self._settle()

    def _settle(self) -> None:
        """Have all shards loaded: those that are not find a node, if need be another one, and read their documents."""
        afresh = False
        for _ in range(_ATTEMPTS):
            missing = [place for place in self._places if not place.loaded]
            if not missing:
                return
            self._start([place for place in missing if place.actor is None])
            loading = {}
            for place in missing:
                if place.actor is not None:
                    place.documents = np.intersect1d(place.documents, self._live)
                    portion = Portion.of(self._support, place.documents, afresh=afresh)
                    loading[place] = place.actor.load.remote(self._number, portion)
            try:
                self._acknowledge(loading)
            except SupportError:  # has another process compacted the tables since we looked?
                if afresh:
                    raise
                afresh = True
        missing = [place for place in self._places if not place.loaded]
        if missing:
            raise self._given_up(missing)

    def _start(self, places: list[_Place]) -> None:
        """Start actors, and wait until they are in their places, or lost again."""
        if not places:
            return
        options = {
            "num_cpus": 0,  # memory is what there is to share; a shard that waits leaves the cores to others
            "memory": self._placement.memory,
            "scheduling_strategy": "SPREAD",
            "max_restarts": 0,  # it would not know what it had held
        }
        starting = {}
        for place in places:
            place.actor = ray.remote(Shard).options(**options).remote(self._placement.threads)
            starting[place] = place.actor.start.remote()
        _, late = ray.wait(list(starting.values()), num_returns=len(starting), timeout=self._patience)
        if late:
            without = [place for place, ref in starting.items() if ref in late]
            for place in without:
                place.lose("the cluster had no room for it")
            up = sum(bool(node["Alive"]) for node in ray.nodes())
            raise ClusterError(
                f"{self._named(without)} did not start within {self._patience:.0f} s, with {up} nodes up; each needs "
                f"{self._placement.memory / 1e9:.1f} GB of a node's memory: add nodes, or free memory, and try again"
            )
        started, _ = _gather(starting)
        for place, (node, version) in started.items():
            place.node = node
            if version != __version__:
                place.lose(f"it has exaudit {version}")
                raise ClusterError(
                    f"a node of the cluster has exaudit {version}, and this machine {__version__}; install the same "
                    "on all"
                )

    def _acknowledge(self, told: Mapping[_Place, Any]) -> None:
        """Wait until shards say that they are at the version of the index."""
        numbers, wrong = _gather(told)
        for place, number in numbers.items():
            place.loaded = number == self._number
        if wrong is not None:
            raise wrong

    def _named(self, places: list[_Place]) -> str:
        numbers = [str(self._places.index(place) + 1) for place in places]
        some = ", ".join(numbers[:5]) + (", ..." if len(numbers) > 5 else "")
        return f"the support set has {len(self._places)} shards, and without one of them there is no answer: {some}"

    def _given_up(self, places: list[_Place]) -> ClusterError:
        last = places[0]
        return ClusterError(
            f"{self._named(places)} died {_ATTEMPTS} times, the last time on node {last.node[:8]} ({last.why}); see "
            "that the nodes are well and have the memory that they tell Ray of, and ask again"
        )


def _gather(asked: Mapping[_Place, Any]) -> tuple[dict[_Place, Any], ExauditError | None]:
    """What shards answered, and what one of them found wrong; those that did not answer are lost."""
    found, wrong = dict[_Place, Any](), None
    for place, ref in asked.items():
        try:
            found[place] = ray.get(ref)
        except RayTaskError as error:
            if isinstance(error.cause, RayError):  # it could not fetch what it was sent
                place.lose(error.cause)
                continue
            place.loaded = False
            known = isinstance(error.cause, ExauditError)
            wrong = error.cause if known else ClusterError(f"a shard has failed: {error.cause!r:.300}")
        except RayError as error:
            place.lose(error)
    return found, wrong


def _documents(exemplars: Exemplars) -> tuple[Numbers, Numbers]:
    """Numbers of the documents with tokens, ascending, and how many they have."""
    starts = np.flatnonzero(np.diff(exemplars.document, prepend=-1))
    return exemplars.document[starts].astype(np.int64), np.diff(starts, append=len(exemplars))


def _rows(exemplars: Exemplars, documents: Numbers) -> Numbers:
    """Rows of the tokens of documents."""
    starts, ends = (np.searchsorted(exemplars.document, documents, side) for side in ("left", "right"))
    return exemplars.row[ranges(starts, ends - starts)]
