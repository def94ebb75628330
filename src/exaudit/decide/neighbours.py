"""The K nearest exemplars of each token: all that the rules, the K-NN and admission know of the support set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.errors import SettingError, SupportError

__all__ = ["Neighbours"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Signs = npt.NDArray[np.int8]
Rows = npt.NDArray[np.int64]

_DTYPES = {
    "distances": np.float32,
    "scores": np.float32,
    "labels": np.int8,
    "token_labels": np.int8,
    "rows": np.int64,
}


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For each of N tokens, its K nearest exemplars, nearest first.

    `labels` holds Y, the label of the exemplar's document, and `token_labels` y, that of the exemplar itself:
    -1, +1, or 0 where unknown. An unknown label is no evidence for either class.
    """

    distances: Floats  # (N, K)
    scores: Floats  # (N, K), s+- of the exemplars
    labels: Signs  # (N, K)
    token_labels: Signs  # (N, K)
    rows: Rows  # (N, K), where the exemplars are in the support set

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            given = np.asarray(getattr(self, name))
            with np.errstate(invalid="ignore", over="ignore"):  # what does not fit is refused just below
                array = given.astype(dtype, copy=False)
            if np.issubdtype(dtype, np.integer) and not np.array_equal(array, given):
                raise SupportError(f"the exemplars' {name} must be whole numbers of type {dtype.__name__}")
            object.__setattr__(self, name, array)
        shape = self.distances.shape
        for name in _DTYPES:
            found = getattr(self, name).shape
            if len(found) != 2 or found != shape:
                raise SupportError(
                    f"the exemplars' {name} have shape {found}, but (tokens, K) = {shape} is needed"
                )
        if shape[1] == 0:
            raise SupportError("no exemplars: the support set is empty; build it first")
        if not np.isfinite(self.distances).all() or (self.distances < 0).any():
            raise SupportError(
                "distances to exemplars must be finite and not negative; rebuild the support set"
            )
        if (np.diff(self.distances, axis=1) < 0).any():
            raise SupportError("exemplars must be ordered by distance, nearest first")
        if not np.isfinite(self.scores).all():
            raise SupportError("an exemplar's score is not a finite number; rebuild the support set")
        for name in ("labels", "token_labels"):
            if (np.abs(getattr(self, name)) > 1).any():
                raise SupportError(f"the exemplars' {name} must be -1, +1, or 0 where unknown")

    def __len__(self) -> int:
        return int(self.distances.shape[0])

    @property
    def k(self) -> int:
        """How many exemplars each token has."""
        return int(self.distances.shape[1])

    def __getitem__(self, tokens: slice | Bools | npt.NDArray[np.int64]) -> Neighbours:
        """The neighbours of some of the tokens: a slice, a mask or an array of positions."""
        if isinstance(tokens, int | np.integer):
            raise SettingError(
                "ask for a slice of tokens, such as neighbours[3:4], not for a single position"
            )
        return self._each(lambda array: array[tokens])

    def take(self, k: int) -> Neighbours:
        """The nearest `k` exemplars of each token."""
        if k < 1:
            raise SettingError(f"K must be 1 or more, not {k}")
        if k > self.k:
            raise SupportError(f"K = {k} exemplars per token are needed, but only {self.k} were found")
        return self if k == self.k else self._each(lambda array: array[:, :k])

    @classmethod
    def concatenate(cls, parts: Sequence[Neighbours]) -> Neighbours:
        """The tokens of several parts, in order."""
        if not parts:
            raise SettingError("nothing to concatenate")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _DTYPES))

    def _each(self, change: Callable[[Any], Any]) -> Neighbours:
        # A part of what was checked needs no second check.
        part = object.__new__(Neighbours)
        for field in fields(self):
            object.__setattr__(part, field.name, change(getattr(self, field.name)))
        return part


def per_token(values: npt.ArrayLike, neighbours: Neighbours, what: str) -> npt.NDArray[np.float64]:
    """`values` as one finite number for each token of `neighbours`, or an error that gives both lengths."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(neighbours),):
        raise SettingError(f"{what}: shape {array.shape}, but there are {len(neighbours)} tokens")
    if not np.isfinite(array).all():
        raise SettingError(f"{what}: token {int(np.argmin(np.isfinite(array)))} is not a finite number")
    return array
