"""Which experiments there are, the files that each of them reads, and how they are run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from exaudit._progress import hush
from exaudit.errors import DataError, ExauditError

if TYPE_CHECKING:
    from exaudit.experiments.figures import Figures
    from exaudit.experiments.run import Run

__all__ = ["EXPERIMENTS", "Experiment", "run_all"]

_CAD = tuple(f"imdb_cad/combined/paired/{part}_paired.tsv" for part in ("train", "dev", "test"))
_CONTRAST = ("imdb_contrast/test_original.tsv", "imdb_contrast/test_contrast.tsv")


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments; `module` has a function of its own name that runs it."""

    id: str
    title: str
    place: str
    module: str
    needs: tuple[str, ...]  # files below the data folder
    optional: tuple[tuple[str, str], ...] = ()  # a file, and what happens without it

    def run(self, run: Run) -> Iterator[Figures]:
        """What each step finds, as it is found (or was found before)."""
        run.check_data([*self.needs, *(name for name, _ in self.optional)])
        module = import_module(f"exaudit.experiments.{self.module}")
        yield from getattr(module, self.module)(run)

    def check(self, data: Path) -> None:
        """Every file is there, before hours are spent on the first of them."""
        for name in self.needs:
            if not (data / name).is_file():
                corpus = name.split("/")[0]
                raise DataError(
                    f"there is no such file, and {self.id} needs it; the data folder is {data} (--data, or "
                    f"EXAUDIT_DATA): put the corpus there, or get it with `exaudit data fetch {corpus} --data {data}`",
                    data / name,
                )


EXPERIMENTS = {
    one.id: one
    for one in (
        Experiment(
            "fce",
            "Grammatical error detection",
            "section 4 and appendix B",
            "grammar",
            (
                *(f"fce/fce-public.{part}.original.tsv" for part in ("train", "dev", "test")),
                "news_1b/1bw_heldout_10_11.tokens",
                "news_1b/1bw_heldout_12_13.tokens",
            ),
            (
                ("news_1b/1bw_heldout_00_09.tokens", "the supplement fills up the support set"),
                (
                    "news_1b/bbc_supplement.tokens",
                    "fewer news sentences in the support set, if both are missing",
                ),
            ),
        ),
        Experiment(
            "sentiment",
            "Sentiment of film reviews",
            "section 5 and appendix C",
            "sentiment",
            (*_CAD, *_CONTRAST, "semeval2017_task4a/SemEval2017-task4-test.subtask-A.english.txt"),
            (
                ("imdb_cad/orig/eighty_percent/train.tsv", "the reconstruction of it is taken"),
                (
                    "imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz",
                    "no rows that train on more originals, if both are missing",
                ),
            ),
        ),
        Experiment(
            "annotation",
            "Original or revised reviews",
            "section 6 and appendix D",
            "annotation",
            (*_CAD, *_CONTRAST),
        ),
    )
}


def run_all(names: Sequence[str], run: Run, *, jobs: int = 1) -> None:
    """Every step of these experiments, by several processes that share the run's folder."""
    if jobs == 1:
        _steps(names, run)
        return
    threads = torch.get_num_threads()
    share = max(1, threads // jobs)
    context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
    helpers = [context.Process(target=_help, args=(names, run, share), daemon=True) for _ in range(jobs - 1)]
    with _deaf_to_interrupts():  # and so the helpers stay: this process stops them
        for helper in helpers:
            helper.start()
    torch.set_num_threads(share)
    try:
        _steps(names, run)
        for helper in helpers:
            helper.join()
        _steps(names, run)  # nothing is left, or a helper failed: then this meets the same error
    finally:
        torch.set_num_threads(threads)
        for helper in helpers:
            helper.terminate()


def _steps(names: Sequence[str], run: Run) -> None:
    for name in names:
        for _ in EXPERIMENTS[name].run(run):
            pass


def _help(names: Sequence[str], run: Run, threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    hush()
    try:
        _steps(names, run)
    except ExauditError:
        print("one of the processes failed; its step is tried again at the end", file=sys.stderr, flush=True)
        sys.exit(1)


def _end_with_parent() -> None:
    """However the parent ends: a helper left behind would hold steps that a new run wants to do."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # others are not interrupted anyway
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
