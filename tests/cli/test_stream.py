"""Verbs that read a file document by document, of any format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest

from exaudit.cli import options, run
from exaudit.data import read_documents


def parquet_of(path: Path) -> Path:
    documents = read_documents(path)
    columns = {"text": [d.text for d in documents], "label": [d.label for d in documents]}
    pa.parquet.write_table(pa.table(columns), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def test_a_parquet_file_gives_what_its_text_gives(work: Path, cli: Callable[..., str]) -> None:
    parquet = parquet_of(work / "reviews.test.csv")
    for verb in (["label", "model"], ["evaluate", "model"], ["features", "model"], ["data", "check"]):
        told = [cli(*verb, str(file)) for file in (work / "reviews.test.csv", parquet)]
        if verb[0] == "data":
            assert "format      parquet (text: text, label: label)" in told[1]
        else:
            assert told[0] == told[1]


def test_a_file_is_not_held_in_memory(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before a broken line is labelled, chunk by chunk, before that line is read."""
    lines = (work / "reviews.test.jsonl").read_text().splitlines()[:20]
    (work / "long.jsonl").write_text("\n".join(lines) + "\nbroken\n")
    monkeypatch.setattr(options, "CHUNK", 5)
    monkeypatch.setattr("exaudit.model.model._CHUNK", 5)
    assert run(["label", "model", "long.jsonl"]) == 1
    told = capsys.readouterr()
    assert [json.loads(line)["id"] for line in told.out.splitlines()] == [json.loads(x)["id"] for x in lines]
    assert "long.jsonl:21: a line is not JSON" in told.err


@pytest.mark.parametrize("verb", ["label", "evaluate", "features"])
def test_the_whole_file_is_checked(work: Path, fails: Callable[..., str], verb: str) -> None:
    (work / "twice.csv").write_text("id,text,label\n1,a,positive\n2,b,negative\n1,c,positive\n")
    message = "twice.csv:4: two documents have the id '1', in lines 2 and 4"
    assert message in fails(verb, "model", "twice.csv")
    (work / "empty.csv").write_text("text,label\n")
    assert "empty.csv: there are no documents in this file" in fails(verb, "model", "empty.csv")


def test_options_of_reading(work: Path, cli: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    (work / "west.csv").write_bytes("text,label\ncafé,x|y\nthé,\n".encode("cp1252"))
    told = json.loads(cli("data", "check", "west.csv", "--label-separator", "|", "--json"))
    assert (told["classes"], told["kind"]) == ({"x": 1, "y": 1}, "multilabel")
    assert "read as cp1252" in told["warnings"][0]["what"]
    told = json.loads(
        cli("data", "check", "west.csv", "--label-separator", "|", "--encoding", "cp1252", "--json")
    )
    assert told["warnings"] == []
    assert run(["label", "model", "west.csv"]) == 0
    assert "west.csv: the file is not UTF-8; read as cp1252" in capsys.readouterr().err


def test_long_documents_and_foreign_ones_are_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Model:
        def note_on_length(self, chunk: list[int]) -> str | None:
            return "long" if 3 in [d.line for d in chunk] else None

        def note_on_language(self, chunk: list[int]) -> str | None:
            return "foreign"

    documents = [SimpleNamespace(line=n) for n in range(1, 6)]
    assert list(options.with_notes(Model(), documents)) == documents
    monkeypatch.setattr(options, "CHUNK", 2)
    assert list(options.with_notes(Model(), documents)) == documents
    told = "note: foreign\nlong\nnote: foreign\nlines 3 to 4: long\n"
    assert capsys.readouterr().err == told
