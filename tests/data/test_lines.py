from __future__ import annotations

from pathlib import Path

import pytest

from exaudit.data import Document, Notes, iter_documents
from exaudit.errors import DataError, SettingError


def read(tmp_path: Path, content: str, labels: str | None = None, **options) -> list[Document]:
    (tmp_path / "file.txt").write_text(content)
    if labels is not None:
        (tmp_path / "labels.txt").write_text(labels)
        options["token_labels"] = tmp_path / "labels.txt"
    return list(iter_documents(tmp_path / "file.txt", notes=options.pop("notes", Notes()), **options))


def test_labels_and_texts(tmp_path: Path) -> None:
    notes = Notes()
    documents = read(tmp_path, "1 a  b\n0 \n0 1 c\n\n", notes=notes)
    assert documents == [
        Document("1", "a  b", ("a", "b"), "1", line=1),
        Document("3", "1 c", ("1", "c"), "0", line=3),
    ]
    assert notes.format == "lines"
    assert notes.problems["a document has no words; skipped"].lines == [2, 4]


def test_parallel_token_labels(tmp_path: Path) -> None:
    documents = read(tmp_path, "1 a b\n0 c\n", "0 1\n0\n\n")
    assert [d.token_labels for d in documents] == [("0", "1"), ("0",)]


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        ("1 a b\n0 c\n", "0 1\n0 0\n", r"file.txt:2: .*2 labels for 1 words.*one label per word"),
        ("1 a b\n0 c\n", "0 1\n", r"file.txt:2: .*the token labels end before line 2"),
        ("1 a b\n", "0 1\n0\n", r"file.txt:2: .*the documents end before line 2"),
        ("1 a b\n", "", r"labels.txt: the file is empty"),
    ],
)
def test_token_labels_that_do_not_fit(tmp_path: Path, content: str, labels: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content, labels)


def test_a_line_without_a_label(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file.txt:2: .*does not start with its label: '2 b'"):
        read(tmp_path, "1 a\n2 b\n", format="lines")


def test_plain_text(tmp_path: Path) -> None:
    documents = read(tmp_path, "1 a\n\nb\n", format="text")
    assert [(d.id, d.text, d.label) for d in documents] == [("1", "1 a", None), ("3", "b", None)]
    with pytest.raises(DataError, match="has no labels"):
        read(tmp_path, "a\n", format="text", need_labels=True)
    with pytest.raises(SettingError, match="`token_labels` goes with"):
        read(tmp_path, "a\n", "0\n", format="text")
