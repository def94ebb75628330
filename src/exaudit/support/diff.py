"""What differs between two states of a support set, for an index that follows it and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from exaudit._arrays import ranges
from exaudit.data.document import Label
from exaudit.errors import SupportError
from exaudit.support.header import SupportHeader, number_of
from exaudit.support.history import State

__all__ = ["Changes", "VersionDiff", "changes", "version_diff"]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that a search index has to follow to get from one version to another."""

    added: npt.NDArray[np.int64]
    removed: npt.NDArray[np.int64]
    relabelled: npt.NDArray[np.int64]  # live in both; the label of the document or of the token differs


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """What differs between two versions, for people: ids of documents, labels before and after."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    relabelled: tuple[tuple[str, Label, Label], ...]  # id, label before, label after
    tokens: tuple[tuple[str, int, int | str, int | str], ...]  # id, position, y before, y after


def changes(old: State, new: State) -> Changes:
    """Both states come from one log, so they know the same documents and rows."""
    if new.floor and any(new.ids[number] is None for number in np.flatnonzero(old.live | new.live).tolist()):
        raise SupportError("the support set was compacted since, and the rows to forget are no longer known")
    tokens = np.array([row for _, _, row in _token_changes(old, new)], np.int64)
    return Changes(
        added=_rows(new, new.live & ~old.live),
        removed=_rows(new, old.live & ~new.live),
        relabelled=np.union1d(_rows(new, _relabelled(old, new)), tokens),
    )


def version_diff(old: State, new: State, header: SupportHeader) -> VersionDiff:
    def ids(documents: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(str(new.ids[number]) for number in np.flatnonzero(documents).tolist())

    def token_label(state: State, row: int) -> int | str:
        return header.token_label(number_of(state.token_labels[row]))

    relabelled = _relabelled(old, new)
    before, after = (
        [header.document_label(number_of(signs)) for signs in state.label[relabelled]] for state in (old, new)
    )
    return VersionDiff(
        added=ids(new.live & ~old.live),
        removed=ids(old.live & ~new.live),
        relabelled=tuple(zip(ids(relabelled), before, after, strict=True)),
        tokens=tuple(
            (str(new.ids[number]), position, token_label(old, row), token_label(new, row))
            for number, position, row in _token_changes(old, new)
        ),
    )


def _relabelled(old: State, new: State) -> npt.NDArray[np.bool_]:
    both: npt.NDArray[np.bool_] = old.live & new.live
    different: npt.NDArray[np.bool_] = np.any(old.label != new.label, axis=1)
    return both & different


def _rows(state: State, documents: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    numbers = np.flatnonzero(documents)
    return ranges(state.row[numbers], state.length[numbers])


def _token_changes(old: State, new: State) -> Iterator[tuple[int, int, int]]:
    """Number, position and row of each token whose label differs, in documents live in both."""
    numbers = np.flatnonzero(old.live & new.live)
    rows = ranges(new.row[numbers], new.length[numbers])
    owners = np.repeat(numbers, new.length[numbers])
    for i in np.flatnonzero((old.token_labels[rows] != new.token_labels[rows]).any(axis=1)).tolist():
        yield int(owners[i]), int(rows[i] - new.row[owners[i]]), int(rows[i])
