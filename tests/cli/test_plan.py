from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.plan import measure

Cli = Callable[..., str]
PLAN = "plan --documents 1e9 --tokens-per-document 200"


def test_a_plan_in_words(cli: Cli) -> None:
    told = cli(*PLAN.split(), "--exemplars", "1e9", "--gpus-per-node", "8")
    assert "1 billion documents with 200 billion words" in told
    assert "the 8 nearest of 1 billion exemplars (1000 numbers in float32)" in told
    assert [line.split("  ")[0] for line in told.splitlines()[5:9]] == [
        "label", "support build", "search", "features",
    ]  # fmt: skip
    assert "GPU-hours" in told
    assert "(exaudit plan --measure)" in told


def test_float16_halves_the_vectors(cli: Cli) -> None:
    wide, narrow = (
        {
            stage["name"]: stage
            for stage in json.loads(cli(*PLAN.split(), "--json", "--dtype", dtype))["stages"]
        }
        for dtype in ("float32", "float16")
    )
    saved = wide["support build"]["storage"] - narrow["support build"]["storage"]
    assert saved == pytest.approx(200e9 * 2000)


NO_SENSE = {
    "plan": "say how many --documents the corpus has, or --measure the rates of this machine",
    "plan --documents 0": "--documents is 0; it must be from 1 to 1e+15",
    "plan --documents -5": "--documents is -5; it must be from 1",
    "plan --documents nan": "--documents is nan; it must be from 1",
    "plan --documents 1e30": "--documents is 1e+30; it must be from 1 to 1e+15",
    "plan --documents many": "Invalid value for '--documents'",
    f"{PLAN} --hours 0": "--hours is 0; it must be from 0.001",
    f"{PLAN} --memory-per-node inf": "--memory-per-node is inf; it must be from 0.1",
    f"{PLAN} --gpus-per-node -1": "--gpus-per-node is -1; it must be from 0",
    f"{PLAN} --k 101": "--k is 101; it must be from 1 to 100",
    f"{PLAN} --dtype int8": "--dtype is 'int8'; use float32 or float16",
    f"{PLAN} --rates nowhere.json": "--rates is nowhere.json, but there is no such file",
    f"{PLAN} --model here": "--model and --device are about --measure",
    "plan --measure --rates nowhere/rates.json": "its folder does not exist",
    "plan --measure --model nowhere": "nowhere",
}


@pytest.mark.parametrize("arguments", NO_SENSE)
def test_no_sense(
    arguments: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments.split()) in (1, 2)
    told = capsys.readouterr().err
    assert NO_SENSE[arguments] in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_measured_rates_are_written_and_read(work: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROWS", {"cpu": (1000, 5000)})
    monkeypatch.setattr(measure, "QUERIES", {"cpu": 32})
    monkeypatch.setattr(measure, "DOCUMENTS", {"cpu": 8})
    monkeypatch.setattr(measure, "STORED", 1024)
    printed = json.loads(
        cli("plan", "--measure", "--model", "model", "--device", "cpu", "--rates", "here.json", "--json")
    )
    assert json.loads((work / "here.json").read_text()) == printed
    core, sizes = printed["core"], printed["sizes"]
    assert core["label_words"]["float32"] > 0
    assert sizes["width"] == 20
    assert sizes["label"] > 10  # each word is written with its score
    assert printed["gpu"] is None
    planned = json.loads(cli(*PLAN.split(), "--rates", "here.json", "--json"))
    assert planned["rates"] == printed
