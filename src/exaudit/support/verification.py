"""What was read of a support set for answers, compared with the fingerprints taken when it was added.

Small sets are compared at once. A large one takes seconds (SHA-256 reads some 0.9 GB a second on one core), so it is
compared in the background, and answers that are given meanwhile say so.

A program that ends meanwhile does not wait for all of it. But Python ends such a thread in the middle of whatever it
does, and where that is a library's C++, the whole process is aborted; so it is told to stop, and stops at the next
documents.
"""

from __future__ import annotations

import atexit
import threading

import numpy as np

from exaudit.errors import ExauditError, SupportError
from exaudit.support.exemplars import Array
from exaudit.support.support_set import SupportSet
from exaudit.support.vector_file import release

__all__ = ["Verification"]

_AT_ONCE = 64 << 20  # bytes of vectors that are compared before the first answer
_DOCUMENTS = 256  # compared at a time

_running: set[threading.Thread] = set()
_ending = threading.Event()


@atexit.register
def _end() -> None:
    _ending.set()
    for thread in list(_running):
        thread.join()


class Verification:
    """Of all live documents of a set, given their vectors (n, M) end to end as they were read."""

    def __init__(self, support: SupportSet, vectors: Array) -> None:
        self._support, self._vectors = support._share(), vectors
        self._error: ExauditError | None = None
        self._done = threading.Event()
        if not support.stored:
            self._done.set()
        elif vectors.nbytes <= _AT_ONCE:
            self._run()
        else:
            thread = threading.Thread(target=self._run, name="exaudit verification", daemon=True)
            _running.add(thread)
            thread.start()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def check(self) -> None:
        """Raise a SupportError where damage has been found so far."""
        if self._error is not None:
            raise self._error

    def wait(self) -> None:
        """Wait until all of it was compared; raise a SupportError where it is damaged."""
        self._done.wait()
        self.check()

    def _run(self) -> None:
        support = self._support
        numbers = np.flatnonzero(support._state.live)
        lengths = support._state.length[numbers]
        ends = np.cumsum(lengths, dtype=np.int64)
        try:
            for first in range(0, len(numbers), _DOCUMENTS):
                if _ending.is_set():
                    raise SupportError(f"{support.where}: the program ended before all of it was compared")
                last = min(first + _DOCUMENTS, len(numbers))
                start = int(ends[first] - lengths[first])
                support.assure(numbers[first:last], self._vectors[start : int(ends[last - 1])])
                release(self._vectors)
        except ExauditError as error:
            self._error = error
        except Exception as error:  # whatever it is, it must not look like success
            self._error = SupportError(f"{support.where}: the support set cannot be read: {error!r:.200}")
        finally:
            del self._vectors
            self._done.set()
            _running.discard(threading.current_thread())
