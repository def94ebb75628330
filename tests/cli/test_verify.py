"""exaudit verify, support repair, and errors that fit on a screen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import LONGEST, _fail, run
from exaudit.cli.panics import without_panics

Cli = Callable[..., str]
OLD = Path(__file__).parents[1] / "model" / "written_by_0_1" / "frozen"


@pytest.fixture
def fitted(built: Path, cli: Cli) -> Path:
    cli("knn", "fit", "model", "reviews.dev.jsonl", "-k", "3", "--epochs", "2")
    cli("admission", "fit", "model", "reviews.dev.jsonl")
    return built / "model"


def test_a_whole_folder(fitted: Path, cli: Cli) -> None:
    lines = cli("verify", "model").splitlines()
    assert [line.split()[0] for line in lines] == ["whole"] * 5
    assert "60 documents" in lines[2]
    findings = json.loads(cli("verify", "model", "--json"))
    assert [finding["part"] for finding in findings] == [
        "model.json",
        "weights and encoder",
        "support set",
        "knn.json",
        "admission.json",
    ]


def test_a_support_set_that_is_not_there(work: Path, cli: Cli, fails: Cli) -> None:
    assert "support set" not in cli("verify", "model")  # it has none
    told = fails("verify", "model", "--support", "nowhere")
    assert told == "exaudit: nowhere: there is no support set here; check --support\n"


@pytest.mark.filterwarnings("ignore::exaudit.errors.ModelWarning")  # of settings that are gone
def test_a_folder_of_0_1(tmp_path: Path, cli: Cli) -> None:
    shutil.copytree(OLD, tmp_path / "old")
    told = cli("verify", str(tmp_path / "old"))
    assert told.count("whole ") == 5
    assert told.count("0.1 gave it no checksum") == 3


def change_number(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_every_damaged_part_is_told(
    fitted: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change_number(fitted / "knn.json", '"k": 3', '"k": 2')
    change_number(fitted / "admission.json", '"use_count": false', '"use_count": true')
    for file in (fitted / "support" / "exemplars.lance" / "data").glob("*"):
        file.write_bytes(file.read_bytes()[:100])
    capsys.readouterr()
    assert run(["verify", "model"]) == 1
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()] == ["whole", "whole", *["DAMAGED"] * 3]
    assert "run `exaudit knn fit` again" in told.out
    assert told.err == "exaudit: model is damaged: support set, knn.json, admission.json\n"


def test_changed_numbers_are_noticed_where_they_are_read(fitted: Path, fails: Cli) -> None:
    for name, old, new in [
        ("admission.json", '"kind": "both"', '"kind": "distance"'),
        ("knn.json", '"k": 3', '"k": 2'),
        ("model.json", '"by_tokens": false', '"by_tokens": true'),
    ]:
        kept = (fitted / name).read_text()
        change_number(fitted / name, old, new)
        told = fails("label", "model", "reviews.test.jsonl", "--admit")
        assert f"{name} is damaged" in told
        (fitted / name).write_text(kept)


def test_a_file_that_was_fitted_is_missed(fitted: Path, fails: Cli, cli: Cli) -> None:
    (fitted / "knn.json").unlink()
    assert "knn.json is missing" in fails("audit", "model", "a great film", "--token", "0")
    cli("knn", "fit", "model", "reviews.dev.jsonl", "-k", "3", "--epochs", "2")
    cli("audit", "model", "a great film", "--token", "0")


def test_repair(built: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(cli("support", "repair", "model", "--dry-run", "--json"))["documents"] == 60
    assert not (built / "model" / "support.damaged-1").exists()
    cli("support", "repair", "model")
    assert (built / "model" / "support.damaged-1").is_dir()
    assert "60 documents" in cli("support", "verify", "model")


def test_a_folder_without_a_support_set_is_not_repaired(work: Path, fails: Cli) -> None:
    for place in ("nowhere", "model", "reviews.test.jsonl"):
        told = fails("support", "repair", "model", "--support", place)
        assert told.startswith(f"exaudit: {place}: there is no support set here, nor the log of one")
    assert not list(work.glob("*.damaged-*"))


def test_an_error_fits_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fail(f"what is wrong {'word ' * 100_000} and what to do") == 1
    line = capsys.readouterr().err
    assert line.startswith("exaudit: what is wrong word")
    assert line.endswith("and what to do\n")
    assert len(line) < LONGEST + 20
    _fail("short\nand clear")
    assert capsys.readouterr().err == "exaudit: short and clear\n"


def test_a_panic_is_held_back(capfd: pytest.CaptureFixture[str]) -> None:
    with without_panics():
        os.write(2, b"a library says this\n")
        sys.stderr.write(
            "and we say that\n"
        )  # in one piece: print would write the end of the line on its own
        os.write(2, b"\nthread 'x' (1) panicked at lib.rs:1:1:\nleft: 1\nright: 2\n")
    sys.stderr.write("all is as before\n")
    os.write(2, b"for all\n")
    told = capfd.readouterr().err
    assert "a library says this\n" in told
    assert "and we say that\n" in told
    assert "panicked" not in told
    assert "left" not in told
    assert told.endswith("all is as before\nfor all\n")


def test_without_a_standard_error() -> None:
    command = [sys.executable, "-m", "exaudit", "--version"]
    told = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], capture_output=True, text=True)
    assert told.returncode == 0
    assert told.stdout.startswith("exaudit ")


def test_a_panic_that_nobody_expected(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    panic = type("PanicException", (BaseException,), {})

    def load(*_: object, **__: object) -> None:
        raise panic("somewhere")

    monkeypatch.setattr("exaudit.model.folder.load_model", load)
    assert run(["label", "model", "reviews.test.jsonl"]) == 1
    assert capsys.readouterr().err.startswith("exaudit: a file is damaged")
