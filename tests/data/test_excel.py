from __future__ import annotations

import sys
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from exaudit.data import Document, Notes, excel, iter_documents, read_documents
from exaudit.data.check import check
from exaudit.errors import DataError


def write(path: Path, *rows: list[Any], sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for n in range(1, sheets):
        book.create_sheet(f"more {n}")
    book.save(path)
    return path


def test_a_sheet(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.xlsx",
        ["ID", " Text ", "label", "at", "n"],
        [7, "a  b", 1.0, datetime(2020, 1, 2), 1.5],
        [],
        ["x", 2012, True, datetime(2020, 1, 2, 3, 4), None],
        [None, "c", None],
        ["y", None, "z"],
    )
    notes = Notes()
    assert read_documents(path, notes=notes) == [
        Document("7", "a  b", ("a", "b"), "1", meta={"at": "2020-01-02", "n": "1.5"}, line=2),
        Document("x", "2012", ("2012",), "true", meta={"at": "2020-01-02 03:04:00", "n": ""}, line=4),
        Document("3", "c", ("c",), None, meta={"at": "", "n": ""}, line=5),
    ]
    assert (notes.format, notes.columns) == ("excel", {"text": "Text", "label": "label", "id": "ID"})
    assert {problem.what: problem.lines for problem in notes.problems.values()} == {
        "a document has no label": [5],
        "a document has no id; numbered": [5],
        "a document has no words; skipped": [6],
    }
    with pytest.raises(DataError, match=r"a.xlsx:5: 1 of \d documents has no label \(line 5\)"):
        read_documents(path, need_labels=True)
    assert check(path).documents == 3


def test_columns_labels_and_sheets(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlsx", ["a", "x|y", "more"], ["b", None], sheets=3)
    notes = Notes()
    options = {"columns": "text,label,note", "label_separator": "|"}
    assert [d.label for d in read_documents(path, notes=notes, **options)] == [("x", "y"), ()]
    (warning,) = notes.warnings()
    assert "the workbook has 3 sheets; only the first, 'Sheet', is read" in warning
    with pytest.raises(DataError, match=r"a.xlsx:1: `columns` names 2 columns, but the first row has 3"):
        read_documents(path, columns="text,label")
    with pytest.raises(DataError, match=r"a.xlsx:1: no column of a usual name .*'a', 'x|y', 'more'"):
        read_documents(path)


def test_the_content_tells_the_format(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlsx", ["text"], ["a"]).rename(tmp_path / "download")
    assert read_documents(path)[0].text == "a"


def test_reading_is_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = excel._take
    monkeypatch.setattr(excel, "ROWS", 10)
    monkeypatch.setattr(excel, "_take", lambda rows: taken.append(1) or take(rows))
    documents = iter_documents(write(tmp_path / "a.xlsx", ["text"], *([f"text {n}"] for n in range(50))))
    assert [next(documents).line for _ in range(10)] == list(range(2, 12))
    assert len(taken) == 2
    assert len(list(documents)) == 40


def test_files_that_are_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "hello")
    content = write(tmp_path / "b.xlsx", ["text"], ["a"]).read_bytes()
    for damaged in (path.read_bytes(), content[: len(content) // 2], b"", b"text\na\n"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"a.xlsx: this is not an Excel workbook .*or it is damaged"):
            read_documents(path)
    with pytest.raises(DataError, match="there are no documents"):
        read_documents(write(path))
    with pytest.raises(DataError, match="no such file"):
        read_documents(tmp_path / "none.xlsx")


def test_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.xlsx", ["text"], ["a"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        DataError, match=r"a.xlsx: Excel files need openpyxl \(pip install 'exaudit\[excel\]'\)"
    ):
        read_documents(path)
