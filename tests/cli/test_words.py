"""Words from the command line: both ways of cutting, both classes, and a language that the encoder does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from exaudit.cli import run
from exaudit.model.folder import load_model

Cli = Callable[..., str]
SMALL = ("--encoder", "none", "--filters", "20", "--epochs", "1", "--device", "cpu")


def tokens_of(line: str) -> list[str]:
    return [token["text"] for token in json.loads(line)["tokens"]]


@pytest.mark.parametrize("how", ["words", "whitespace"])
def test_a_model_folder_says_how_texts_are_cut(work: Path, cli: Cli, fails: Cli, how: str) -> None:
    cli("train", "reviews.train.csv", "--out", "own", "--tokens", how, *SMALL)
    Path("new.csv").write_text("text\nHopeless.<br />Don't go!\n")
    expected = ["Hopeless", ".", "Don't", "go", "!"] if how == "words" else ["Hopeless.<br", "/>Don't", "go!"]
    assert tokens_of(cli("label", "own", "new.csv")) == expected
    wrong = fails("train", "reviews.train.csv", "--out", "next", "--init", "own", "--tokens", "words")
    assert "--tokens cannot go with --init" in wrong
    assert "--tokens is words or whitespace" in fails(
        "train", "reviews.train.csv", "--out", "x", "--tokens", "bytes"
    )


def test_check_counts_words_in_both_ways(work: Path, cli: Cli) -> None:
    Path("new.csv").write_text("text\nHopeless.<br />Don't go!\n")
    assert json.loads(cli("data", "check", "new.csv", "--json"))["tokens"] == 5
    assert json.loads(cli("data", "check", "new.csv", "--json", "--tokens", "whitespace"))["tokens"] == 3


def test_a_negative_review_is_shown_with_its_words(built: Path, cli: Cli) -> None:
    model = load_model(Path("model"), device="cpu")
    lines = [json.loads(line) for line in cli("label", "model", "reviews.test.jsonl").splitlines()]
    told = [(line, [t["text"] for t in line["tokens"] if t["evidence"] == "negative"]) for line in lines]
    assert all(t["evidence"] in (None, *model.labels.names) for line in lines for t in line["tokens"])
    line, words = next((line, words) for line, words in told if line["label"] == "negative" and words)
    shown = cli("audit", "model", "reviews.test.jsonl", "--id", line["id"], "-k", "1")
    assert all(f"{word}/negative" in shown.split("\n")[0] for word in words)
    assert "no word is flagged" not in shown
    audited = json.loads(cli("audit", "model", "reviews.test.jsonl", "--id", line["id"], "-k", "1", "--json"))
    assert set(words) <= {each["token"] for each in audited["evidence"]}
    positive = next(line for line in lines if line["label"] == "positive")
    assert "/negative" not in cli("audit", "model", "reviews.test.jsonl", "--id", positive["id"])
    cli("report", "model", "reviews.test.jsonl", "--out", "report.json")
    documents = json.dumps(json.loads(Path("report.json").read_text()))
    assert '"for_negative": [' in documents


def test_a_language_that_the_encoder_does_not_know_is_told(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = work / "latin"
    encoder.mkdir()
    letters = {"[UNK]": 0, **{letter: n for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz", 1)}}
    Tokenizer(models.WordPiece(letters, unk_token="[UNK]")).save(str(encoder / "tokenizer.json"))
    for name in ("config.json", "model.safetensors"):
        (encoder / name).write_text("{}")
    Path("ru.csv").write_text("text\na b c это кино\n")
    assert run(["data", "check", "ru.csv", "--encoder", "latin", "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["what"].startswith("40% of the words of these texts are unknown to the encoder")
    assert run(["data", "check", "ru.csv", "--encoder", "latin"]) == 0
    assert "choose another with --encoder" in capsys.readouterr().out
    assert run(["data", "check", "ru.csv", "--encoder", "no-such-encoder"]) == 0
    assert "unknown" not in capsys.readouterr().out
    Path("two.csv").write_text("text,label\nэто кино,0\nэто плохо,1\n")
    assert run(["train", "two.csv", "--out", "own", "--encoder", "latin"]) == 1  # it has no weights
    told = capsys.readouterr().err
    assert "note: 100% of the words" in told
    assert "choose another with --encoder" in told
