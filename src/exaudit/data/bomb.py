"""Files that unpack into far more than they are: refused, while honest ones of any size are read as a stream."""

from __future__ import annotations

import io
import zipfile
from typing import Any, BinaryIO

from exaudit.errors import DataError

__all__ = [
    "LONGEST_LINE",
    "Counted",
    "Unpacked",
    "array_size",
    "check_archive",
    "check_parquet",
    "check_unpacked",
]

LONGEST_LINE = 1 << 26  # bytes; a line is held in memory whole
FREE = 1 << 26  # bytes that anything may unpack into
RATIO = 200  # beyond those, by how much: text packs into a fifth, rarely into a fiftieth


class Counted(io.RawIOBase):
    """A stream, and how much of it was read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.count = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        return len(chunk)


class Unpacked(Counted):
    """What comes out of a packed stream, as long as that is in proportion to what goes in."""

    def __init__(self, stream: BinaryIO, packed: Counted) -> None:
        super().__init__(stream)
        self.packed = packed

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        read = super().readinto(buffer)
        check_unpacked(self.count, self.packed.count)
        return read


def check_archive(archive: zipfile.ZipFile) -> None:
    """The same of the parts of an archive, none of which gives more than its entry says."""
    for part in archive.infolist():
        check_unpacked(part.file_size, part.compress_size)


def check_parquet(metadata: Any, packed: int) -> None:
    """The same of a Parquet file of so many bytes, by its own figures: all pages, and what stands in lists."""
    columns = [
        metadata.row_group(n).column(m)
        for n in range(metadata.num_row_groups)
        for m in range(metadata.num_columns)
    ]
    lists = {
        metadata.schema.column(n).path
        for n in range(metadata.num_columns)
        if metadata.schema.column(n).max_repetition_level
    }
    values = sum(column.num_values for column in columns if column.path_in_schema in lists)
    check_unpacked(sum(column.total_uncompressed_size for column in columns) + 8 * values, packed)


def array_size(array: Any) -> int:
    """About how many bytes the values of an Arrow array have, each value of a dictionary as often as it is meant."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    texts = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    if pa.types.is_dictionary(kind) and kind.value_type in texts:
        return int(pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values = array.flatten()
        return 8 * len(values) + array_size(values)
    if pa.types.is_struct(kind):
        return sum(map(array_size, array.flatten()))
    return max(int(array.nbytes), len(array))


def check_unpacked(unpacked: int, packed: int) -> None:
    """Refuse what is far more than it was when packed."""
    if unpacked > FREE and unpacked > RATIO * packed:
        raise DataError(
            f"the file unpacks into more than {RATIO} times its size, as only an attack on the memory does; if it is "
            "honest, unpack it first"
        )
