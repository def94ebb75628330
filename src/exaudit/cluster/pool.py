"""Workers on a cluster that each load a model once and then do one item after another.

An item whose worker is lost, with its node or alone, is done again by another one, and a new worker takes the place of
the old as soon as there is room for it. Results come in the order of the items, or as they are ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from exaudit._version import __version__
from exaudit.errors import ClusterError

__all__ = ["Pool"]

T = TypeVar("T")
R = TypeVar("R")
Counts = npt.NDArray[np.int64]

AHEAD = 2  # items at each worker: one in work, one at hand
ATTEMPTS = 4  # after which it is no longer chance that an item ends its workers
PATIENCE = 30  # seconds without any worker, after which that is told


class _Worker:
    """In a process of its own, on any node."""

    def start(self, begin: Callable[[], Callable[[Any], Any]]) -> str:
        """Not when it is made: there, an error of ours would become one of Ray."""
        from exaudit._progress import hush

        hush()
        self._work = begin()
        return __version__

    def work(self, item: Any) -> Any:
        return self._work(item)


@dataclass
class _Task:
    number: int
    item: Any
    attempts: int = 0


class Pool:
    """Workers for one job.

    Parameters
    ----------
    ray
        The module, connected.
    workers
        How many; by default one for each core of the cluster or, where it has GPUs and `device` lets them be used, one
        for each GPU.
    device
        auto, cpu or cuda.
    tell
        Is given a line for people where they have to wait, or where workers are lost.
    """

    def __init__(
        self,
        ray: Any,
        *,
        workers: int | None = None,
        device: str = "auto",
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._ray, self._tell = ray, tell
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores, gpus = (np.array([int(node.get(kind, 0)) for node in nodes]) for kind in ("CPU", "GPU"))
        if not cores.sum():
            raise ClusterError("the cluster has no cores to work on; start nodes with some")
        self.on_gpus = device != "cpu" and bool(gpus.any())
        self.workers = workers or int(gpus.sum() if self.on_gpus else cores.sum())
        share = _share(cores, gpus if self.on_gpus else cores, self.workers)
        self._actor = ray.remote(_Worker).options(
            num_cpus=share,  # of which Ray makes as many threads
            num_gpus=1 if self.on_gpus else 0,
            scheduling_strategy="SPREAD",
            max_restarts=0,  # it is replaced instead, so that an item never waits for a place to be free
        )

    def map(
        self, begin: Callable[[], Callable[[T], R]], items: Iterable[T], *, ordered: bool = False
    ) -> Generator[R, None, None]:
        """The result of each item, in any order or in that of the items.

        begin : gives what does the work; called once by each worker.
        """
        run = _Run(self._ray, self._start(begin), self.workers, ordered, self._tell)
        try:
            yield from _in_order(run.results(items)) if ordered else (one for _, one in run.results(items))
        finally:
            run.end()

    def _start(self, begin: Callable[[], Callable[[Any], Any]]) -> Callable[[], tuple[Any, Any]]:
        def start() -> tuple[Any, Any]:
            actor = self._actor.remote()
            return actor.start.remote(begin), actor

        return start


def _share(cores: Counts, most: Counts, workers: int) -> int:
    """How many cores each worker can have, so that there is room for all: `most` of them on each node (N,)."""
    shares = np.arange(cores.max(), 0, -1)
    places = np.minimum(cores // shares[:, None], most).sum(1)  # (shares,)
    return int(shares[places >= workers].max(initial=1))


class _Run:
    """One `map`: who works at what."""

    def __init__(
        self,
        ray: Any,
        start: Callable[[], tuple[Any, Any]],
        workers: int,
        ordered: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._ray, self._start, self._workers, self._tell = ray, start, workers, tell
        self._window = AHEAD * workers if ordered else None  # of results that wait for an earlier one
        self._starting: dict[Any, Any] = {}  # workers, by what they will answer when they are ready
        self._at: dict[Any, dict[Any, _Task]] = {}  # of each worker, its tasks by what they will give
        self._todo: deque[_Task] = deque()
        self._missing: set[int] = set()  # numbers of items that were drawn and have no result yet
        self._drawn = self._failed_starts = 0

    def results(self, items: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        """The number and the result of each item, as they come."""
        source, told = iter(items), False
        while True:
            self._draw(source)
            self._hand_out()
            if not self._missing:
                return
            waiting = [*self._starting, *(answer for tasks in self._at.values() for answer in tasks)]
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=PATIENCE)
            if not ready and not self._at and not told:
                self._tell("waiting for a place on the cluster: all of it is in use, or nodes are starting")
                told = True
            for answer in ready:
                if answer in self._starting:
                    self._welcome(answer)
                else:
                    yield from self._take(answer)

    def end(self) -> None:
        for worker in (*self._starting.values(), *self._at):
            self._ray.kill(worker)

    def _draw(self, source: Iterator[Any]) -> None:
        """As many items as there will soon be hands for."""
        free = sum(AHEAD - len(tasks) for tasks in self._at.values()) + self._workers - len(self._at)
        while len(self._todo) < free:
            if (
                self._window is not None
                and self._drawn - min(self._missing, default=self._drawn) >= self._window
            ):
                return
            for item in islice(source, 1):
                self._todo.append(_Task(self._drawn, item))
                self._missing.add(self._drawn)
                self._drawn += 1
                break
            else:
                return

    def _hand_out(self) -> None:
        while self._todo and self._at:
            worker, tasks = min(self._at.items(), key=lambda each: len(each[1]))
            if len(tasks) >= AHEAD:
                break
            task = self._todo.popleft()
            tasks[worker.work.remote(task.item)] = task
        while len(self._starting) < min(len(self._todo), self._workers - len(self._at)):
            answer, worker = self._start()
            self._starting[answer] = worker

    def _welcome(self, answer: Any) -> None:
        worker = self._starting.pop(answer)
        try:
            version = self._get(answer)
        except _LostError as lost:
            self._failed_starts += 1
            if self._failed_starts >= ATTEMPTS and not self._at:
                raise ClusterError(
                    f"no worker can start on the cluster ({lost}); is exaudit {__version__} installed on its nodes?"
                ) from None
            return
        if version != __version__:
            raise ClusterError(
                f"a node of the cluster has exaudit {version}, and this machine {__version__}; install the same on all"
            )
        self._at[worker] = {}
        self._failed_starts = 0

    def _take(self, answer: Any) -> Generator[tuple[int, Any], None, None]:
        worker = next((worker for worker, tasks in self._at.items() if answer in tasks), None)
        if worker is None:  # lost with its worker, just before
            return
        try:
            result = self._get(answer)
        except _LostError as lost:
            tasks = list(self._at.pop(worker).values())
            self._ray.kill(worker)
            tasks[0].attempts += 1  # the others only waited
            if tasks[0].attempts >= ATTEMPTS:
                what = getattr(tasks[0].item, "name", f"item {tasks[0].number + 1}")
                raise ClusterError(f"{what}: {ATTEMPTS} workers ended over it, the last by: {lost}") from None
            self._todo.extendleft(reversed(tasks))
            self._tell(f"a worker was lost ({lost}); what it did is done again")
            return
        task = self._at[worker].pop(answer)
        self._missing.discard(task.number)
        yield task.number, result

    def _get(self, answer: Any) -> Any:
        """What a worker gave; what it raised; or _LostError."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(answer)
        except RayTaskError as error:
            raise getattr(error, "cause", None) or error from None
        except RayError as error:
            raise _LostError(f"{type(error).__name__}: {str(error).splitlines()[0]}"[:200]) from None


class _LostError(Exception):
    """A worker is gone, and with it what it was about to answer."""


def _in_order(results: Iterable[tuple[int, R]]) -> Generator[R, None, None]:
    early: dict[int, R] = {}
    number = 0
    for place, result in results:
        early[place] = result
        while number in early:
            yield early.pop(number)
            number += 1
