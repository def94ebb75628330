"""Batches side by side on a CPU: each worked on by a thread of its own, which shares none of it.

Left alone, torch cuts every product of a batch among all cores, and they wait for each other after each: the last one
sets the pace, and where another process takes its core, all of them stand. A batch for each core has nothing
to wait for. Nor has work so small that all cores together are hardly quicker than one (`on_one_core`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from threading import Barrier, BrokenBarrierError, Lock
from typing import TypeVar

import torch

__all__ = ["exclusively", "on_one_core", "side_by_side"]

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items for each thread, begun or waiting: results that nobody has asked for yet stay few
# By what they do and the number of their threads. What is small never waits for batches that are not.
_pools: dict[tuple[str, int], ThreadPoolExecutor] = {}
_starting, _making = Lock(), Lock()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """As `map`, but several items at a time, by as many threads as torch has here, each with one of torch's.

    Where there are fewer items than threads, or torch has one thread, as it has within `work`, it is `map`. Whether
    gradients are wanted is for `work` to say: the threads do not know what holds here. Items that were begun when an
    error came, or when nobody listened any more, are finished, and their results lost.
    """
    items, threads = iter(items), torch.get_num_threads()
    first = list(islice(items, threads))
    pool = _pool("side-by-side", threads) if len(first) == threads else None
    if pool is None:
        yield from map(work, chain(first, items))
        return
    begun = deque[Future[Result]]()
    try:
        for item in chain(first, items):
            begun.append(_begin(pool, work, item))
            if len(begun) == AHEAD * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        for future in begun:
            future.cancel()


def on_one_core(work: Callable[[], Result]) -> Result:
    """Do small work with one of torch's threads: with more, it would hardly be quicker, and beside a busy process far
    slower. Another thread does it, for torch cannot be told so of one thread alone."""
    pool = _pool("on-one-core", torch.get_num_threads())
    return work() if pool is None else _begin(pool, lambda _: work(), None).result()


@contextmanager
def exclusively() -> Iterator[None]:
    """For what threads make at the first use, and once for all of them."""
    with _making:
        yield


def _begin(pool: ThreadPoolExecutor, work: Callable[[Item], Result], item: Item) -> Future[Result]:
    try:
        return pool.submit(work, item)
    except RuntimeError:  # the program's main thread has ended, and no thread is given anything new
        here = Future[Result]()
        try:
            here.set_result(work(item))
        except BaseException as error:
            here.set_exception(error)
        return here


def _pool(name: str, threads: int) -> ThreadPoolExecutor | None:
    """So many threads that work with one core each, and stay. None where one is enough, or none can be had."""
    if threads == 1:
        return None
    with _starting:
        if (name, threads) not in _pools:
            started = _started(name, threads)
            if started is None:
                return None
            _pools[name, threads] = started
        return _pools[name, threads]


def _started(name: str, threads: int) -> ThreadPoolExecutor | None:
    """How many threads torch has is set for the thread that sets it, and for all that have not asked yet. So each
    thread asks before it sets its own, and what was set before is set again when all have."""
    ready = Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            ready.wait()
        except BrokenBarrierError:  # nobody is going to use this pool
            return

    pool = ThreadPoolExecutor(threads, name, initializer=begin)
    try:
        for _ in range(threads):
            pool.submit(int)  # a thread is started when there is something to do
        ready.wait()
    except RuntimeError:  # no more threads can be started; BrokenBarrierError is one, too
        ready.abort()
        pool.shutdown(wait=False)
        return None
    except BaseException:
        ready.abort()
        pool.shutdown(wait=False)
        raise
    finally:
        torch.set_num_threads(threads)
    return pool


def _forget() -> None:
    """The child of a fork has none of the threads, and nobody to open what one of them had locked."""
    global _starting, _making
    _pools.clear()
    _starting, _making = Lock(), Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
