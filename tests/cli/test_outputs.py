"""Where --out may point: files, links, pipes and devices; and where it must not."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.cli.outputs import check_output, output
from exaudit.errors import SettingError

Cli = Callable[..., str]
LABEL = ("label", "model", "reviews.test.jsonl", "--out")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """A command line in bash, with `exaudit` in it."""
    told = command.replace("exaudit", f"{sys.executable} -m exaudit")
    return subprocess.run(["bash", "-c", told], capture_output=True, text=True, check=False)


def test_a_link_stays_and_its_file_is_replaced(work: Path, cli: Cli) -> None:
    (work / "other").mkdir()
    (work / "link.jsonl").symlink_to("other/there.jsonl")  # which does not exist yet
    for _ in range(2):
        cli(*LABEL, "link.jsonl")
        assert (work / "link.jsonl").is_symlink()
        assert len((work / "other/there.jsonl").read_text().splitlines()) == 30
    assert sorted(p.name for p in (work / "other").iterdir()) == ["there.jsonl"]


def test_a_failed_run_leaves_the_old_file(work: Path, fails: Cli) -> None:
    (work / "old.jsonl").write_text("old\n")
    (work / "bad.jsonl").write_text('{"text": "good food", "id": "a"}\n{"text": "bad food", "id": "a"}\n')
    fails("label", "model", "bad.jsonl", "--out", "old.jsonl")
    assert (work / "old.jsonl").read_text() == "old\n"
    assert not list(work.glob(".*.tmp"))


def test_a_pipe_is_written_into(work: Path, cli: Cli) -> None:
    os.mkfifo(work / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((work / "pipe").read_text()))
    reader.start()
    cli(*LABEL, "pipe")
    reader.join(timeout=30)
    assert len(found[0].splitlines()) == 30
    assert (work / "pipe").is_fifo()


def test_a_device_is_written_into(work: Path, cli: Cli, fails: Cli) -> None:
    cli(*LABEL, "/dev/null")
    assert Path("/dev/null").is_char_device()
    if Path("/dev/full").exists():
        assert "the disk is full" in fails(*LABEL, "/dev/full")


@pytest.mark.slow
def test_descriptors_and_process_substitution(work: Path, cli: Cli) -> None:
    cli(*LABEL, "all.jsonl")
    whole = (work / "all.jsonl").read_text()
    assert shell("exaudit label model reviews.test.jsonl --out /dev/stdout | cat").stdout == whole
    done = shell(
        "{ echo before; exaudit label model reviews.test.jsonl --out /dev/stdout; echo after; } > kept.jsonl"
    )
    assert done.returncode == 0, done.stderr
    assert (work / "kept.jsonl").read_text() == f"before\n{whole}after\n", (
        "the file of the shell is gone on with"
    )
    done = shell("exaudit label model reviews.test.jsonl --out >(wc -l > count) && sleep 1")
    assert done.returncode == 0, done.stderr
    assert (work / "count").read_text().strip() == "30"


def test_a_descriptor_that_is_not_open_is_refused() -> None:
    for path in ("/dev/fd/9999", f"/proc/{os.getpid()}/fd/9999"):
        with pytest.raises(SettingError, match="no such file is open"):
            check_output(Path(path))


def test_descriptors_are_gone_on_with_not_opened_anew(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w") as file:
        file.write("before\n")
        file.flush()
        with output(Path(f"/dev/fd/{file.fileno()}")) as stream:
            stream.write("mine\n")
        file.write("after\n")
    assert (tmp_path / "file").read_text() == "before\nmine\nafter\n"


def test_places_that_cannot_be_written(work: Path, fails: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "folder").mkdir()
    assert "it is a folder" in fails(*LABEL, "folder")
    assert "its folder does not exist" in fails(*LABEL, "nowhere/out.jsonl")
    (work / "loop").symlink_to("loop")
    assert "cannot write loop" in fails(*LABEL, "loop")
    access = os.access
    (work / "locked").write_text("old")

    def only_read(path: Path, mode: int) -> bool:  # as root, nothing is locked
        return not (mode & os.W_OK and Path(path).name in ("folder", "locked")) and access(path, mode)

    monkeypatch.setattr(os, "access", only_read)
    assert "nothing may be written into its folder" in fails(*LABEL, "folder/out.jsonl")
    assert "it may only be read" in fails(*LABEL, "locked")
    assert (work / "locked").read_text() == "old"


@pytest.mark.parametrize(
    "arguments",
    [
        ["label", "model", "in.jsonl"],
        ["features", "model", "in.jsonl"],
        ["report", "model", "in.jsonl", "--as", "html"],
        ["report", "model", "reviews.test.jsonl", "--reference", "in.jsonl", "--as", "html"],
        ["reliability", "model", "in.jsonl", "--as", "html"],
        ["compare", "reviews.test.jsonl", "in.jsonl", "--as", "html", "--encoder", "none"],
        ["compare", "reviews.test.jsonl", "more.jsonl", "--test", "in.jsonl", "more.jsonl", "--as", "md"],
        ["diff", "reviews.test.jsonl", "in.jsonl"],
    ],
)
def test_an_input_is_no_output(work: Path, fails: Cli, arguments: list[str]) -> None:
    text = (work / "reviews.test.jsonl").read_text()
    (work / "in.jsonl").write_text(text)
    (work / "link.jsonl").symlink_to("in.jsonl")
    os.link(work / "in.jsonl", work / "hard.jsonl")
    for name in ("in.jsonl", "./in.jsonl", str(work / "in.jsonl"), "link.jsonl", "hard.jsonl"):
        assert "the command reads it" in fails(*arguments, "--out", name)
    assert (work / "in.jsonl").read_text() == text


@pytest.mark.parametrize("verb", ["label", "features", "report", "reliability"])
def test_nothing_is_written_into_the_model(work: Path, fails: Cli, verb: str) -> None:
    (work / "inside").symlink_to("model")
    before = (work / "model/model.json").read_bytes()
    for name in ("model/model.json", "model/out.json", "inside/out.json", "model/../model/out.json"):
        assert "it lies in model, which the command reads" in fails(
            verb, "model", "reviews.test.jsonl", "--out", name
        )
    assert (work / "model/model.json").read_bytes() == before
    assert not (work / "model/out.json").exists()


def test_nothing_is_written_into_any_model(work: Path, fails: Cli) -> None:
    (work / "model.json").write_text("{}")  # alone, it makes no model of a folder
    for name in ("model/model.json", "model/out.jsonl"):
        told = fails("diff", "reviews.test.jsonl", "reviews.test.jsonl", "--out", name)
        assert (
            told
            == f"exaudit: cannot write {name}: it lies in the model {work / 'model'}; choose another place\n"
        )
    assert not (work / "model/out.jsonl").exists()


def test_a_model_is_not_trained_for_a_link_to_itself(work: Path, fails: Cli) -> None:
    (work / "loop").symlink_to("loop")
    told = fails("train", "reviews.dev.jsonl", "--encoder", "none", "--out", "loop")
    assert told == "exaudit: loop: no model can be saved here: Too many levels of symbolic links\n"
    assert not (work / "loop.partial").exists()


def test_the_support_set_is_an_input_too(work: Path, fails: Cli) -> None:
    (work / "elsewhere").mkdir()
    told = fails(*LABEL, "elsewhere/out.jsonl", "--support", "elsewhere")
    assert "it lies in elsewhere" in told


@pytest.mark.parametrize(
    "command",
    [
        "data sample",
        "demo --out",
        "reproduce fce --sample --encoder none --out",
        "benchmark words --samples learner --encoder none --out",
        "benchmark explainers --samples learner --out",
    ],
)
def test_folders_that_cannot_be_written_into(work: Path, fails: Cli, command: str) -> None:
    (work / "inside").symlink_to("model")
    (work / "loop").symlink_to("loop")
    os.mkfifo(work / "pipe")
    for place, why in {
        "model": "it lies in the model ",
        "model/new": "it lies in the model ",
        "inside/new/newer": "it lies in the model ",
        "loop": "Too many levels of symbolic links",
        "pipe": "it is a device or pipe; name a folder",
        "/dev/null": "it is a device or pipe; name a folder",
        "more.jsonl": "it is a file; name a folder",
        "more.jsonl/new": "more.jsonl",
    }.items():
        told = fails(*command.split(), place)
        assert told.startswith("exaudit: cannot write ")
        assert place in told
        assert why in told
    assert not (work / "model/new").exists()


def test_the_data_is_no_place_for_results(work: Path, fails: Cli) -> None:
    told = fails("reproduce", "fce", "--encoder", "none", "--data", "model/..", "--out", ".")
    assert told == "exaudit: cannot write into .: the command reads it; choose another folder\n"


def test_links_of_a_folder_are_followed(work: Path, cli: Cli, fails: Cli) -> None:
    (work / "link").symlink_to("there/samples")  # which do not exist yet
    (work / "kept.csv").write_text("old\n")
    cli("data", "sample", "link")
    assert (work / "link").is_symlink()
    (work / "link/reviews.dev.csv").unlink()
    (work / "link/reviews.dev.csv").symlink_to(work / "kept.csv")
    cli("data", "sample", "link")
    assert (work / "there/samples/reviews.dev.csv").is_symlink()
    assert (work / "kept.csv").read_text().startswith("text,label\n")
    (work / "kept.csv").unlink()
    os.mkfifo(work / "kept.csv")
    assert "reviews.dev.csv is there already, and is no file" in fails("data", "sample", "link")
    assert (work / "kept.csv").is_fifo()


def test_a_model_is_saved_where_a_link_points(work: Path) -> None:
    (work / "place").symlink_to("models/real")
    (work / "models").mkdir()
    small = ["--encoder", "none", "--filters", "5", "--word-dimension", "4", "--epochs", "1"]
    train = ["train", "reviews.dev.jsonl", "--dev", "reviews.test.jsonl", "--out", "place", *small]
    assert run(train) == 0
    assert run([*train, "--overwrite"]) == 0
    assert (work / "place").is_symlink()
    assert json.loads((work / "models/real/model.json").read_text())["schema"]


# -- what is written ----------------------------------------------------------------------------------------

LABELS = ("positive", "negative", "positive")
NASTY = "good \x1b[31mfood \u202eevil =cmd|'/C calc'!A0 bad"


@pytest.fixture
def nasty(work: Path) -> Path:
    rows = [{"id": f"i\u202e{n}", "text": NASTY, "label": label} for n, label in enumerate(LABELS)]
    (work / "nasty.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return work


@pytest.mark.parametrize(
    "arguments",
    [
        ["label", "model", "nasty.jsonl"],
        ["features", "model", "nasty.jsonl"],
        ["features", "model", "nasty.jsonl", "--as", "json"],
        ["diff", "nasty.jsonl", "reversed.jsonl"],
        ["diff", "nasty.jsonl", "reversed.jsonl", "--out", "-"],
        ["report", "model", "nasty.jsonl", "--out", "-", "--as", "md"],
        ["report", "model", "nasty.jsonl", "--out", "-", "--as", "html"],
        ["data", "check", "nasty.jsonl"],
        ["data", "check", "nasty.jsonl", "--json"],
    ],
)
def test_nothing_unseen_is_printed(nasty: Path, cli: Cli, arguments: list[str]) -> None:
    text = (nasty / "nasty.jsonl").read_text()
    (nasty / "reversed.jsonl").write_text(text.replace("good", "fine"))
    printed = cli(*arguments)
    assert {c for c in printed if not c.isprintable()} <= {"\n", "\t"}


def test_errors_show_what_is_unseen(nasty: Path, fails: Cli) -> None:
    (nasty / "twice.jsonl").write_text(2 * '{"id": "i\u202e", "text": "a b"}\n')
    told = fails("label", "model", "twice.jsonl")
    assert "\\u202e" in told


def test_texts_of_a_table_are_no_formulas(nasty: Path, cli: Cli) -> None:
    rows = [{"tokens": NASTY.split(), "label": label} for label in LABELS]  # words that nobody cuts
    (nasty / "cut.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cli("features", "model", "cut.jsonl", "--as", "csv", "--out", "table.csv")
    with open(nasty / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(row["text"].startswith("'=cmd|") for row in rows)
    for row in rows:
        assert not any(cell[:1] in "=+@" for cell in row.values() if cell)
        assert math.isfinite(float(row["mean"] or 0)), "numbers stay numbers"
