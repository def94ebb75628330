"""Files that are small on the disk and large in the memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exaudit.data import bomb, source
from exaudit.data.arrow import parquet_records
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


def bombs(folder: Path) -> dict[str, Path]:
    """Columnar files of a few kilobytes that hold a hundred megabytes and more."""
    long, many = pa.array(["a " * 500_000]), pa.array([0] * 100_000, pa.int32())
    tables = {
        "dictionary": pa.table({"text": pa.DictionaryArray.from_arrays(many, long)}),
        "page": pa.table({"text": ["a " * (bomb.FREE // 2 + 1)]}),
        "list": pa.table({"tokens": pa.array([["a"] * (bomb.FREE // 8 + 1)])}),
        "struct": pa.table(
            {"a": pa.StructArray.from_arrays([pa.DictionaryArray.from_arrays(many, long)], ["b"])}
        ),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    with pa.ipc.new_file(folder / "dictionary.arrow", tables["dictionary"].schema) as file:
        file.write_table(tables["dictionary"])
    return {path.name: path for path in folder.iterdir()}


def test_a_columnar_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    made = bombs(tmp_path)
    assert len(made) == 5
    for name, path in made.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(DataError, match=rf"{name}: the file unpacks into more than 200 times"):
            read_documents(path)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_honest_columns_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bomb, "FREE", 1000)
    draw = random.Random(0)
    tokens = [draw.choices(["the", "soup", "was", "cold"], k=30) for _ in range(3000)]
    columns = {
        "text": [" ".join(words) for words in tokens],
        "label": ["positive"] * 3000,
        "tokens": tokens,
        "meta": [{"from": "web", "at": None}] * 3000,
        "marks": pa.array([[("a", "b")]] * 3000, pa.map_(pa.string(), pa.string())),
    }
    pq.write_table(pa.table(columns), tmp_path / "honest.parquet", compression="zstd")
    rows = [fields for _, fields in parquet_records(tmp_path / "honest.parquet")]
    assert [row["tokens"] for row in rows] == tokens
    assert rows[-1] | {"tokens": 0} == {
        "text": " ".join(tokens[-1]), "label": "positive", "tokens": 0, "meta": {"from": "web", "at": None},
        "marks": [["a", "b"]],
    }  # fmt: skip
