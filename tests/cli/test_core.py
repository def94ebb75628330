"""The verbs of the core, as a user types them: files in, files out, one clear line for every mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from exaudit.cli import run
from exaudit.cli.train import _closing, _kept
from exaudit.data.sample import write_sample
from exaudit.model.folder import load_model
from exaudit.model.settings import INHERITED
from tiny import tiny_bert

SMALL = [
    "--encoder",
    "none",
    "--filters",
    "20",
    "--vocabulary",
    "300",
    "--word-dimension",
    "16",
    "--epochs",
    "3",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_sample(folder, seed=1, sizes={"train": 120, "dev": 40, "test": 40})
    return folder


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    out = data / "model"
    train = [str(data / "learner.train.tsv"), "--dev", str(data / "learner.dev.tsv"), "--out", str(out)]
    assert run(["train", *train, *SMALL]) == 0
    return out


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail: one line on standard error, nothing on standard output, no traceback."""
    capsys.readouterr()
    status = run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    lines = err.strip().splitlines()
    assert status != 0
    assert out == ""
    assert "Traceback" not in err
    assert lines[-1].startswith("exaudit: ")
    return lines[-1]


def test_train_label_evaluate(
    data: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labelled.jsonl"
    assert run(["label", str(model), str(data / "learner.test.tsv"), "--out", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 40
    assert set(lines[0]) == {"id", "label", "score", "scores", "tokens"}
    assert set(lines[0]["tokens"][0]) == {"text", "start", "end", "score", "scores", "label", "evidence"}
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data / "learner.test.tsv"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"document", "token"}
    assert set(result["document"]) == {"accuracy", "precision", "recall", "f1", "mcc"}
    assert set(result["token"]) == {"precision", "recall", "f1", "f0.5", "mcc"}
    assert result["document"]["accuracy"] == pytest.approx(
        sum(line["label"] == t for line, t in zip(lines, _labels(data / "learner.test.tsv"), strict=True))
        / 40
    )
    assert load_model(model, device="cpu").labels.names == ("c", "i")


def _labels(path: Path) -> list[str]:
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return ["i" if any(line.endswith("\ti") for line in block.splitlines()) else "c" for block in blocks]


def test_evaluate_prints_baselines_and_intervals(
    data: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data / "learner.test.tsv"), "--ci"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("random", "majority", "95% ci", "f0.5"))


@pytest.mark.parametrize("loss", ["min-max", "token"])
def test_fine_tuning_from_a_folder(data: Path, model: Path, tmp_path: Path, loss: str) -> None:
    out = tmp_path / "tuned"
    files = [str(data / "learner.train.tsv"), "--dev", str(data / "learner.dev.tsv")]
    assert (
        run(["train", *files, "--init", str(model), "--loss", loss, "--epochs", "2", "--out", str(out)]) == 0
    )
    tuned, first = (load_model(folder, device="cpu") for folder in (out, model))
    assert tuned.by_tokens
    assert all(getattr(tuned.settings, name) == getattr(first.settings, name) for name in INHERITED)
    assert tuned.settings.filters == tuned.head.config.filters
    assert not (tmp_path / "tuned.partial").exists()


def test_tables_columns_and_positive(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "mail.csv"
    table.write_text(
        "body,kind\n" + "".join(f"word{i} pay now {i},spam\nhello friend {i},ham\n" for i in range(20))
    )
    train = ["train", str(table), "--label-column", "kind", *SMALL, "--out"]
    assert run([*train, str(tmp_path / "m")]) == 0
    assert "the words of 'spam' are marked" in capsys.readouterr().err  # neither name tells
    assert load_model(tmp_path / "m", device="cpu").labels.names == ("ham", "spam")
    assert run([*train, str(tmp_path / "other"), "--positive", "ham"]) == 0
    assert "are marked" not in capsys.readouterr().err
    assert load_model(tmp_path / "other", device="cpu").labels.names == ("spam", "ham")


def test_dev_documents_of_one_class_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f'{{"text": "good day {i}", "label": "pos"}}\n{{"text": "bad day {i}", "label": "neg"}}\n'
        for i in range(20)
    ]
    (tmp_path / "train.jsonl").write_text("".join(lines))
    (tmp_path / "dev.jsonl").write_text("".join(f'{{"text": "bad {i}", "label": "neg"}}\n' for i in range(5)))
    train = ["train", str(tmp_path / "train.jsonl"), *SMALL, "--out", str(tmp_path / "m")]
    assert run([*train, "--dev", str(tmp_path / "dev.jsonl")]) == 0
    assert "warning: all dev documents are of class 'neg'" in capsys.readouterr().err
    assert run([*train, "--overwrite"]) == 0
    assert "all dev documents" not in capsys.readouterr().err


def test_boundary_is_stored_and_put_back(data: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for by in ("tokens", "documents"):
        file = str(data / "learner.dev.tsv")
        assert run(["boundary", str(model), file, "--documents", "30", "--by", by]) == 0
        (stored,) = load_model(model, device="cpu").word_boundaries
        assert f"i: {stored:.4f}" in capsys.readouterr().out
    assert run(["boundary", str(model), file, "--by", "f0.5"]) == 0
    few = load_model(model, device="cpu")
    assert run(["boundary", str(model), "--by", "f1"]) == 0  # found at the same time
    more = load_model(model, device="cpu")
    assert more.word_boundaries[0] <= few.word_boundaries[0]
    assert more.confidence == few.confidence is not None
    assert run(["boundary", str(model), "--by", "f1", "--beta", "1"]) == 1
    assert "--by f1 says which F-score to raise: leave out --beta" in capsys.readouterr().err
    assert run(["boundary", str(model), "--by", "zero"]) == 0
    assert load_model(model, device="cpu").word_boundaries == (0.0,)


def test_data_check_and_sample(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", str(data / "reviews.train.csv")]) == 0
    assert "120" in capsys.readouterr().out
    bad = tmp_path / "bad.csv"
    bad.write_text("text,label\nfine,positive\n,negative\nfine,positive\n")
    run(["data", "check", str(bad), "--json"])
    json.loads(capsys.readouterr().out)
    assert run(["data", "sample", str(tmp_path / "sample")]) == 0
    assert (tmp_path / "sample" / "learner.test.tsv").exists()


def test_cache_is_used_shown_and_cleared(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = tiny_bert(tmp_path / "bert")
    cache = tmp_path / "cache"
    arguments = ["train", str(data / "reviews.train.csv"), "--encoder", str(encoder), "--cache", str(cache)]
    small = ["--filters", "8", "--vocabulary", "0", "--epochs", "1"]
    assert run([*arguments, *small, "--out", str(tmp_path / "a")]) == 0
    shards = {p: p.stat().st_ino for p in cache.rglob("*.safetensors")}
    assert shards
    assert run([*arguments, *small, "--seed", "1", "--out", str(tmp_path / "b")]) == 0
    assert {p: p.stat().st_ino for p in cache.rglob("*.safetensors")} == shards
    capsys.readouterr()
    assert run(["cache", "show", "--folder", str(cache)]) == 0
    assert "shards" in capsys.readouterr().out
    assert run(["cache", "clear", "--folder", str(cache)]) == 0
    assert not list(cache.rglob("*.safetensors"))


def test_a_cache_without_a_name_is_none(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_bert(tmp_path / "bert")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    arguments = ["train", str(data / "reviews.train.csv"), "--encoder", str(encoder), "--cache", ""]
    small = ["--filters", "8", "--vocabulary", "0", "--epochs", "1"]
    assert run([*arguments, *small, "--out", "model"]) == 0
    assert [p.name for p in Path().iterdir()] == ["model"]


def test_wrong_files_and_options_get_one_line(
    data: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, binary = tmp_path / "empty.csv", tmp_path / "binary.csv"
    empty.write_text("")
    binary.write_bytes(bytes(range(256)) * 20)
    plain = tmp_path / "plain.csv"
    plain.write_text("text,label\na b,c\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "model.json").write_text((model / "model.json").read_text())
    (broken / "head.safetensors").write_bytes((model / "head.safetensors").read_bytes()[:100])
    test = data / "learner.test.tsv"
    out = tmp_path / "out"
    cases: list[tuple[list[object], str]] = [
        (["train", tmp_path / "none.csv", "--out", out], "none.csv"),
        (["train", empty, "--out", out, *SMALL], "empty"),
        (["train", binary, "--out", out, *SMALL], "binary.csv"),
        (["train", tmp_path, "--out", out, *SMALL], str(tmp_path)),
        (
            ["train", test, "--out", model, *SMALL],
            "holds a model already; choose another place, or give --overwrite",
        ),
        (["train", test, "--out", out, *SMALL, "--resume"], "nothing to resume"),
        (["train", test, "--out", out, *SMALL, "--loss", "huge"], "huge"),
        (["train", test, "--out", out, *SMALL, "--widths", "a"], "--widths"),
        (["train", test, "--out", out, "--encoder", tmp_path / "no-encoder"], "no-encoder"),
        (["train", test, "--out", out, *SMALL, "--device", "quantum"], "quantum"),
        (["label", tmp_path / "nothing", test], "nothing"),
        (["label", broken, test], "head.safetensors"),
        (["label", model, tmp_path / "none.jsonl"], "none.jsonl"),
        (["label", model, test, "--out", tmp_path / "no" / "folder.jsonl"], "folder"),
        (["evaluate", model, empty], "empty"),
        (["data", "check", tmp_path / "none.csv"], "none.csv"),
        (["frobnicate"], "frobnicate"),
        (
            ["train", test, "--out", out, "--init", model, "--word-dimension", "8"],
            "--word-dimension cannot go with --init: the model to go on from has its own",
        ),
        (["train", test, "--out", out, *SMALL, "--pretrain"], "--pretrain goes with --tune-encoder"),
        (
            ["train", test, "--out", out, *SMALL, "--tune-encoder"],
            "--tune-encoder cannot go with --encoder none",
        ),
        (
            ["train", test, "--out", out, *SMALL, "--boundary", "here"],
            "--boundary is f0.5, f1, documents or zero, not 'here'",
        ),
        (["train", plain, "--out", out, *SMALL], "name another column with --label-column"),
        (["train", test, "--out", tmp_path, *SMALL, "--overwrite"], "replaces only what it wrote"),
        (["boundary", model], "give a FILE to set the boundary by, or --by f1, --by f0.5 or --by zero"),
        (["boundary", model, test, "--by", "zero"], "a boundary at zero needs no FILE"),
        (["boundary", model, test, "--beta", "-1"], "--beta is -1.0; it must be above 0"),
        (["boundary", model, test, "--documents", "-5"], "--documents is -5"),
        (["train", test], "--out"),
    ]
    for arguments, expected in cases:
        assert expected in fails(capsys, *arguments), arguments
        assert not out.exists(), arguments
        assert not (tmp_path / "out.partial").exists(), arguments


def test_pre_training_that_was_dropped_is_told() -> None:
    pretraining = {"dev_order": 0.55, "needed": 0.6, "kept": False}
    assert _kept({"tuning": {"pretraining": pretraining}, "history": {"best": 2}}) == (
        "pre-training on synthetic errors dropped (55.0% of pairs of dev documents in the right order, less than 60%; "
        "--pretrain keeps it), kept epoch 2"
    )
    tried = {"dev_order": 0.548, "needed": 0.55, "kept": False, "trial_alone": True}
    assert _kept({"tuning": {"pretraining": tried}, "history": {"best": 2}}) == (
        "pre-training on synthetic errors dropped after a trial (54.8% of pairs of dev documents in the right order, "
        "less than 55%; --pretrain does it in full), kept epoch 2"
    )


def test_train_warns_where_the_dev_documents_got_worse(model: Path) -> None:
    kept = load_model(model, device="cpu")
    initial = {"loss": "document", "dev": {"document": {"f1": kept.record["dev"]["document"]["f1"] + 0.02}}}
    worse = replace(kept, record={**kept.record, "initial": initial})
    assert any(line.startswith("warning: the dev documents are decided worse") for line in _closing(worse))
    assert not any("decided worse" in line for line in _closing(kept))


def test_train_ends_with_what_is_known_of_the_words(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(data / "learner.train.tsv"), "--dev", str(data / "learner.dev.tsv")]
    assert run(["train", *files, "--out", str(tmp_path / "model"), *SMALL]) == 0
    lines = capsys.readouterr().err.splitlines()
    (found,) = (line for line in lines if line.startswith("words: "))
    assert "are flagged in dev documents of class 'i'" in found
    assert found == next(
        line for line in _closing(load_model(tmp_path / "model", device="cpu")) if "words: " in line
    )


def test_an_overwritten_model_and_its_support_set(
    data: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    shutil.copytree(model, out)
    (out / "support").mkdir()
    arguments = [str(data / "learner.train.tsv"), "--out", str(out), *SMALL, "--overwrite"]
    (tmp_path / "model.partial").mkdir()
    (tmp_path / "model.partial" / "checkpoint.safetensors").write_text("of a run that was stopped")
    wrong = [str(tmp_path / "none.tsv"), *arguments[1:]]
    assert run(["train", *wrong]) == 1  # before the input is known to be there, nothing goes
    assert (tmp_path / "model.partial" / "checkpoint.safetensors").exists()
    assert run(["train", *arguments]) == 0
    assert "with its support set, is now" in capsys.readouterr().err
    assert (tmp_path / "model.bak-1" / "support").is_dir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.bak-1"]
    (out / "support").mkdir()
    assert run(["train", *arguments, "--no-backup"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.bak-1"]
    assert not (out / "support").exists()


def test_the_demo_replaces_only_its_own_models(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(model, tmp_path / "demo" / "model")
    said = fails(capsys, "demo", "--out", tmp_path / "demo")
    assert "holds a model that the demo did not make; choose another --out" in said
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["model"]


def test_help_shows_a_dozen_everyday_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--help"]) == 0
    text = capsys.readouterr().out
    panels = text.split("╭─ ")
    everyday = next(panel for panel in panels if panel.startswith("Options"))
    assert len(re.findall(r"(?m)^│ \*?\s*--", everyday)) <= 12
    assert {"Encoder", "Head", "Training", "Decisions", "Reading"} <= {
        panel.split()[0] for panel in panels[1:]
    }


def test_a_full_disk_leaves_nothing_half_written(
    data: Path,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "labelled.jsonl"
    assert "disk is full" in fails(capsys, "label", model, data / "learner.test.tsv", "--out", out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "out of memory; try"),
        (torch.OutOfMemoryError("CUDA"), "the GPU is out of memory; try"),
    ],
)
def test_too_little_memory(
    error: Exception,
    told: str,
    model: Path,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr("exaudit.model.model.Model.iter_label", full)
    out = tmp_path / "labelled.jsonl"
    assert told in fails(capsys, "label", model, data / "learner.test.tsv", "--out", out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_weights(data: Path, tmp_path: Path) -> None:
    files = [str(data / "learner.train.tsv"), "--dev", str(data / "learner.dev.tsv")]
    settings = [*SMALL[:-2], "--epochs", "40"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(["train", *files, *settings, "--out", str(whole)]) == 0
    command = [sys.executable, "-m", "exaudit", "train", *files, *settings, "--out", str(killed)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    checkpoint = tmp_path / "killed.partial" / "checkpoint.safetensors"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not killed.exists()
    assert checkpoint.exists()
    assert run(["train", *files, *settings, "--out", str(killed), "--resume"]) == 0
    assert (whole / "head.safetensors").read_bytes() == (killed / "head.safetensors").read_bytes()


@pytest.mark.slow
def test_interrupt_is_one_line_and_keeps_the_checkpoint(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    settings = [*SMALL[:-2], "--epochs", "5000"]
    # A shell that started the tests in the background has switched Ctrl-C off for them and their children.
    code = "from signal import *; signal(SIGINT, default_int_handler); from exaudit.cli import main; main()"
    arguments = ["train", str(data / "learner.train.tsv"), *settings, "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    checkpoint = tmp_path / "model.partial" / "checkpoint.safetensors"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1] == "exaudit: interrupted"
    assert "--resume" in err
    assert not out.exists()


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert "exaudit 0." in capsys.readouterr().out
    assert run(["--help"]) == 0
    assert "train" in capsys.readouterr().out
    for alone in ([], ["support"], ["data"]):
        assert run(alone) == 0
        told = capsys.readouterr()
        assert "Usage: exaudit" in told.out
        assert told.out.count("\n") > 10  # not in one line
        assert told.err == ""
