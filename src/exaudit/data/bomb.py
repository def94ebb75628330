"""Files that unpack into far more than they are: refused, while honest ones of any size are read as a stream."""

from __future__ import annotations

import io
import zipfile
from typing import BinaryIO

from exaudit.errors import DataError

__all__ = ["LONGEST_LINE", "Counted", "Unpacked", "check_archive"]

LONGEST_LINE = 1 << 26  # bytes; a line is held in memory whole
FREE = 1 << 26  # bytes that anything may unpack into
RATIO = 200  # beyond those, by how much: text packs into a fifth, rarely into a fiftieth


class Counted(io.RawIOBase):
    """A packed stream, and how much of it was read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.count = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        return len(chunk)


class Unpacked(io.RawIOBase):
    """What comes out of a packed stream, as long as that is in proportion to what goes in."""

    def __init__(self, stream: BinaryIO, packed: Counted) -> None:
        self.stream, self.packed, self.count = stream, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        _check(self.count, self.packed.count)
        return len(chunk)


def check_archive(archive: zipfile.ZipFile) -> None:
    """The same of the parts of an archive, none of which gives more than its entry says."""
    for part in archive.infolist():
        _check(part.file_size, part.compress_size)


def _check(unpacked: int, packed: int) -> None:
    if unpacked > FREE and unpacked > RATIO * packed:
        raise DataError(
            f"the file unpacks into more than {RATIO} times its size, as only an attack on the memory does; if it is "
            "honest, unpack it first"
        )
