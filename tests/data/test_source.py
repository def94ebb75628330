from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from exaudit.data.notes import Notes
from exaudit.data.source import read_lines
from exaudit.errors import DataError


def lines_of(path: Path | str, notes: Notes | None = None) -> list[tuple[int, str]]:
    return list(read_lines(path, notes or Notes(path)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_lines_plain_and_compressed(tmp_path: Path, pack) -> None:
    path = tmp_path / "file"  # the name does not say how it is packed
    path.write_bytes(pack("a é\r\n\nb".encode()))
    assert lines_of(path) == [(1, "a é\r\n"), (2, "\n"), (3, "b")]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_cut_off_compressed_file(tmp_path: Path, pack) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(pack(bytes(i % 251 + 1 for i in range(100_000)))[:-20])
    notes = Notes(path, keep_going=True)  # the bytes are no UTF-8 either, which is not what is tested
    with pytest.raises(DataError, match="damaged or cut off"):
        lines_of(path, notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"PAR1rest", "Parquet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "old Excel file"),
        (b"\x7fELF\x00\x00", "binary file"),
        (b"text,label\ra,b\r", "carriage returns alone"),
        (gzip.compress(b"\x7fELF\x00\x00", mtime=0), "binary file"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        lines_of(path)
    assert str(path) in str(caught.value)


def test_wrong_paths(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        lines_of(tmp_path / "missing")
    with pytest.raises(DataError, match="this is a folder"):
        lines_of(tmp_path)
    (tmp_path / "file").write_text("a")
    with pytest.raises(DataError, match="cannot be read"):
        lines_of(tmp_path / "file" / "below")


def test_bad_utf8_names_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("fine é\n".encode() + b"caf\xe9 au lait\nfine\n")  # UTF-8 so far: this line is damaged
    message = r"file:2: a line is not UTF-8: byte 0xe9 at byte 4 of the line, after 'caf'; .*`encoding`"
    with pytest.raises(DataError, match=message):
        lines_of(path)
    notes = Notes(path, keep_going=True)
    assert lines_of(path, notes)[1:] == [(2, "caf\ufffd au lait\n"), (3, "fine\n")]
    assert [(p.count, p.lines, p.is_error) for p in notes.problems.values()] == [(1, [2], True)]


def test_nul_after_the_first_block(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x\n" * 10_000 + b"a\0b\n")
    with pytest.raises(DataError, match=r"file:10001: a line holds a NUL byte"):
        lines_of(path)


def test_bom_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbftext\n")
    notes = Notes(path)
    assert lines_of(path, notes) == [(1, "text\n")]
    assert notes.warnings() == [
        f"{path}: the file starts with a byte order mark (BOM); ignored (once: line 1)"
    ]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BufferedReader(io.BytesIO(gzip.compress(b"a\nb\n")))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    assert lines_of("-") == [(1, "a\n"), (2, "b\n")]
    assert not buffer.closed
