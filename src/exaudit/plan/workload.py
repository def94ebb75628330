"""What is to be done, and on what machines: the numbers that a plan is asked with, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from exaudit.errors import SettingError

__all__ = ["DTYPES", "Nodes", "Workload"]

DTYPES = {"float32": 4, "float16": 2}  # bytes of a number
PRECISIONS = ("auto", "float32", "bfloat16")  # as everywhere, but asked for here without loading torch
MOST_K = 100  # that the search takes


@dataclass(frozen=True, slots=True)
class Workload:
    """A corpus, a support set of some of its words, and words to look up in it."""

    documents: float
    tokens_per_document: float
    exemplars: float | None = None  # None: every word
    queries: float = 1e6
    k: int = 8
    dtype: str = "float32"
    precision: str = "auto"

    def __post_init__(self) -> None:
        _check_whole("documents", self.documents, 1e15)
        _check("tokens_per_document", self.tokens_per_document, 1, 1e7)
        if self.exemplars is not None:
            _check_whole("exemplars", self.exemplars, 1e18)
        _check_whole("queries", self.queries, 1e18)
        _check_whole("k", self.k, MOST_K)
        if self.dtype not in DTYPES:
            raise SettingError(f"`dtype` is {self.dtype!r}; use {' or '.join(DTYPES)}")
        if self.precision not in PRECISIONS:
            raise SettingError(f"`precision` is {self.precision!r}; use {', '.join(PRECISIONS)}")
        if self.k > self.rows:
            raise SettingError(f"`k` is {self.k}, but there are only {self.rows:g} exemplars")

    @property
    def words(self) -> float:
        return self.documents * self.tokens_per_document

    @property
    def rows(self) -> float:
        """Exemplars of the support set."""
        return self.words if self.exemplars is None else self.exemplars


@dataclass(frozen=True, slots=True)
class Nodes:
    """The machines to be had, all alike, and the hours within which each job is to end."""

    hours: float = 24.0
    cores: int = 16
    memory: float = 64e9  # bytes
    gpus: int = 0

    def __post_init__(self) -> None:
        _check("hours", self.hours, 1e-3, 1e6)
        _check_whole("cores_per_node", self.cores, 1e5)
        _check("memory_per_node", self.memory / 1e9, 0.1, 1e6)
        _check_whole("gpus_per_node", self.gpus, 1e3, least=0)


def _check(name: str, value: float, least: float, most: float) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise SettingError(f"`{name}` is {value:g}; it must be from {least:g} to {most:g}")


def _check_whole(name: str, value: float, most: float, least: int = 1) -> None:
    _check(name, value, least, most)
    if value != int(value):
        raise SettingError(f"`{name}` is {value:g}; it must be a whole number")
