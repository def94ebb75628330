"""Lines of a UTF-8 text file, plain or compressed, or of standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

from exaudit.data.notes import Notes
from exaudit.errors import DataError

__all__ = ["Line", "read_lines"]

Line = tuple[int, str]  # its 1-based number, and its text with the line ending

BOM = b"\xef\xbb\xbf"
PACKERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    **{b"BZh%d1AY&SY" % level: bz2.open for level in range(1, 10)},
}
FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"PAR1": "a Parquet file; convert it to CSV or JSONL",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first, or use gzip, xz or bzip2",
    b"%PDF": "a PDF file; extract its text first",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


def read_lines(path: str | os.PathLike[str], notes: Notes) -> Iterator[Line]:
    """Each line with its number; `-` is standard input. Compression is told by the content, not by the name."""
    number = 0
    with ExitStack() as stack:
        try:
            packed = sys.stdin.buffer if str(path) == "-" else stack.enter_context(open(path, "rb"))
            stream = _unpack(cast(io.BufferedReader, packed), stack)
            _refuse_foreign(stream.peek(8192)[:8192], path)
            for number, raw in enumerate(stream, start=1):
                if number == 1 and raw.startswith(BOM):
                    raw = raw[len(BOM) :]
                    notes.warn("the file starts with a byte order mark (BOM); ignored", 1)
                yield number, _decode(raw, number, notes)
        except FileNotFoundError:
            raise DataError("there is no such file; check the path", path) from None
        except IsADirectoryError:
            raise DataError("this is a folder; name a file in it", path) from None
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"the compressed file is damaged or cut off ({error})", path, number + 1
            ) from None
        except OSError as error:
            raise DataError(f"the file cannot be read ({error.strerror or error})", path) from None
    if number == 0:
        raise DataError("the file is empty; give one with documents in it", path)


def _unpack(stream: io.BufferedReader, stack: ExitStack) -> io.BufferedReader:
    start = stream.peek(16)
    for magic, opener in PACKERS.items():
        if start.startswith(magic):
            return io.BufferedReader(cast(io.RawIOBase, stack.enter_context(opener(stream))))
    return stream


def _refuse_foreign(start: bytes, path: str | os.PathLike[str]) -> None:
    for magic, what in FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"this is {what}", path)
    if b"\0" in start:
        raise DataError("this is a binary file (it holds NUL bytes); give a text file in UTF-8", path)
    if b"\n" not in start and b"\r" in start.rstrip(b"\r"):
        raise DataError("lines end in carriage returns alone; convert it: tr '\\r' '\\n' < FILE", path)


def _decode(raw: bytes, number: int, notes: Notes) -> str:
    if b"\0" in raw:
        notes.error("a line holds a NUL byte", number, advice="remove it, or give a text file in UTF-8")
        raw = raw.replace(b"\0", b"")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[max(0, error.start - 20) : error.start].decode(errors="replace")
        notes.error(
            "a line is not UTF-8",
            number,
            detail=f"byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line, after {before!r}",
            advice="save the file as UTF-8 (e.g. `iconv -f latin1 -t utf-8 FILE`)",
        )
        return raw.decode(errors="replace")
