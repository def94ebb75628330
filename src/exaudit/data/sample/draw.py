"""Random draws that are the same on every machine and under every version of Python."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draw", "lines", "words"]

T = TypeVar("T")


class Draw:
    """A stream of choices, fixed by its keys.

    Only `Random.random` is promised to stay the same between versions of Python (`choice` and `shuffle` are
    not), so every choice is made from it.
    """

    def __init__(self, *keys: object) -> None:
        digest = hashlib.sha256(":".join(map(str, keys)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big"))

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random.random() * n)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in items]


def lines(block: str) -> tuple[str, ...]:
    """The lines of a word list or of a list of templates, without the empty ones."""
    return tuple(line.strip() for line in block.splitlines() if line.strip())


def words(block: str) -> tuple[str, ...]:
    """The words of a word list."""
    return tuple(block.split())
