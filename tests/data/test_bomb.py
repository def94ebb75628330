"""Files that are small on the disk and large in the memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.data import bomb, source
from exaudit.data.document import Document
from exaudit.data.readers import iter_documents, read_documents
from exaudit.errors import DataError

PACKERS = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("text", [b"a", b"a b c and d\n"])
def test_a_packed_bomb_is_refused_before_it_is_unpacked(
    kind: str, text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bomb, "FREE", 1 << 16)
    path = tmp_path / f"bomb.txt.{kind}"
    path.write_bytes(PACKERS[kind](text * ((1 << 23) // len(text))))
    seen: list[Document] = []
    with pytest.raises(DataError, match="200 times its size") as refused:
        seen.extend(iter_documents(path, format="text"))
    assert refused.value.path == path
    assert sum(len(document.text) for document in seen) < 1 << 22, "far from all of it"


@pytest.mark.parametrize("kind", PACKERS)
def test_honest_packed_text_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bomb, "FREE", 1000)
    draw = random.Random(0)
    lines = [" ".join(draw.choices(["the", "soup", "was", "cold"], k=30)) for _ in range(300)]
    path = tmp_path / f"text.txt.{kind}"
    path.write_bytes(PACKERS[kind]("\n".join(lines).encode()))
    assert [d.text for d in read_documents(path, format="text")] == lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_without_an_end_is_refused(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "long.txt"
    path.write_text("a b\nc d" + "a" * (1 << 20), encoding)
    with pytest.raises(DataError, match=r"long\.txt:2: the line has more than 1 MB"):
        read_documents(path, format="text", encoding=encoding)


def test_a_workbook_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/sharedStrings.xml", b" " * (bomb.FREE + 1))
    with pytest.raises(DataError, match=r"bomb\.xlsx: the file unpacks into more than 200 times"):
        read_documents(path)


NESTED: list[Callable[[], str]] = [
    lambda: '{"text": ' + "[" * 200_000,
    lambda: '{"text": "a", "meta": ' + "[" * 200_000 + "]" * 200_000 + "}",
    lambda: '{"text": "a", "label": ' + "9" * 100_000 + "}",
]


@pytest.mark.parametrize("make", NESTED)
def test_json_that_is_a_bomb_is_refused(make: Callable[[], str], tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl"
    path.write_text(json.dumps({"text": "a b"}) + "\n" + make() + "\n")
    with pytest.raises(DataError, match=r"bomb\.jsonl:2: a line is not JSON"):
        read_documents(path)
