"""Labels that are missing, and labels that are written in several ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exaudit.data import Document, Notes, iter_documents, read_documents
from exaudit.data.check import check
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.data.notes import DataWarning
from exaudit.data.spelling import is_missing, label_name, label_names
from exaudit.errors import DataError
from exaudit.model.documents import as_documents

pandas = pytest.importorskip("pandas")

MISSING = ["", " ", "nan", "NaN", "NAN", "None", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", " nan "]


def csv(path: Path, *labels: str) -> Path:
    rows = [f"text {n},{label}\n" for n, label in enumerate(labels)]
    path.write_text("text,label\n" + "".join(rows))
    return path


def jsonl(path: Path, *labels: Any) -> Path:
    rows = [json.dumps({"text": f"text {n}", "label": label}) + "\n" for n, label in enumerate(labels)]
    path.write_text("".join(rows))
    return path


@pytest.mark.parametrize("cell", MISSING)
def test_what_is_no_label(tmp_path: Path, cell: str) -> None:
    for path in (csv(tmp_path / "a.csv", "x", cell), jsonl(tmp_path / "a.jsonl", "x", cell)):
        assert [d.label for d in read_documents(path, notes=Notes())] == ["x", None]


@pytest.mark.parametrize("cell", ["none", "NONE", "na", "O", "nil", "unknown", "0", "-"])
def test_what_may_be_a_class(tmp_path: Path, cell: str) -> None:
    for path in (csv(tmp_path / "a.csv", "x", cell), jsonl(tmp_path / "a.jsonl", "x", cell)):
        assert [d.label for d in read_documents(path)] == ["x", cell]


def test_missing_values_of_programs() -> None:
    frame = pandas.DataFrame(
        {"text": list("abcdef"), "label": ["x", None, float("nan"), pandas.NA, pandas.NaT, "nan"]}
    )
    assert [d.label for d in read_documents(frame, notes=Notes())] == ["x"] + 5 * [None]
    assert [is_missing(label) for label in frame["label"]] == [False] + 5 * [True]
    assert not any(map(is_missing, [0, 0.0, False, (), "none"]))


def test_cells_of_several_labels() -> None:
    assert label_names("a | 1.0|a|", "|") == ("a", "1")
    assert label_names(" ", "|") == ()  # none of the labels
    assert label_names("NaN", "|") is None  # not known
    assert label_names("N/A", "/") is None


def test_a_list_with_a_missing_label(tmp_path: Path) -> None:
    for wrong in (None, "nan", ""):
        with pytest.raises(DataError, match=r"a.jsonl:1: a list in 'label' has an empty label"):
            read_documents(jsonl(tmp_path / "a.jsonl", ["x", wrong]))


def test_token_labels_are_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"tokens": ["a", "b", "c"], "token_labels": ["None", "NA", "B-x"]}))
    (document,) = read_documents(path)
    assert document.token_labels == ("None", "NA", "B-x")


def test_missing_labels_are_counted_and_can_be_skipped(tmp_path: Path) -> None:
    labels = ["x", "", "y", "nan", "None", "NA", "null", "N/A", "x"]
    path = csv(tmp_path / "a.csv", *labels)
    told = r"a.csv:3: 6 of 9 documents have no label \(lines 3, 5, 6, 7, 8, ...\); fill them in, or .*`skip_unlabelled`"
    with pytest.raises(DataError, match=told):
        read_documents(path, need_labels=True)
    notes = Notes()
    documents = read_documents(path, need_labels=True, skip_unlabelled=True, notes=notes)
    assert [d.label for d in documents] == ["x", "y", "x"]
    assert notes.warnings() == [
        f"{path}: a document has no label; skipped (6 times: lines 3, 5, 6, 7, 8, ...)"
    ]
    with pytest.warns(DataWarning, match="no label; skipped"):
        assert len(read_documents(path, skip_unlabelled=True)) == 3


def test_nothing_is_handed_out_after_the_first_missing_label(tmp_path: Path) -> None:
    """So that a verb that works on a file as it reads it does not work for nothing."""
    documents = iter_documents(csv(tmp_path / "a.csv", "x", "", "y", "x"), need_labels=True)
    assert next(documents).label == "x"
    with pytest.raises(DataError, match="1 of 4 documents has no label"):
        next(documents)


def test_no_document_has_a_label(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "stars": 5}\n{"text": "b", "stars": 1}\n')
    for options in ({"need_labels": True}, {"skip_unlabelled": True}):
        with pytest.raises(
            DataError, match=r"no document has a label; if one of 'stars' holds it, .*`label_column`"
        ):
            read_documents(path, **options)
    with pytest.raises(DataError, match="no document has a label; add labels"):
        read_documents(csv(tmp_path / "a.csv", "", "nan"), need_labels=True)


def test_a_field_that_some_documents_lack(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b", "label": "x"}\n{"text": "c", "token_labels": ["x"]}\n')
    with pytest.raises(DataError, match=r"a.jsonl:1: 1 of 3 documents has no label"):
        read_documents(path, need_labels=True)
    assert len(read_documents(path, skip_unlabelled=True, notes=Notes())) == 2


@pytest.mark.parametrize("labels", [["1.0", "0.0"], ["1", "0"], [" 1.00 ", "0"]])
def test_numbers_are_the_same_in_every_format(tmp_path: Path, labels: list[str]) -> None:
    sources: list[Any] = [csv(tmp_path / "a.csv", *labels), jsonl(tmp_path / "a.jsonl", *labels)]
    sources += [jsonl(tmp_path / "b.jsonl", *map(float, labels))]
    sources += [
        pandas.DataFrame({"text": ["a", "b"], "label": kind}) for kind in (labels, [1.0, 0.0], [1, 0])
    ]
    for source in sources:
        assert [d.label for d in read_documents(source)] == ["1", "0"]
    assert [label_name(text) for text in ("-1.0", "1.5", "1.", "v1.0", "1.0.0")] == [
        "-1",
        "1.5",
        "1.",
        "v1.0",
        "1.0.0",
    ]


def test_labels_that_differ_in_case_are_one(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "a.csv",
        "POSITIVE",
        "positive",
        " positive ",
        "Negative",
        "Positive",
        "POSITIVE",
        "positive",
    )
    notes = Notes()
    labels = [d.label for d in read_documents(path, notes=notes)]
    assert labels == 3 * ["positive"] + ["Negative"] + 3 * ["positive"]
    assert notes.warnings() == [
        f"{path}: the label 'POSITIVE' is taken for 'positive', which differs in case alone (2 times)",
        f"{path}: the label 'Positive' is taken for 'positive', which differs in case alone (once)",
    ]
    with pytest.warns(DataWarning, match="'POSITIVE' is taken for 'positive'"):
        list(iter_documents(csv(path, "POSITIVE", "positive", "positive")))


def test_many_spellings_are_one_note(tmp_path: Path) -> None:
    names = [f"class {n}" for n in range(8)]
    notes = Notes()
    read_documents(csv(tmp_path / "a.csv", *names, *names, *map(str.upper, names)), notes=notes)
    assert len(notes.warnings()) == 6
    assert notes.warnings()[-1].endswith(
        "3 more labels differ from others in case alone and are taken for them (3 times)"
    )


def test_lists_of_labels_are_unified(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", ["Staff", "staff"], ["staff"], ["staff"], ["Staff", "price"])
    labels = [d.label for d in read_documents(path, notes=Notes())]
    assert labels == [("staff",), ("staff",), ("staff",), ("staff", "price")]


def test_a_model_knows_its_classes_in_any_case() -> None:
    names = LabelNames("negative", "positive")
    document = Document.from_text("a", label="POSITIVE")
    assert names.document_target(document) == 1
    several = LabelSet("multiclass", ("red", "green", "1.0"))
    found = several.targets(
        [Document.from_text("a", label=label) for label in ("Green", "RED", "1", "green")]
    )
    assert found.tolist() == [1, 0, 2, 1]
    assert several.document_classes(Document.from_text("a", label="GREEN")) == (1,)


def test_classes_of_a_model_that_differ_in_case_stay_apart() -> None:
    """As labels of Python's own, they are taken as they are."""
    labels = LabelSet.infer([Document.from_text("a", label=label) for label in ("us", "US", "uk")])
    assert labels.names == ("US", "uk", "us")
    assert labels.targets([Document.from_text("a", label=name) for name in labels.names]).tolist() == [
        0,
        1,
        2,
    ]
    for unknown in (LabelSet.binary("us", "US"), labels):
        with pytest.raises(DataError, match="unknown label 'Us'"):
            unknown.targets([Document.from_text("a", label="Us")])


def test_labels_beside_texts_must_be_there() -> None:
    texts = ["a", "b", "c", "d"]
    with pytest.raises(
        DataError, match=r"3 of 4 labels are missing \(None, NaN or such\); leave these documents"
    ):
        as_documents(texts, ["x", None, float("nan"), pandas.NA])
    with pytest.raises(DataError, match="1 of 4 labels is missing"):
        as_documents(texts, [["x"], [], ["y", None], ["x"]])
    assert [d.label for d in as_documents(texts, [0.0, 1.0, "none", "y"])] == [
        "0.0",
        "1.0",
        "none",
        "y",
    ]


def test_check_counts_what_is_missing_and_what_is_one(tmp_path: Path) -> None:
    report = check(csv(tmp_path / "a.csv", "pos", "pos", "POS", "neg", "nan", "NEG", "neg"))
    assert report.classes == {"pos": 3, "neg": 3}
    assert (report.unlabelled, report.kind, report.positive) == (1, "binary", "pos")
    assert {problem.what: problem.count for problem in report.warnings} == {
        "a document has no label": 1,
        "the label 'NEG' is taken for 'neg', which differs in case alone": 1,
        "the label 'POS' is taken for 'pos', which differs in case alone": 1,
    }
