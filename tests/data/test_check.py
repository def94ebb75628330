from __future__ import annotations

import json
from pathlib import Path

import pytest

from exaudit.data.check import CheckReport, check


def report_on(tmp_path: Path, content: str | bytes, name: str = "file.csv", **options) -> CheckReport:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = check(path, **options)
    json.dumps(report.to_json())
    return report


def found(report: CheckReport) -> dict[str, list[int]]:
    return {problem.what: problem.lines for problem in report.problems}


def test_a_clean_file(tmp_path: Path) -> None:
    report = report_on(tmp_path, "text,label\na b c,positive\nd,negative\ne f,negative\n")
    assert report.ok
    assert not report.problems
    assert (report.format, report.columns) == ("csv", {"text": "text", "label": "label"})
    assert (report.documents, report.tokens, report.unlabelled) == (3, 6, 0)
    assert report.lengths == {"min": 1, "median": 2, "mean": 2, "max": 3}
    assert report.classes == {"negative": 2, "positive": 1}
    assert (report.positive, report.negative) == ("positive", "negative")
    assert report.render().splitlines()[1:] == [
        "  format      csv (text: text, label: label)",
        "  documents   3",
        "  words       6; per document 1 to 3, median 2, mean 2.0",
        "  labels      'negative' 2 (66.7%), 'positive' 1 (33.3%)",
        "  word labels none",
        "  classes     positive: 'positive', negative: 'negative'",
        "  nothing wrong was found",
    ]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    rows = [
        b"id,text,label",
        b"1,fine,pos",
        b"2,caf\x81,neg",
        b"1,twice,neg",
        b"4,,pos",
        b"5,too,many,cells",
        b"6,fine,neg",
        b'7,"open,pos',
        b"8,next,neg",
        b"9,a<br />b &amp; c,pos",
        b"10,bell \x07,neg",
        b"11, pad,pos",
        b"12," + b"x" * 101 + b",neg",
        b"13," + b"w " * 2001 + b"w,pos",
        b"14,no label,",
    ]
    report = report_on(tmp_path, b"\xef\xbb\xbf" + b"\n".join(rows))
    assert not report.ok
    assert found(report) == {
        "a line is not UTF-8": [3],
        "an id is used twice": [4],
        "a row has the wrong number of columns": [6],
        "a stray quote": [8],
        "the file starts with a byte order mark (BOM); ignored": [1],
        "a document has no words; skipped": [5],
        "a text holds U+FFFD, a sign of wrong decoding": [3],
        "a text occurs again": [7],
        "a text occurs again with another label": [7],
        "a text holds HTML tags (such as <br />)": [10],
        "a text holds HTML entities (such as &amp;)": [10],
        "a text holds control characters": [11],
        "a text begins or ends with white space": [12],
        "a word is longer than 100 characters": [13],
        "a document has more than 2,000 words": [14],
        "a document has no label": [15],
    }
    assert [problem.is_error for problem in report.problems] == [True] * 4 + [False] * 12
    assert report.documents == 11
    assert report.unlabelled == 1
    text = report.render()
    assert "what to do: name the file's encoding with `encoding`" in text
    assert "line 4: '1', first in line 2" in text
    assert "line 7: 'neg' here, 'pos' in line 2" in text
    values = report.to_json()
    assert values["ok"] is False
    assert [error["count"] for error in values["errors"]] == [1, 1, 1, 1]


def test_only_some_examples_are_named(tmp_path: Path) -> None:
    report = report_on(tmp_path, "text\n" + "same\n" * 100)
    (problem,) = report.problems
    assert (problem.count, problem.lines, len(problem.details)) == (99, [3, 4, 5, 6, 7], 5)
    assert "(99 times: lines 3, 4, 5, 6, 7, ...)" in report.render()


def test_token_labels(tmp_path: Path) -> None:
    report = report_on(tmp_path, "a\tc\nb\ti\n\nc\tc\n\na\tc\nb\tc\n", "file.tsv")
    assert report.ok
    assert report.format == "conll"
    assert report.token_classes == {"c": 4, "i": 1}
    assert report.token_positive_share == pytest.approx(0.2)
    assert (report.positive, report.negative) == ("i", "c")
    assert found(report) == {
        "a text occurs again": [6],
        "a text occurs again with other word labels": [6],
    }


def test_token_labels_against_document_labels(tmp_path: Path) -> None:
    lines = [
        {"text": "a", "label": "pos", "token_labels": [1]},
        {"text": "b", "label": "neg", "token_labels": [1]},
        {"text": "c", "label": "pos", "token_labels": [0]},
        {"text": "d", "label": "neg", "token_labels": ["?"]},
        {"text": "e", "label": "neg", "token_labels": [1]},
    ]
    report = report_on(tmp_path, "\n".join(map(json.dumps, lines)), "file.jsonl")
    assert {problem.what: problem.count for problem in report.problems} == {
        "an unknown label": 1,
        "a document is labelled negative, but has positive words": 2,
        "a document is labelled positive, but has no positive word": 1,
    }
    assert report.token_positive_share == pytest.approx(3 / 5)


def test_classes(tmp_path: Path) -> None:
    one = report_on(tmp_path, "text,label\na,x\nb,x\n")
    assert [problem.what for problem in one.errors] == [
        "all labels are 'x'; two classes are needed: add documents of the other, or name another column with "
        "`label_column`"
    ]
    two = report_on(tmp_path, "text,label\na,ham\nb,spam\n", positive="ham")
    assert (two.kind, two.positive, two.negative) == ("binary", "ham", "spam")
    asked = report_on(tmp_path, "text,label\na,ham\nb,spam\n", positive="eggs")
    assert asked.ok
    assert "no label is 'eggs'; the classes are 'ham', 'spam'" in asked.render()
    many = report_on(tmp_path, "text,label\na,x\nb,y\nc,z\n")
    assert (many.kind, many.positive) == ("multiclass", None)
    assert "  classes     3, one for a document" in many.render()
    rows = "".join(f"text {i},{int(i == 7)}\n" for i in range(20))
    assert "imbalanced: 5.0% of the documents are '1'" in report_on(tmp_path, "text,label\n" + rows).render()
    words = report_on(tmp_path, "a\ti\nb\tc\n\nd\ti\n", "file.tsv")
    assert [problem.what for problem in words.problems] == [
        "all documents are of one class; a classifier needs both"
    ]


def test_several_labels(tmp_path: Path) -> None:
    report = report_on(tmp_path, "text,label\na,x|y\nb,\nc,y\nd,y | x\n", label_separator="|")
    assert report.ok
    assert (report.kind, report.classes, report.unlabelled) == ("multilabel", {"y": 3, "x": 2}, 0)
    assert "  classes     2, any number for a document" in report.render()
    lines = [
        {"tokens": ["a", "b"], "label": ["x"], "token_labels": [["x", "y"], "O"]},
        {"tokens": ["c"], "label": ["x", "y"], "token_labels": ["?"]},
    ]
    report = report_on(tmp_path, "\n".join(map(json.dumps, lines)), "file.jsonl")
    assert report.token_classes == {"x": 1, "y": 1, "O": 1, "?": 1}
    assert found(report) == {"an unknown label": [2]}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for content, what in (
        (b"", "the file is empty"),
        (b"a\0b", "binary file"),
        (b"foo,bar\n1,2\n", "no column of a usual name holds the text; columns found: 'foo', 'bar'"),
        (b"text,label\n", "there are no documents"),
    ):
        report = report_on(tmp_path, content)
        assert not report.ok
        assert report.documents == 0
        (problem,) = report.errors
        assert what in problem.what
        assert problem.what in report.render()
        assert str(tmp_path) not in problem.what
    assert "no such file" in check(tmp_path / "missing").render()
