"""From documents to mark to a boundary: suggest, mark, boundary."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.model.boundaries import start_before_marking
from exaudit.model.folder import load_model

Verb = Callable[..., str]


def test_suggest_then_mark_then_boundary(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suggest", "model", "reviews.train.jsonl", "-n", "12", "-o", "mark.jsonl"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    lines = [json.loads(line) for line in Path("mark.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    for line in lines:
        assert f"{line['id']}: decided " in told.err
    assert "12 of 300 documents chosen" in told.err
    assert "exaudit boundary model FILE" in told.err
    before = load_model(Path("model"), device="cpu")
    assert run(["boundary", "model", "mark.jsonl"]) == 1
    assert f"mark.jsonl:1: document '{lines[0]['id']}' is not marked yet" in capsys.readouterr().err
    assert run(["boundary", "model", "mark.jsonl", "--by", "documents"]) == 1
    assert (
        run(["evaluate", "model", "mark.jsonl"]) == 1
    )  # the model's own labels would be compared with themselves
    assert capsys.readouterr().err.count("is not marked yet ('marked' is false)") == 2
    truth = {
        line["id"]: line for line in map(json.loads, Path("reviews.train.jsonl").read_text().splitlines())
    }
    for line in lines:
        assert line["tokens"] == truth[line["id"]]["text"].split()
        line |= {"token_labels": truth[line["id"]]["token_labels"], "marked": True}
    Path("marked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["boundary", "model", "marked.jsonl", "--beta", "1"]) == 0
    out = capsys.readouterr().out
    after = load_model(Path("model"), device="cpu")
    record = after.record["boundary"]
    assert record["start"] == list(start_before_marking(before, 1.0))
    value, low, high = record["known"][0]["f"]
    assert f"decision boundary of the words, positive: {after.word_boundaries[0]:.4f}\n" in out
    assert f"  F1 {value:.2f} ({low:.2f} to {high:.2f}), precision " in out
    assert f" on 12 marked documents with {record['marked_words'][0]} such words" in out
    card = Path("model/README.md").read_text()
    assert "some were used to set the boundary" in card


def test_suggest_writes_words_on_lines_or_to_standard_output(
    work: Path, cli: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = cli("suggest", "model", "reviews.dev.jsonl", "-n", "3")
    assert [json.loads(line)["marked"] for line in printed.splitlines()] == [False] * 3
    assert printed == cli("suggest", "model", "reviews.dev.jsonl", "-n", "3", "--out", "-")
    assert printed != cli("suggest", "model", "reviews.dev.jsonl", "-n", "3", "--seed", "5")
    cli("suggest", "model", "reviews.dev.jsonl", "-n", "3", "--out", "mark.conll")
    lines = Path("mark.conll").read_text().splitlines()
    assert lines[0] == f"# id = {json.loads(printed.splitlines()[0])['id']}"
    assert lines[2] == "# marked = false"
    assert lines[3].split("\t")[1] in ("0", "1")
    assert cli("suggest", "model", "reviews.dev.jsonl", "-n", "3", "--as", "conll").splitlines() == lines
    Path("done.conll").write_text(
        "\n".join(lines).replace("marked = false", "marked = true").replace("\t0", "\t1")
    )
    told = cli("boundary", "model", "done.conll")
    assert "3 documents are too few to tell how well it does; mark more" in told
    assert "(0" not in told  # no interval


def test_suggest_never_writes_over_what_a_person_has_marked(
    work: Path, cli: Verb, fails: Callable[..., str]
) -> None:
    for name, before, after in (
        ("mark.jsonl", '"marked": false', '"marked": true'),
        ("mark.conll", "# marked = false", "# marked = true"),
    ):
        cli("suggest", "model", "reviews.dev.jsonl", "-n", "3", "--out", name)
        cli("suggest", "model", "reviews.dev.jsonl", "-n", "2", "--out", name)  # nobody has marked it yet
        marked = Path(name).read_text().replace(before, after, 1)
        assert marked != Path(name).read_text()
        Path(name).write_text(marked)
        told = fails("suggest", "model", "reviews.dev.jsonl", "-n", "2", "--out", name)
        assert f"{name} has documents whose words a person has marked; write to another file" in told
        assert Path(name).read_text() == marked


def test_documents_of_one_class_set_no_boundary(work: Path, fails: Callable[..., str]) -> None:
    before = Path("model/model.json").read_bytes()
    lines = Path("reviews.dev.jsonl").read_text().splitlines()
    for label in ("positive", "negative"):
        own = [line for line in lines if json.loads(line)["label"] == label]
        Path("alike.jsonl").write_text("\n".join(own))
        told = fails("boundary", "model", "alike.jsonl", "--by", "documents")
        assert f"these documents ({len(own)}) tell too little: give some of every class" in told
    assert Path("model/model.json").read_bytes() == before


def test_bad_requests_get_one_line(work: Path, fails: Callable[..., str]) -> None:
    pool = "reviews.dev.jsonl"
    assert "--count is 0; it must be 1 or more" in fails("suggest", "model", pool, "-n", "0")
    assert "--seed is -1" in fails("suggest", "model", pool, "--seed", "-1")
    assert "--as is jsonl or conll, not 'csv'" in fails("suggest", "model", pool, "--as", "csv")
    assert "the command reads it" in fails("suggest", "model", pool, "--out", pool)
    assert "none.csv" in fails("suggest", "model", "none.csv")
    Path("bare.jsonl").write_text('{"text": "so so", "token_labels": [0, 0]}\n')
    assert "no word of these 1 documents is marked 'positive'" in fails("boundary", "model", "bare.jsonl")
    Path("some.jsonl").write_text(
        '{"text": "so so", "token_labels": [0, 1]}\n{"text": "so", "label": "positive"}\n'
    )
    assert "some.jsonl:2: a boundary by the labels of tokens needs them" in fails(
        "boundary", "model", "some.jsonl"
    )
