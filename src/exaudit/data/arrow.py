"""Parquet, Arrow and Feather files, and folders that `datasets` saved: typed columns, read some rows at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from exaudit._files import read_json
from exaudit.data.bomb import array_size, check_parquet, check_unpacked
from exaudit.data.columns import listed
from exaudit.data.records import Record
from exaudit.errors import DataError

__all__ = [
    "ROWS",
    "arrow_records",
    "column_records",
    "folder_records",
    "parquet_records",
    "stream_names",
    "stream_records",
]

ROWS = 1000  # in memory at a time


def parquet_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    import pyarrow.parquet as pq

    with _reading(path, "a Parquet file"):
        metadata, packed = pq.read_metadata(path), os.path.getsize(path)
        check_parquet(metadata, packed)
        texts = _dictionaries(metadata)  # read as they are: every row of one may mean the same long text
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=texts) as file:
            yield from _records(file.iter_batches(ROWS), file.schema_arrow, packed=packed)


def arrow_records(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Record]:
    """The rows of Arrow files, or Feather, which is the same; of several, as if they were one."""
    import pyarrow as pa

    first, packed = 1, sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    for path in paths:
        with _reading(path, "an Arrow or Feather file"), pa.memory_map(os.fspath(path)) as source:
            if source.read(6) == b"ARROW1":
                file = pa.ipc.open_file(source)
                batches: Iterable[Any] = (file.get_batch(n) for n in range(file.num_record_batches))
            else:
                source.seek(0)
                batches = file = pa.ipc.open_stream(source)
            line = first - 1
            for line, fields in _records(batches, file.schema, first, packed=packed):
                yield line, fields
            first = line + 1


def folder_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """The rows of a folder that `Dataset.save_to_disk` wrote."""
    folder = Path(path)
    if (folder / "dataset_dict.json").is_file():
        splits = _json(folder / "dataset_dict.json").get("splits", [])
        names = [f"{folder / str(split)}" for split in splits]
        raise DataError(f"this folder holds several splits; give one of {', '.join(names)}", path)
    if not (folder / "state.json").is_file():
        raise DataError(
            "this is a folder, but not one that `Dataset.save_to_disk` wrote (it has no state.json); name a file in it",
            path,
        )
    state = _json(folder / "state.json")
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise DataError(
            "this folder selects rows by an index; load it with `datasets` and save it again", path
        )
    names = [str(file.get("filename")) for file in state.get("_data_files") or []]
    files = [folder / Path(name).name for name in names]
    lost = [file.name for file in files if not file.is_file()]
    if lost or not files:
        raise DataError(
            f"the folder lacks its data: {listed(lost) if lost else 'state.json names no file'}", path
        )
    yield from arrow_records(files)


def stream_names(table: Any) -> list[str]:
    """The columns of any table that gives itself as a stream of Arrow."""
    import pyarrow as pa

    return list(pa.RecordBatchReader.from_stream(table).schema.names)


def stream_records(table: Any) -> Iterator[Record]:
    """The rows of any table that gives itself as a stream of Arrow."""
    import pyarrow as pa

    stream = pa.RecordBatchReader.from_stream(table)
    with _reading(type(table).__name__, "a table"):
        yield from _records(stream, stream.schema)


def column_records(
    columns: dict[str, list[Any]], first: int, classes: dict[str, list[str]]
) -> Iterator[Record]:
    """Rows of columns, numbered from `first`; numbers of named classes become their names."""
    values = [
        [_named(value, classes[name], first + row) for row, value in enumerate(column)]
        if name in classes
        else [_plain(value) for value in column]
        for name, column in columns.items()
    ]
    for line, row in enumerate(zip(*values, strict=True), start=first):
        yield line, dict(zip(columns, row, strict=True))


def _class_names(feature: Any) -> list[str] | None:
    """The names of a column's classes, where `datasets` describes the column as JSON; also those of a list of them."""
    while isinstance(feature, list) or (isinstance(feature, dict) and "feature" in feature):
        feature = feature["feature"] if isinstance(feature, dict) else feature[0] if feature else None
    names = feature.get("names") if isinstance(feature, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else None


def _dictionaries(metadata: Any) -> list[str]:
    """The columns of a Parquet file that are texts, each kept once."""
    columns = [
        metadata.row_group(n).column(m)
        for n in range(metadata.num_row_groups)
        for m in range(metadata.num_columns)
    ]
    return sorted(
        {c.path_in_schema for c in columns if c.physical_type == "BYTE_ARRAY" and c.has_dictionary_page}
    )


def _records(
    batches: Iterable[Any], schema: Any, first: int = 1, *, packed: int | None = None
) -> Iterator[Record]:
    """Rows of record batches, from a file of `packed` bytes."""
    import pyarrow as pa

    told = (schema.metadata or {}).get(b"huggingface")
    features = json.loads(told).get("info", {}).get("features", {}) if told else {}
    classes = {name: names for name, value in features.items() if (names := _class_names(value))}
    unpacked = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            columns: dict[str, list[Any]] = {}
            part = batch.slice(start, ROWS).columns
            if packed is not None:
                for column in part:
                    column.validate(full=True)  # a damaged one could be read beyond its end
                unpacked += sum(map(array_size, part))
                check_unpacked(unpacked, packed)
            for name, column in zip(schema.names, part, strict=True):
                if pa.types.is_temporal(column.type):
                    column = column.cast(pa.string())  # Python's own times do not have nanoseconds
                columns.setdefault(name, column.to_pylist())  # two columns of one name: the first
            yield from column_records(columns, first, classes)
            first += min(ROWS, batch.num_rows - start)


def _named(value: Any, names: Sequence[str], line: int) -> Any:
    if isinstance(value, list):
        return [_named(one, names, line) for one in value]
    if value is None or value == -1:  # so `datasets` marks what is not labelled
        return None
    if not isinstance(value, int) or not 0 <= value < len(names):
        raise DataError(
            f"row {line} has the class {value!r}, but the file names {len(names)} classes: {listed(names)}"
        )
    return names[value]


def _plain(value: Any) -> Any:
    """A cell as JSON could have it: numpy's and pandas' own kinds of values, and missing ones, become Python's."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if value == value else None
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"  # an image or a sound beside the text
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = read_json(path)
    except ValueError as error:
        raise DataError(f"this is not JSON ({error}); save the data set again", path) from None
    return value if isinstance(value, dict) else {}


@contextmanager
def _reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise DataError("there is no such file; check the path", path) from None
    except DataError as error:
        raise error.at(path) from None
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise DataError(f"this is not {kind}, or it is damaged or cut off ({reason})", path) from None
