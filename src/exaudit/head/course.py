"""How far all the tuning of a run has come, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from exaudit._progress import progress

__all__ = ["Course"]

FIRST, LAST = 1, 4  # the steps between which time is taken: the very first is slower than those that follow


@dataclass
class Course:
    """Work is counted in words, each as often as it is read."""

    total: int  # words to tune on
    encoded: int = 0  # beside them, those that are read without a gradient, for about a third of the time
    tell: Callable[[float], None] | None = None  # is given the seconds to go, once they are known
    done: int = field(default=0, init=False)
    _steps: int = field(default=0, init=False)
    _since: tuple[float, int] = field(default=(0.0, 0), init=False)  # a time, and what was done then

    def bar(self, desc: str) -> Any:
        """Of the whole course; open only while it is tuned, so that what lies between does not count as slowness."""
        return progress(total=self.total, initial=self.done, unit="word", unit_scale=True, desc=desc)

    def begin(self) -> None:
        """A stage begins: what came before is no part of the time that its steps take."""
        self._steps = 0

    def step(self, words: int, wait: Callable[[], object]) -> None:
        """So many words were read. `wait` ends when they really were: a GPU is told to, and answers later."""
        self._steps += 1
        self.done += words
        if self._steps == FIRST:
            wait()
            self._since = time.monotonic(), self.done
        elif self._steps == LAST and self.tell is not None:
            wait()
            then, before = self._since
            left = self.total - self.done + self.encoded / 3
            self.tell((time.monotonic() - then) / (self.done - before) * left)
            self.tell = None

    def skip(self, words: int) -> None:
        """These need not be read after all."""
        self.total -= words
