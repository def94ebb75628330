from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from exaudit.data import arrow, iter_documents, read_documents
from exaudit.data.frames import is_table
from exaudit.data.notes import DataWarning, Notes
from exaudit.errors import DataError, SettingError
from exaudit.model.documents import as_documents

pandas = pytest.importorskip("pandas")


class Dataset:
    """What is used of a `datasets.Dataset`."""

    def __init__(self, columns: dict[str, list[Any]], **features: Any) -> None:
        self.columns, self.features = columns, features
        self.format: str | None = "torch"

    def with_format(self, format: str | None) -> Dataset:
        copy = Dataset(self.columns, **self.features)
        copy.format = format
        return copy

    def iter(self, batch_size: int) -> Iterator[dict[str, list[Any]]]:
        assert self.format is None
        for start in range(0, len(self.columns["text"]), batch_size):
            yield {name: values[start : start + batch_size] for name, values in self.columns.items()}


def test_a_data_frame() -> None:
    frame = pandas.DataFrame(
        {
            "text": ["a b", "c", None],
            "kind": pandas.Categorical(["x", None, "y"]),
            "score": [1.0, float("nan"), 2.0],
            "whole": pandas.array([1, None, 2], dtype="Int64"),
            "at": pandas.to_datetime(["2020-01-02", None, None]),
            7: [[1, 2], None, None],
        },
        index=[5, 5, 5],
    )
    assert is_table(frame)
    assert not is_table(frame["text"])
    documents = read_documents(frame, label_column="kind", notes=Notes())
    assert [(d.id, d.line, d.label) for d in documents] == [("1", 1, "x"), ("2", 2, None)]
    assert documents[0].meta == {"score": "1.0", "whole": "1", "at": "2020-01-02 00:00:00", "7": "[1, 2]"}
    assert documents[1].meta == {}
    for column, label in (("score", "1"), ("whole", "1"), ("7", ("1", "2"))):
        assert [d.label for d in read_documents(frame, label_column=column, notes=Notes())] == [label, None]


def test_problems_name_the_row() -> None:
    frame = pandas.DataFrame({"text": ["a", "b", 5], "label": ["x", 1, "y"]})
    with pytest.raises(DataError, match=r"^DataFrame:3: the text is not a string: found 5"):
        read_documents(frame)
    assert [d.label for d in read_documents(frame[:2])] == ["x", "1"]  # mixed kinds
    with pytest.raises(DataError, match=r"^DataFrame: no column 'z'; columns found: 'text', 'label'"):
        read_documents(frame, text_column="z")
    with pytest.raises(DataError, match=r"^DataFrame: there are no documents"):
        read_documents(frame[:0])
    with pytest.warns(DataWarning, match=r"^DataFrame: a document has no words; skipped \(once: line 2\)"):
        read_documents(pandas.DataFrame({"text": ["a", ""]}))
    with pytest.raises(SettingError, match=r"`columns` goes with tables .* not with DataFrame"):
        read_documents(frame, columns="a,b")


def test_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = SimpleNamespace(names=["neg", "pos"])
    data = Dataset(
        {"text": ["a", "b", "c"], "label": [1, 0, -1], "topics": [[0], [], [1, 0]]},
        text=SimpleNamespace(dtype="string"),
        label=classes,
        topics=SimpleNamespace(feature=classes),
    )
    monkeypatch.setattr(arrow, "ROWS", 2)
    assert is_table(data)
    documents = read_documents(data, notes=Notes())
    assert [(d.line, d.label) for d in documents] == [(1, "pos"), (2, "neg"), (3, None)]
    assert [d.label for d in iter_documents(data, label_column="topics")] == [("neg",), (), ("pos", "neg")]
    with pytest.raises(DataError, match="dict: it holds several splits; give one of 'train', 'test'"):
        read_documents({"train": data, "test": data})
    assert [d.label for d in read_documents(Dataset(data.columns))] == ["1", "0", "-1"]  # no names


def test_an_arrow_table() -> None:
    table = pa.table({"text": ["a", "b"], "label": [True, None]})
    assert [d.label for d in read_documents(table, notes=Notes())] == ["true", None]
    assert not is_table(table["text"])


@pytest.mark.parametrize("value", [None, 5, ["a text"], {"text": ["a"]}])
def test_what_is_no_table(value: Any) -> None:
    assert not is_table(value)
    with pytest.raises(SettingError, match="give a path, a data frame, a data set"):
        read_documents(value)


def test_a_table_in_place_of_documents() -> None:
    frame = pandas.DataFrame({"text": ["a", "b"], "label": [1, 0]})
    for table in (frame, pa.table({"text": ["a"], "label": [1]}), Dataset({}, text=None, label=None)):
        told = r"X is a table with the columns 'text', 'label'; give .* X\['text'\], or `read_documents\(X\)`"
        with pytest.raises(SettingError, match=told):
            as_documents(table)
    with pytest.raises(SettingError, match=r"dev is a table with the columns 'x'; .* dev\['x'\]"):
        as_documents(frame[["text"]].rename(columns={"text": "x"}), name="dev")
    with pytest.raises(SettingError, match="X is a table without columns"):
        as_documents(pandas.DataFrame())
    assert [d.text for d in as_documents(frame["text"])] == ["a", "b"]
