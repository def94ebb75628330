"""Texts of clients that ask at the same time are labelled together: one pass of the encoder for all of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from exaudit.data.document import Document

__all__ = ["Batcher"]

T = TypeVar("T")
TOKENS = 16384  # labelled together, at most


@dataclass
class _Asked(Generic[T]):
    document: Document
    answer: Future[T] = field(default_factory=Future)


class Batcher(Generic[T]):
    """Whatever has been asked while the last batch was labelled is the next one, so nobody waits for a clock.

    Parameters
    ----------
    label
        Labels documents together, and answers in their order.
    """

    def __init__(self, label: Callable[[Sequence[Document]], Sequence[T]]) -> None:
        self._label = label
        self._waiting: deque[_Asked[T]] = deque()
        self._news = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)
        self._thread.start()

    def submit(self, document: Document) -> Future[T]:
        asked: _Asked[T] = _Asked(document)
        with self._news:
            if self._closed:
                raise RuntimeError("the workbench is closed")
            self._waiting.append(asked)
            self._news.notify()
        return asked.answer

    def close(self) -> None:
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join(timeout=60)

    def _work(self) -> None:
        while batch := self._next():
            try:
                self._answer(batch)
            except Exception as error:
                if len(batch) == 1:
                    batch[0].answer.set_exception(error)
                    continue
                for one in batch:  # one bad text must not spoil the others'
                    try:
                        self._answer([one])
                    except Exception as own:
                        one.answer.set_exception(own)

    def _answer(self, batch: Sequence[_Asked[T]]) -> None:
        found = self._label([asked.document for asked in batch])
        for asked, answer in zip(batch, found, strict=True):
            asked.answer.set_result(answer)

    def _next(self) -> list[_Asked[T]]:
        """All that fit into one batch; waits for the first, and gives none once there will be no more."""
        with self._news:
            while not self._waiting and not self._closed:
                self._news.wait()
            batch: list[_Asked[T]] = []
            size = 0
            while self._waiting:
                size += len(self._waiting[0].document.tokens)
                if batch and size > TOKENS:
                    break
                asked = self._waiting.popleft()
                if asked.answer.set_running_or_notify_cancel():  # else who asked has gone
                    batch.append(asked)
            return batch if batch or self._closed else self._next()
