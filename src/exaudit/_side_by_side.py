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
from threading import Barrier, Lock
from typing import TypeVar

import torch

__all__ = ["on_one_core", "side_by_side"]

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items for each thread, begun or waiting: results that nobody has asked for yet stay few
_pools: dict[int, ThreadPoolExecutor] = {}  # by the number of their threads
_starting = Lock()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """As `map`, but several items at a time, by as many threads as torch has here, each with one of torch's.

    Where there are fewer items than threads, or torch has one thread, as it has within `work`, it is `map`. Whether
    gradients are wanted is for `work` to say: the threads do not know what holds here.
    """
    items, threads = iter(items), torch.get_num_threads()
    first = list(islice(items, threads))
    if threads == 1 or len(first) < threads:
        yield from map(work, chain(first, items))
        return
    pool, begun = _pool(threads), deque[Future[Result]]()
    try:
        for item in chain(first, items):
            begun.append(pool.submit(work, item))
            if len(begun) == AHEAD * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        for future in begun:
            future.cancel()


@contextmanager
def on_one_core(small: bool = True) -> Iterator[None]:
    """Do what follows with one of torch's threads, if it is small: with more, it would hardly be quicker, and beside a
    busy process slower by far."""
    threads = torch.get_num_threads()
    if small and threads > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if small and threads > 1:
            torch.set_num_threads(threads)


def _pool(threads: int) -> ThreadPoolExecutor:
    """So many threads that work with one core each, and stay.

    How many threads torch has is set for the thread that sets it, and for all that have not asked yet. So each thread
    asks at once, and what was set before is set again when all have.
    """
    with _starting:
        if threads not in _pools:
            ready = Barrier(threads + 1)

            def begin() -> None:
                torch.set_num_threads(1)
                torch.get_num_threads()
                ready.wait()

            pool = ThreadPoolExecutor(threads, "side-by-side", initializer=begin)
            for _ in range(threads):
                pool.submit(int)  # a thread is started when there is something to do
            ready.wait()
            torch.set_num_threads(threads)
            _pools[threads] = pool
        return _pools[threads]


def _forget() -> None:
    """The child of a fork has none of the threads."""
    global _starting
    _pools.clear()
    _starting = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
