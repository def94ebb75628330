"""exaudit benchmark words, on the files of the sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

QUICK = ("--encoder", "none", "--device", "cpu", "--limit", "25")


@pytest.fixture
def tasks(work: Path) -> Path:
    """Reviews with the truth, learner sentences with token labels alone, and requests of twenty classes."""
    folder = work / "tasks"
    folder.mkdir()
    for name in ("reviews.{}.jsonl", "learner.{}.tsv"):
        for split in ("train", "dev", "test"):
            (work / name.format(split)).rename(folder / name.format(split))
    return folder


@pytest.mark.slow
def test_tasks_of_a_folder_and_built_in_ones(tasks: Path, cli: Callable[..., str]) -> None:
    arguments = ("benchmark", "words", str(tasks), *QUICK, "--recipes", "frozen,min-max", "--seeds", "0")
    text = cli(*arguments, "--samples", "complaints", "--out", "out")
    rows = [line.split("  ")[0] for line in text.splitlines()]
    for task in ("complaints", "learner", "reviews"):
        assert {f"{task}, frozen", f"{task}, min-max"} <= set(rows)
    assert "READ OFF TEST" in text
    found = json.loads(Path("out/words.json").read_text())
    assert len(found["runs"]) == 6
    assert {run["task"]["documents"]["train"] for run in found["runs"]} == {25}
    assert Path("out/words.md").is_file()
    assert Path("out/words.svg").is_file()
    assert cli("benchmark", "show", "out") == text


def test_some_tasks_alone(tasks: Path, cli: Callable[..., str]) -> None:
    chosen = ("--tasks", "learner", "--recipes", "frozen", "--seeds", "5", "--out", "out")
    cli("benchmark", "words", str(tasks), *QUICK, *chosen)
    assert [path.name for path in Path("out/runs").iterdir()] == ["learner.frozen.5.json"]


def test_bad_input_is_one_line(tasks: Path, fails: Callable[..., str]) -> None:
    def refused(*arguments: str) -> str:
        return fails("benchmark", "words", *arguments, "--out", "out")

    (tasks / "empty").mkdir()
    assert "there is no task in this folder" in refused(str(tasks / "empty"))
    assert "there is no task to run; give a folder of tasks, or --samples" in refused("--encoder", "none")
    assert (
        "the recipe tuned tunes an encoder, and --encoder none has none; give --recipes without it"
        in refused(str(tasks), *QUICK)
    )
    assert "no built-in sample 'films'" in refused("--samples", "films")
    assert "there is no task 'films'; the tasks are 'learner', 'reviews'" in refused(
        str(tasks), "--tasks", "films"
    )
    assert "--seeds is '0,x'" in refused(str(tasks), "--seeds", "0,x")
    assert "--limit is 0" in refused(str(tasks), "--limit", "0")
    assert "with a limit of one document a split, train has one document; raise --limit" in refused(
        str(tasks), "--limit", "1"
    )
    assert "--seeds is '99999999999999999999'; give whole numbers from 0 to 9223372036854775807" in refused(
        str(tasks), "--seeds", "99999999999999999999"
    )
    (tasks / "reviews.test.jsonl").unlink()
    assert "the task 'reviews' has no test file" in refused(str(tasks), *QUICK)
    assert not Path("out").exists()
    assert "holds no finished run; give the folder of a benchmark" in fails("benchmark", "show", "nowhere")
