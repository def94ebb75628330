"""Experiments run by several processes that share the folder of a run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

import torch

from exaudit._progress import hush
from exaudit.cluster.pool import AHEAD, Pool
from exaudit.errors import ExauditError
from exaudit.experiments.registry import EXPERIMENTS
from exaudit.experiments.run import Run

__all__ = ["run_all", "run_all_on"]


def run_all(names: Sequence[str], run: Run, *, jobs: int = 1) -> None:
    """Every step of these experiments, by several processes that share the run's folder."""
    if jobs == 1:
        _run_steps(names, run)
        return
    threads = torch.get_num_threads()
    threads_each = max(1, threads // jobs)
    context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
    workers = [
        context.Process(target=_work, args=(names, run, threads_each), daemon=True) for _ in range(jobs - 1)
    ]
    with _ignore_interrupts():  # and so the workers stay: this process stops them
        for worker in workers:
            worker.start()
    torch.set_num_threads(threads_each)
    try:
        _run_steps(names, run)
        for worker in workers:
            worker.join()
        _run_steps(names, run)  # nothing is left, or a worker failed: then this meets the same error
    finally:
        torch.set_num_threads(threads)
        for worker in workers:
            worker.terminate()


def run_all_on(pool: Pool, names: Sequence[str], run: Run) -> None:
    """Every step of these experiments, by the workers of a cluster that share the run's folder."""
    for _ in pool.map(partial(_steps_of, names, run), range(AHEAD * pool.workers)):  # one for each, at least
        pass
    _run_steps(names, run)  # nothing is left, or a worker failed: then this meets the same error


def _steps_of(names: Sequence[str], run: Run) -> Callable[[int], None]:
    def work(_: int) -> None:
        with suppress(ExauditError):
            _run_steps(names, run)

    return work


def _run_steps(names: Sequence[str], run: Run) -> None:
    for name in names:
        for _ in EXPERIMENTS[name].run(run):
            pass


def _work(names: Sequence[str], run: Run, threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    hush()
    try:
        _run_steps(names, run)
    except ExauditError:
        print("one of the processes failed; its step is tried again at the end", file=sys.stderr, flush=True)
        sys.exit(1)


def _end_with_parent() -> None:
    """However the parent ends: a worker left behind would hold steps that a new run wants to do."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # others are not interrupted anyway
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
