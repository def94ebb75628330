from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from exaudit.data.notes import Notes
from exaudit.data.source import read_lines
from exaudit.errors import DataError, SettingError

FRENCH = "l'été dernier\r\n“déjà vu” — c’est tout…\n\nfin\n"


def read(tmp_path: Path, content: bytes, encoding: str | None = None) -> tuple[list[str], list[str]]:
    path = tmp_path / "file"
    path.write_bytes(content)
    notes = Notes()
    return [text for _, text in read_lines(path, notes, encoding)], notes.warnings()


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32-le", "utf-32-le"),
        ("utf-32-be", "utf-32-be"),
        ("cp1252", "cp1252"),
    ],
)
def test_encodings_are_told_apart_and_named(tmp_path: Path, written: str, named: str) -> None:
    lines, notes = read(tmp_path, FRENCH.encode(written))
    assert lines == FRENCH.splitlines(keepends=True)
    (note,) = notes
    assert f"the file is not UTF-8; read as {named} (`encoding` names another)" in note
    assert read(tmp_path, FRENCH.encode(written), written) == (lines, [])  # named: nothing to tell


def test_wide_text_of_other_scripts(tmp_path: Path) -> None:
    text = "一二三,好\n" * 3000  # longer than what is looked at; 一 has a zero byte on the other side
    for written in ("utf-16-le", "utf-16-be", "utf-16"):
        assert read(tmp_path, text.encode(written))[0] == text.splitlines(keepends=True)


def test_cp1252_is_found_late_and_in_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"plain\n" * 20_000 + "naïve café\n".encode("cp1252") + b"plain\n"
    lines, notes = read(tmp_path, content)
    assert lines[20_000:] == ["naïve café\n", "plain\n"]
    assert notes[0].endswith("(once: line 20001)")
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(gzip.compress(content))))
    )
    assert [text for _, text in read_lines("-", Notes())] == lines


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Привет, как дела?\n", "cp1251"),
        ("Γειά σου κόσμε\n", "cp1253"),
        ("你好，世界\n", "gb18030"),
        ("こんにちは\n", "shift_jis"),
        ("Było mi miło, książka\n", "cp1250"),
        ("très bien\n", "cp850"),
        ("à la carte, très français\n", "mac-roman"),
    ],
)
def test_what_cannot_be_told_must_be_named(tmp_path: Path, text: str, written: str) -> None:
    content = b"plain\n" + text.encode(written)
    with pytest.raises(DataError, match=r"file:2: a line is not UTF-8: byte 0x.. at byte \d+.*`encoding`"):
        list(read_lines(_file(tmp_path, content), Notes(tmp_path / "file")))
    assert read(tmp_path, content, written) == (["plain\n", text], [])


def test_wrong_encodings(tmp_path: Path) -> None:
    path = _file(tmp_path, b"a\n\xff\n")
    with pytest.raises(SettingError, match="no encoding 'klingon'; give one such as utf-8"):
        list(read_lines(path, Notes(), "klingon"))
    with pytest.raises(SettingError, match="no encoding 'base64'"):  # a codec, but not of text
        list(read_lines(path, Notes(), "base64"))
    with pytest.raises(DataError, match="2: a line is not ascii: byte 0xff at byte 1"):
        list(read_lines(path, Notes(path), "ascii"))
    path.write_bytes("ab\n".encode("utf-16-le") + b"\x00\xd8\n\x00c")
    with pytest.raises(DataError, match=r"file:\d: the line is not utf-16-le"):
        list(read_lines(path, Notes(path), "utf-16-le"))


def test_cp1252_that_breaks_off(tmp_path: Path) -> None:
    """A byte that cp1252 does not have, beyond what was looked at."""
    path = _file(tmp_path, "é\n".encode("cp1252") + b"plain\n" * 20_000 + b"\x81\n")
    with pytest.raises(DataError, match="20002: a line is not cp1252: byte 0x81"):
        list(read_lines(path, Notes(path)))


def _file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content)
    return path
