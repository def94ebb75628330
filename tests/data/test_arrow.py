from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from exaudit.data import Document, Notes, arrow, iter_documents, read_documents
from exaudit.data.check import check
from exaudit.errors import DataError, SettingError

COLUMNS: dict[str, list[Any]] = {"Review": ["a b", "c", " "], "label": ["x", None, "y"], "stars": [5, 4, 3]}


def write(table: pa.Table, path: Path) -> Path:
    """By the ending of the name."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as file:
            file.write_table(table)
    return path


def features(**described: Any) -> dict[str, str]:
    return {"huggingface": json.dumps({"info": {"features": described}})}


def save_to_disk(folder: Path, *tables: pa.Table) -> Path:
    """As `datasets` does it."""
    folder.mkdir(parents=True)
    names = [f"data-{n:05}-of-{len(tables):05}.arrow" for n in range(len(tables))]
    for name, table in zip(names, tables, strict=True):
        write(table, folder / name)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "f", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.parquet", "parquet"), ("a.feather", "arrow"), ("a.arrow", "arrow"), ("folder", "dataset")],
)
def test_files_of_columns(tmp_path: Path, name: str, format: str) -> None:
    table = pa.table(COLUMNS)
    path = (
        save_to_disk(tmp_path / name, table.slice(0, 2), table.slice(2))
        if format == "dataset"
        else write(table, tmp_path / name)
    )
    for given in (None, format):
        notes = Notes()
        assert read_documents(path, notes=notes, format=given) == [
            Document("1", "a b", ("a", "b"), "x", meta={"stars": "5"}, line=1),
            Document("2", "c", ("c",), None, meta={"stars": "4"}, line=2),
        ]
        assert (notes.format, notes.columns) == (format, {"text": "Review", "label": "label"})
        assert {p.what: p.lines for p in notes.problems.values()} == {
            "a document has no words; skipped": [3],
            "a document has no label": [2],
        }
    assert check(path).documents == 2


def test_the_content_tells_the_format(tmp_path: Path) -> None:
    for ending in (".parquet", ".feather", ".arrow"):
        path = write(pa.table(COLUMNS), tmp_path / f"a{ending}").rename(tmp_path / "a.csv")
        assert len(read_documents(path, notes=Notes())) == 2


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (pa.array([1]), "1"),
        (pa.array([1.0]), "1"),
        (pa.array([1.5]), "1.5"),
        (pa.array([float("nan")]), None),
        (pa.array([True]), "true"),
        (pa.array([Decimal("1.00")]), "1"),
        (pa.array(["x"]).dictionary_encode(), "x"),
        (pa.array([["x", "y"]]), ("x", "y")),
        (pa.array([[1, 0]]), ("1", "0")),
        (pa.array([[]], pa.list_(pa.string())), ()),
        (pa.array([date(2020, 1, 2)]), "2020-01-02"),
        (pa.nulls(1), None),
    ],
)
def test_kinds_of_labels(tmp_path: Path, column: pa.Array, label: Any) -> None:
    path = write(pa.table({"text": ["a"], "label": column}), tmp_path / "a.parquet")
    assert read_documents(path, notes=Notes())[0].label == label


def test_other_columns_and_tokens(tmp_path: Path) -> None:
    table = pa.table(
        {
            "tokens": [["do", "n't"]],
            "token_labels": [["O", "B-x"]],
            "image": [b"\x89PNG"],
            "at": pa.array([datetime(2020, 1, 2, 3)], pa.timestamp("ns")),
            "nested": [{"a": [1.5]}],
        }
    )
    (document,) = read_documents(write(table, tmp_path / "a.parquet"), need_labels=True)
    assert (document.text, document.token_labels) == ("do n't", ("O", "B-x"))
    assert document.meta == {
        "image": "4 bytes",
        "at": "2020-01-02 03:00:00.000000000",
        "nested": '{"a": [1.5]}',
    }


def test_names_of_classes(tmp_path: Path) -> None:
    label = {"names": ["neg", "pos"], "_type": "ClassLabel"}
    tags = {"feature": {"names": ["O", "B-x"], "_type": "ClassLabel"}, "_type": "List"}
    columns = {"tokens": [["a", "b"], ["c"]], "label": [1, -1], "ner_tags": [[0, 1], [0]], "kinds": [[1], []]}
    told = features(label=label, ner_tags=tags, kinds=[label], tokens={"dtype": "string"})
    table = pa.table(columns).replace_schema_metadata(told)
    for path in (save_to_disk(tmp_path / "folder", table), write(table, tmp_path / "a.parquet")):
        documents = read_documents(path, notes=Notes())
        assert [d.label for d in documents] == ["pos", None]
        assert [d.token_labels for d in documents] == [("O", "B-x"), ("O",)]
        assert [d.label for d in read_documents(path, label_column="kinds")] == [("pos",), ()]
    wrong = pa.table({"text": ["a"], "label": [7]}).replace_schema_metadata(told)
    with pytest.raises(DataError, match=r"a.arrow: row 1 has the class 7, but .* 2 classes: 'neg', 'pos'"):
        read_documents(write(wrong, tmp_path / "a.arrow"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"text_column": "x"},
            "no column 'x'; columns found: 'Review', 'label', 'stars'; name one with `text_column`",
        ),
        ({"label_column": "x"}, "no column 'x'; .*`label_column`"),
        ({"text_column": "stars"}, r"a.parquet:1: the text is not a string: found 5"),
        ({"need_labels": True}, r"a.parquet:2: 1 of \d documents has no label \(line 2\)"),
        ({"id_column": "label", "label_column": "label"}, "text, label and id must be different columns"),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write(pa.table(COLUMNS), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=message):
        read_documents(path, **options)


def test_a_missing_column_is_one_error(tmp_path: Path) -> None:
    path = write(pa.table(COLUMNS), tmp_path / "a.parquet")
    (problem,) = check(path, text_column="x").errors
    assert problem.count == 1


def test_options_that_have_no_use(tmp_path: Path) -> None:
    path = write(pa.table(COLUMNS), tmp_path / "a.parquet")
    for option, value in (("columns", "a,b"), ("encoding", "utf-8"), ("token_labels", path)):
        with pytest.raises(SettingError, match=f"`{option}` goes with .* not with parquet"):
            read_documents(path, **{option: value})


def test_empty_tables_and_duplicate_names(tmp_path: Path) -> None:
    path = write(pa.table({"text": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a.parquet: there are no documents in this file"):
        read_documents(path)
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    assert read_documents(write(twice, tmp_path / "b.arrow"))[0].text == "a"


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    path = write(pa.table({"text": ["some words"] * 5000}), tmp_path / name)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"nonsense" * 10):
        path.write_bytes(damaged)
        with pytest.raises(
            DataError, match=re.escape(str(path)) + ": .*(damaged or cut off|not an? )"
        ) as caught:
            read_documents(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_documents(tmp_path / "missing" / name)


def test_parquet_where_text_is_asked_for(tmp_path: Path) -> None:
    path = write(pa.table(COLUMNS), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"this is a Parquet file; .*without another `format`"):
        read_documents(path, format="csv")


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow"])
def test_reading_is_streaming(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows at a time become Python objects, however many there are in the file."""
    made: list[int] = []
    records = arrow.column_records

    def counting(columns: dict[str, list[Any]], *more: Any) -> Any:
        made.append(len(columns["text"]))
        return records(columns, *more)

    monkeypatch.setattr(arrow, "ROWS", 10)
    monkeypatch.setattr(arrow, "column_records", counting)
    path = write(pa.table({"text": [f"text {n}" for n in range(95)]}), tmp_path / name)
    documents = iter_documents(path)
    assert [next(documents).line for _ in range(11)] == list(range(1, 12))
    assert made == [10, 10]
    assert [d.text for d in documents] == [f"text {n}" for n in range(11, 95)]
    assert made == [10] * 9 + [5]


def test_folders_that_are_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"this is a folder, but not one that .*state.json"):
        read_documents(tmp_path)
    splits = tmp_path / "splits"
    save_to_disk(splits / "train", pa.table(COLUMNS))
    (splits / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(DataError, match=r"several splits; give one of .*splits/train, .*splits/test"):
        read_documents(splits)
    assert len(read_documents(splits / "train", notes=Notes())) == 2
    state = splits / "train" / "state.json"
    (splits / "train" / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(DataError, match=r"the folder lacks its data: 'data-00000-of-00001.arrow'"):
        read_documents(splits / "train")
    for content, message in (
        ("{}", "the folder lacks its data: state.json names no file"),
        ("{", "state.json: this is not JSON"),
        ('{"_indices_data_files": [{}]}', "selects rows by an index"),
    ):
        state.write_text(content)
        with pytest.raises(DataError, match=message):
            read_documents(splits / "train")


def test_offsets_that_lead_nowhere(tmp_path: Path) -> None:
    """Nothing is read beyond the end of a damaged column."""
    batch = pa.RecordBatch.from_pydict({"text": ["good food", "bad food", "cold soup"]})
    path = tmp_path / "damaged.arrow"
    for wrong in ([0, 9, 4, 26], [0, 9, 17, 1 << 30]):
        with pa.ipc.new_file(path, batch.schema) as file:
            file.write_batch(batch)
        right, damaged = (np.array(offsets, "<i4").tobytes() for offsets in ([0, 9, 17, 26], wrong))
        assert path.read_bytes().count(right) == 1
        path.write_bytes(path.read_bytes().replace(right, damaged))
        with pytest.raises(
            DataError, match=r"damaged\.arrow: this is not an Arrow or Feather file, or it is dam"
        ):
            read_documents(path)
