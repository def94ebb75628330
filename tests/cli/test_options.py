"""Options without sense or without effect are refused before any work is done, and so is what is no file."""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.model.folder import load_model, save_model

Cli = Callable[..., str]

TRAIN = "train reviews.train.jsonl --out new --encoder none --epochs 1"
COMPARE = "compare reviews.test.jsonl reviews.dev.jsonl --encoder none"

# What is asked for, and a part of what is told.
NO_SENSE = {
    f"{TRAIN} --epochs 0": "--epochs is 0; it must be 1 or more",
    f"{TRAIN} --epochs -3": "--epochs is -3; it must be 1 or more",
    f"{TRAIN} --batch-size 0": "--batch-size is 0; it must be 1 or more",
    f"{TRAIN} --learning-rate 0": "--learning-rate is 0.0; it must be above 0",
    f"{TRAIN} --learning-rate nan": "--learning-rate is nan",
    f"{TRAIN} --learning-rate inf": "--learning-rate is inf",
    f"{TRAIN} --dropout 2": "--dropout is 2.0; it must be at least 0 and below 1",
    f"{TRAIN} --dropout nan": "--dropout is nan",
    f"{TRAIN} --filters 0": "--filters is 0; it must be 1 or more",
    f"{TRAIN} --widths 0": "--widths are [0]; give widths of 1 or more",
    f"{TRAIN} --widths 5-3": "--widths are []",
    f"{TRAIN} --vocabulary -1": "--vocabulary is -1; it must be 0 or more",
    f"{TRAIN} --word-dimension 0": "--word-dimension is 0; it must be 1 or more",
    f"{TRAIN} --max-length 0": "--max-length is 0; it must be 1 or more",
    f"{TRAIN} --seed -1": "--seed is -1; it must be 0 or more",
    f"{TRAIN} --pool mean": "--pool is 'mean'; use max or none",
    f"{TRAIN} --select auc": "cannot choose the epoch by 'auc'",
    f"{TRAIN} --loss mse": "unknown loss 'mse'",
    f"{TRAIN} --recipe fast": "unknown recipe 'fast'",
    f"{TRAIN} --min-max padded": "--min-max goes with --loss min-max, not with --loss document; leave it out",
    f"{TRAIN} --loss min-max --min-max zero": "--min-max is 'zero'; use one of words, padded",
    f"{TRAIN} --word-vectors nowhere.txt": "nowhere.txt",
    f"{COMPARE} --epochs 0": "--epochs is 0",
    f"{COMPARE} --filters 0": "--filters is 0",
    f"{COMPARE} --seed -1": "--seed is -1",
    "boundary model reviews.dev.jsonl --beta -1": "--beta is -1.0; it must be above 0",
    "boundary model reviews.dev.jsonl --beta nan": "--beta is nan",
    "boundary model reviews.dev.jsonl --beta inf": "--beta is inf",
    "boundary model reviews.dev.jsonl --documents -5": "--documents is -5",
    "boundary model reviews.dev.jsonl --by words": "not 'words'",
    "admission fit model reviews.dev.jsonl --kind near": "--kind is 'near'",
    "report model reviews.test.jsonl --out new.txt": "choose --as html, md, json",
    "features model reviews.test.jsonl --ngrams 0": "--ngrams is '0'",
    "audit model good --token -1": "there is no token -1",
    "cache show --folder nowhere": "there is no folder nowhere",
    "cache clear --folder nowhere": "there is no folder nowhere",
}
OUT_OF_RANGE = [
    "audit model good --k 0",
    "knn fit model reviews.dev.jsonl --k 0",
    "knn fit model reviews.dev.jsonl --epochs -1",
    "knn fit model reviews.dev.jsonl --seed -1",
    "admission fit model reviews.dev.jsonl --quantile 2",
    "admission fit model reviews.dev.jsonl --quantile -0.5",
    "demo --out new --epochs 0",
    "demo --out new --seed -1",
    "reproduce fce --sample --out new --epochs 0",
]
NO_EFFECT = {
    f"{TRAIN} --layers 1,2": "--layers is about an encoder, and --encoder none has none",
    f"{TRAIN} --max-length 5": "--max-length is about an encoder",
    f"{TRAIN} --precision auto": "--encoder none runs no encoder: --precision has no effect",
    f"{TRAIN} --cache here": "--cache has no effect",
    f"{TRAIN} --tune-encoder": "--tune-encoder cannot go with --encoder none",
    f"{TRAIN} --pretrain": "--pretrain goes with --tune-encoder",
    f"{TRAIN} --no-backup": "without --overwrite no model is replaced: --no-backup has no effect",
    f"{TRAIN} --backup": "--backup has no effect",
    f"{TRAIN} --vocabulary 0 --word-dimension 8": "--vocabulary 0 leaves word embeddings out: --word-dimension has no",
    f"{TRAIN} --vocabulary 0 --word-vectors x": "--vocabulary 0 has none",
    f"{TRAIN} --word-vectors x --word-dimension 8": "--word-vectors have a width of their own: --word-dimension has no",
    f"{TRAIN} --loss min-max --boundary documents": "--boundary documents goes with --loss document",
    "train reviews.train.jsonl --out new --init model --filters 5": "--filters cannot go with --init",
    "train t.csv --out new --tune-encoder --vocabulary 5": "--tune-encoder leaves word embeddings out: --vocabulary",
    "train t.csv --out new --encoder none --select token-f0.5": "--select token-f0.5 needs token labels",
    f"{COMPARE} --max-length 5": "--max-length is about an encoder",
    "boundary model --by zero --beta 1": "without a FILE there are no documents: leave out --beta",
    "boundary model --by zero --documents 3": "leave out --beta, --documents",
    "boundary model --by zero --format csv": "without a FILE there are no documents",
    "label model reviews.test.jsonl --support nowhere": "--support is about the support set, which only --rule, --knn",
    "label model reviews.test.jsonl --stream": "--stream is about the support set",
    "label model reviews.test.jsonl --rule exag --support nowhere": "nowhere: there is no support set here",
    "evaluate model reviews.test.jsonl --support nowhere": "--support is about the support set",
    "evaluate model reviews.test.jsonl --stream": "--stream is about the support set",
    "evaluate model reviews.test.jsonl --knn --support nowhere": "nowhere: there is no support set here",
    "audit model good --support nowhere": "nowhere: there is no support set here",
    "audit model good --format csv": "the options of reading files go with a file",
    "audit model good --id 7": "--id goes with a file",
    "report model reviews.test.jsonl --out new --as md --support nowhere": "nowhere: there is no support set here",
    "reliability model reviews.test.jsonl --out new --as md --support nowhere": "nowhere: there is no support set",
    "support add model more.jsonl --rule exag": "--rule is about the preview",
    "support remove model x --rule knn": "--rule is about the preview",
    "support relabel model x --label positive --rule knn": "--rule is about the preview",
    "support tag model x --delete --version 1": "--version is about a new name",
    "support build model support.jsonl --dtype float16": "keeps its vectors as float32; leave out --dtype",
    "support build model support.jsonl --dtype int8": "leave out --dtype",
}
NO_FILE = {
    "audit model revews.jsonl": "'revews.jsonl' looks like the name of a file, and there is no such file",
    "audit model data/x": "'data/x' looks like the name of a file",
    "audit model model": "'model' is a folder; give a file of documents (or, if it is the text to audit, add --text)",
    "audit model https://example.org/a.csv": "is a web address; exaudit reads files on this machine",
    "data check nowhere.csv": "nowhere.csv: there is no such file",
    "data check https://example.org/a.csv": "https://example.org/a.csv: this is a web address; exaudit reads files on",
    "label model http://example.org/a.csv": "http://example.org/a.csv: this is a web address",
    "train s3://bucket/a.csv --out new": "s3://bucket/a.csv: this is a web address",
    "label model model": "many files are labelled into a folder; name it with --out",
    "label model .": "name it with --out",
    "label model - --format parquet": "-: standard input is read as text; save parquet to a file",
}


@pytest.fixture(scope="module")
def place(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a support set, which no test changes."""
    import shutil

    folder = tmp_path_factory.mktemp("options")
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    lines = (folder / "reviews.train.jsonl").read_text().splitlines(keepends=True)
    (folder / "support.jsonl").write_text("".join(lines[:30]))
    (folder / "more.jsonl").write_text("".join(lines[60:70]))
    (folder / "t.csv").write_text("text,label\n" + 10 * "a b,x\nc d,y\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["support", "build", "model", "support.jsonl"]) == 0
    return folder


def told(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The status of a command that must leave nothing behind, and its last line."""
    capsys.readouterr()
    status = run(command.split())
    said = capsys.readouterr()
    assert said.out == ""
    assert not Path("new").exists()
    assert not Path("new.partial").exists()
    return status, said.err.splitlines()[-1]


@pytest.mark.parametrize(("command", "message"), (NO_SENSE | NO_EFFECT | NO_FILE).items())
def test_refused(
    place: Path,
    command: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    status, line = told(command, capsys)
    assert status == 1
    assert line.startswith("exaudit: ")
    assert message in line


@pytest.mark.parametrize("command", OUT_OF_RANGE)
def test_out_of_range(
    place: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    status, line = told(command, capsys)
    assert status == 2
    assert f"{command.split()[-2]}'" in line  # names the option


def test_a_text_that_looks_like_a_file(built: Path, cli: Cli, fails: Cli) -> None:
    assert "--text" in fails("audit", "model", "and/or")
    assert cli("audit", "model", "and/or", "--text").startswith("and/or\n")
    assert "He/she" in cli("audit", "model", "He/she was great .")  # a text has spaces
    assert "--id goes with a file" in fails("audit", "model", "support.jsonl", "--text", "--id", "1")


@pytest.mark.parametrize("verb", ["label model", "evaluate model", "data check", "audit model"])
def test_standard_input_is_read_wherever_a_file_is(
    built: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    lines = Path("reviews.test.jsonl").read_bytes().splitlines(keepends=True)
    content = b"".join(lines[:1] if verb == "audit model" else lines)
    Path("some.jsonl").write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    piped, named = cli(*verb.split(), "-"), cli(*verb.split(), "some.jsonl")
    assert piped.removeprefix("-") == named.removeprefix("some.jsonl")


def test_documents_without_a_label(work: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Path("reviews.test.csv").read_text().splitlines()
    header, label = rows[0], rows[0].split(",").index("label")
    assert label == len(rows[0].split(",")) - 1
    rows = [row.rpartition(",")[0] + ",nan" if n in (3, 7) else row for n, row in enumerate(rows)]
    Path("holes.csv").write_text("\n".join([header, *rows[1:]]) + "\n")
    for verb in (
        ["evaluate", "model", "holes.csv"],
        ["train", "holes.csv", "--out", "new", "--encoder", "none"],
    ):
        capsys.readouterr()
        assert run(verb) == 1
        said = capsys.readouterr().err
        assert "holes.csv:4: 2 of 30 documents have no label (lines 4, 8)" in said
        assert "leave such documents out with --skip-unlabelled" in said
    Path("whole.csv").write_text("\n".join([row for row in rows if not row.endswith(",nan")]) + "\n")
    skipped = cli("evaluate", "model", "holes.csv", "--skip-unlabelled", "--json")
    assert skipped == cli("evaluate", "model", "whole.csv", "--json")
    run(["evaluate", "model", "holes.csv", "--skip-unlabelled"])
    assert "a document has no label; skipped (2 times: lines 4, 8)" in capsys.readouterr().err


def test_labels_in_another_case(work: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    plain = cli("evaluate", "model", "reviews.test.csv", "--json")
    rows = Path("reviews.test.csv").read_text().splitlines()
    loud = [row.replace(",positive", ",POSITIVE") for row in rows[1:]]
    assert loud != rows[1:]
    Path("loud.csv").write_text("\n".join([rows[0], *loud]) + "\n")
    assert cli("evaluate", "model", "loud.csv", "--json") == plain


def test_what_is_no_number_is_never_written(work: Path, fails: Cli) -> None:
    model = load_model(Path("model"), device="cpu")
    model.head.weight.data[:] = math.nan
    save_model(model, Path("bad"))
    Path("one.jsonl").write_text('{"text": "good food", "label": "positive"}\n')
    assert "a figure is not a number" in fails("label", "bad", "one.jsonl", "--out", "labelled.jsonl")
    assert not Path("labelled.jsonl").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("label model reviews.test.jsonl --encoding \udcff", "there is no encoding"),
        ("support tag model \udcff", "is not UTF-8 and cannot be kept in the log"),
        ("support tag model name --author \udcff", "is not UTF-8 and cannot be kept in the log"),
        ("support remove model reviews-0-1 --reason \udcff", "is not UTF-8 and cannot be kept in the log"),
        ("support add model more.jsonl --id-prefix \udcff", "--id-prefix is not UTF-8; give another one"),
        (
            "support build model more.jsonl --replace --id-prefix \udcff",
            "--id-prefix is not UTF-8; give another one",
        ),
    ],
)
def test_options_that_are_not_utf_8(built: Path, fails: Cli, command: str, message: str) -> None:
    before = (built / "model/support/head.json").read_bytes()
    assert message in fails(*command.split())
    assert (built / "model/support/head.json").read_bytes() == before


def test_a_refused_run_leaves_no_folder(work: Path, fails: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "there").mkdir()
    for out in ("nowhere/below/new", "there/new"):
        assert run(["train", "reviews.dev.jsonl", "--encoder", "none", "--layers", "1", "--out", out]) == 1
    assert not (work / "nowhere").exists()
    assert list((work / "there").iterdir()) == []


def test_names_that_are_not_utf_8() -> None:
    """They are told as they were given, whatever the terminal makes of them."""
    name = b"a\xffb"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "exaudit", "reproduce", "list", "--data", os.fsdecode(name)]
    listed = subprocess.run(command, capture_output=True, env=environment)
    assert (listed.returncode, listed.stderr) == (0, b"")
    assert b"data in " + name in listed.stdout
