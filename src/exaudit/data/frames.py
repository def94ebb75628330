"""Tables in memory: data frames, data sets of `datasets`, Arrow tables. No package of theirs is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exaudit.data import arrow
from exaudit.data.records import Record
from exaudit.errors import DataError, SettingError

__all__ = ["column_names", "is_table", "table_records"]


def is_table(value: Any) -> bool:
    """Whether `read_documents` can read it. They are known by what they can do."""
    return _is_frame(value) or _is_dataset(value) or _is_arrow(value)


def column_names(table: Any) -> list[str]:
    """What the columns of a table are called."""
    if _is_frame(table):
        return [str(name) for name in table.columns]
    return [str(name) for name in (table.features or {} if _is_dataset(table) else arrow.stream_names(table))]


def table_records(table: Any) -> Iterator[Record]:
    """The rows of a table, numbered from 1."""
    if _is_frame(table):
        return _frame_records(table)
    if _is_dataset(table):
        return _dataset_records(table)
    if _is_arrow(table):
        return arrow.stream_records(table)
    if isinstance(table, Mapping) and table and all(_is_dataset(value) for value in table.values()):
        splits = ", ".join(map(repr, table))
        raise DataError(f"it holds several splits; give one of {splits}", type(table).__name__)
    raise SettingError(
        f"cannot read a {type(table).__name__}; give a path, a data frame, a data set of `datasets` or an Arrow table"
    )


def _is_frame(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("iloc", "columns", "dtypes"))


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "features") and callable(getattr(value, "iter", None))


def _is_arrow(value: Any) -> bool:
    # a single column gives itself as a stream too, but has no schema
    return hasattr(value, "__arrow_c_stream__") and hasattr(value, "schema")


def _frame_records(frame: Any) -> Iterator[Record]:
    names = [str(name) for name in frame.columns]
    for start in range(0, len(frame), arrow.ROWS):
        part = frame.iloc[start : start + arrow.ROWS]
        columns: dict[str, list[Any]] = {}
        for place, name in enumerate(names):
            columns.setdefault(name, part.iloc[:, place].tolist())  # two columns of one name: the first
        yield from arrow.column_records(columns, start + 1, {})


def _dataset_records(data: Any) -> Iterator[Record]:
    classes = {name: names for name, value in (data.features or {}).items() if (names := _names(value))}
    plain = data.with_format(None) if hasattr(data, "with_format") else data  # not tensors
    first = 1
    for columns in plain.iter(batch_size=arrow.ROWS):
        yield from arrow.column_records(columns, first, classes)
        first += len(next(iter(columns.values()), ()))


def _names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, or of a list of them."""
    while (inner := getattr(feature, "feature", None)) is not None:
        feature = inner
    if isinstance(feature, list) and feature:
        (feature,) = feature[:1]
    names = getattr(feature, "names", None)
    return None if names is None else [str(name) for name in names]
