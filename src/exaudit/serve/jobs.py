"""Work in the background, with progress, and a way to stop it."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from exaudit._progress import watched
from exaudit.errors import ExauditError

__all__ = ["CancelledError", "Job", "Jobs"]

KEPT = 50  # jobs that ended and can still be asked about
Status = Literal["waiting", "running", "done", "failed", "cancelled"]
log = logging.getLogger("exaudit.serve")


class CancelledError(Exception):
    """Somebody stopped the job."""


@dataclass
class Job:
    """A piece of work. It tells how far it is with `tell`, which also ends it once it was cancelled."""

    id: str
    what: str
    status: Status = "waiting"
    step: str = ""
    done: int = 0
    total: int | None = None
    result: Any = None
    error: str | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def tell(self, step: str, done: int, total: int | None) -> None:
        self.heed()
        self.step, self.done, self.total = step, done, total

    def heed(self, *_: object) -> None:
        """End here if it was cancelled. Takes the progress of parts that are too small to be told."""
        if self._stop.is_set():
            raise CancelledError

    def cancel(self) -> None:
        self._stop.set()


class Jobs:
    """Runs one long job at a time, as two would take the same cores from each other; and beside it one that somebody
    waits for, who would otherwise wait for the long one, too."""

    def __init__(self, plain: Callable[[str], str] = str) -> None:
        """plain : what becomes of the messages of errors before others see them."""
        self._plain = plain
        self._long, self._short = ThreadPoolExecutor(1, "job"), ThreadPoolExecutor(1, "short-job")
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def start(self, what: str, work: Callable[[Job], Any], *, short: bool = False) -> Job:
        """Queue some work. Progress that the library tells is the job's, unless the work tells its own."""
        job = Job(str(next(self._numbers)), what)
        for old in [each.id for each in self.all() if each.ended][:-KEPT]:
            del self._jobs[old]
        self._jobs[job.id] = job
        (self._short if short else self._long).submit(self._run, job, work)
        return job

    def get(self, id: str) -> Job | None:
        return self._jobs.get(id)

    def all(self) -> list[Job]:
        return list(self._jobs.values())

    def close(self) -> None:
        for job in self.all():
            job.cancel()
        for pool in (self._long, self._short):
            pool.shutdown(cancel_futures=True)

    def _run(self, job: Job, work: Callable[[Job], Any]) -> None:
        job.status = "running"
        try:
            with watched(job.tell):
                job.tell("", 0, None)
                job.result = work(job)
            job.status = "done"
        except CancelledError:
            job.status = "cancelled"
        except ExauditError as error:
            job.error, job.status = self._plain(str(error)), "failed"
        except Exception:
            log.exception("job %s failed: %s", job.id, job.what)
            job.error, job.status = "an internal error; the terminal of `exaudit serve` has more", "failed"
