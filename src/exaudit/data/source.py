"""Lines of a text file, plain or compressed, or of standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

from exaudit.data.bomb import LONGEST_LINE, Counted, Unpacked
from exaudit.data.encoding import Decoder, check_encoding, wide_encoding
from exaudit.data.notes import Notes
from exaudit.errors import DataError

__all__ = ["Line", "check_path", "read_lines"]

Line = tuple[int, str]  # its 1-based number, and its text with the line ending

WEB_ADDRESS = re.compile(r"(?:https?|ftp|s3|gs|hf):/", re.IGNORECASE)  # one slash: a Path has made one of two

BOM = b"\xef\xbb\xbf"
PACKERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    **{b"BZh%d1AY&SY" % level: bz2.open for level in range(1, 10)},
}
FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it (an Excel file must be .xlsx, and a file of its own)",
    b"PAR1": "a Parquet file; give it as a file of its own, and without another `format`",
    b"ARROW1": "an Arrow file; give it as a file of its own, and without another `format`",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first, or use gzip, xz or bzip2",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls); save it as .xlsx or CSV",
    b"%PDF": "a PDF file; extract its text first",
}


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse what is not on this machine, before its format is looked for; `-` is standard input."""
    if WEB_ADDRESS.match(os.fspath(path)):
        address = re.sub(":/+", "://", os.fspath(path), count=1)
        raise DataError(
            "this is a web address; exaudit reads files on this machine: download it first", address
        )
    if str(path) != "-" and not os.path.exists(path):
        raise DataError("there is no such file; check the path", path)


def read_lines(path: str | os.PathLike[str], notes: Notes, encoding: str | None = None) -> Iterator[Line]:
    """Each line with its number; `-` is standard input. Compression is told by the content, not by the name."""
    encoding = check_encoding(encoding)
    number = 0
    with ExitStack() as stack:
        try:
            packed = sys.stdin.buffer if str(path) == "-" else stack.enter_context(open(path, "rb"))
            stream = _unpack(cast(io.BufferedReader, packed), stack)
            start = stream.peek(8192)[:8192]
            wide = _check_start(start, encoding, path)
            if wide is not None:
                if encoding is None:
                    notes.warn(f"the file is not UTF-8; read as {wide} (`encoding` names another)")
                for number, text in enumerate(_wide_lines(stream, wide), start=1):
                    yield number, text
            else:
                decoder = Decoder(encoding, notes)
                for number, raw in enumerate(iter(lambda: _line(stream), b""), start=1):
                    if number == 1 and raw.startswith(BOM):
                        raw = raw[len(BOM) :]
                        notes.warn("the file starts with a byte order mark (BOM); ignored", 1)
                    if b"\0" in raw:
                        notes.error(
                            "a line holds a NUL byte", number, advice="remove it, or give a text file"
                        )
                        raw = raw.replace(b"\0", b"")
                    yield number, decoder.decode(raw, number, stream.peek)
        except DataError as error:
            raise error if error.path is not None else DataError(error.message, path, number + 1) from None
        except FileNotFoundError:
            raise DataError("there is no such file; check the path", path) from None
        except IsADirectoryError:
            raise DataError("this is a folder; name a file in it", path) from None
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"the compressed file is damaged or cut off ({error})", path, number + 1
            ) from None
        except UnicodeError as error:
            raise DataError(
                f"the line is not {wide} ({error}); name another encoding with `encoding`", path, number + 1
            ) from None
        except OSError as error:
            raise DataError(f"the file cannot be read ({error.strerror or error})", path) from None
    if number == 0:
        raise DataError("the file is empty; give one with documents in it", path)


def _unpack(stream: io.BufferedReader, stack: ExitStack) -> io.BufferedReader:
    start = stream.peek(16)
    for magic, opener in PACKERS.items():
        if start.startswith(magic):
            packed = Counted(stream)
            opened = stack.enter_context(opener(cast(BinaryIO, packed)))
            return io.BufferedReader(Unpacked(opened, packed), 1 << 16)
    return stream


def _line(stream: io.BufferedReader | io.TextIOWrapper) -> Any:
    line = stream.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise DataError(f"the line has more than {LONGEST_LINE >> 20} MB; write one document in each line")
    return line


def _check_start(start: bytes, encoding: str | None, path: str | os.PathLike[str]) -> str | None:
    """Refuse what is no text; the encoding of the file where it has several bytes to every character."""
    for magic, what in FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"this is {what}", path)
    if encoding is not None and "\n".encode(encoding) != b"\n":
        return encoding
    wide = wide_encoding(start) if encoding is None else None
    if wide is None and b"\0" in start:
        raise DataError("this is a binary file (it holds NUL bytes); give a text file", path)
    if b"\n" not in start and b"\r" in start.rstrip(b"\r") and wide is None:
        raise DataError("lines end in carriage returns alone; convert it: tr '\\r' '\\n' < FILE", path)
    return wide


def _wide_lines(stream: io.BufferedReader, encoding: str) -> Iterator[str]:
    text = io.TextIOWrapper(stream, encoding, newline="\n")
    try:
        for number, line in enumerate(iter(lambda: _line(text), "")):
            yield line if number else line.removeprefix("\ufeff")
    finally:
        text.detach()  # standard input stays open
