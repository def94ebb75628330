"""exaudit benchmark explainers: table, files, resuming, and errors of one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from exaudit.benchmark.explainers import EXPLAINERS
from tiny import tiny_bert


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("encoder") / "bert"))


def test_a_race_is_a_table_a_picture_and_json(
    cli: Callable[..., str], fails: Callable[..., str], bert: str, tmp_path: Path
) -> None:
    out = tmp_path / "race"
    race = [
        "benchmark", "explainers", "--samples", "reviews", "--limit", "16", "--documents", "5", "--encoder", bert,
        "--methods", "occlusion,attention", "--device", "cpu", "--out", str(out),
    ]  # fmt: skip
    said = cli(*race)
    assert [line.split("  ")[0] for line in said.splitlines()[-2:]] == ["occlusion", "attention"]
    assert "# Explainers" in (out / "explainers.md").read_text("utf-8")
    assert (out / "explainers.svg").read_text("utf-8").startswith("<svg")
    results = json.loads((out / "explainers.json").read_text("utf-8"))["results"]
    assert [(result["method"], result["documents"]) for result in results] == [
        ("occlusion", 5),
        ("attention", 5),
    ]
    assert bert not in (out / "explainers.json").read_text("utf-8")  # no paths of this machine
    assert cli(*race) == said  # nothing is run again, so the seconds are the same, too
    page = (out / "explainers.md").read_text("utf-8")
    alone = [*race, "--methods", "attention"]
    assert cli(*alone) == said  # the pages have what earlier runs came to
    assert (out / "explainers.md").read_text("utf-8") == page
    (out / "explainers.md").unlink()
    assert cli("benchmark", "show", str(out)) == said
    assert (out / "explainers.md").read_text("utf-8") == page
    assert "other documents or settings; give another --out" in fails(*race[:-2], "--seeds", "0", "--out", str(out),
                                                                     "--documents", "6")  # fmt: skip


def test_methods_that_are_not_installed_leave_earlier_pages_alone(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPLAINERS, "lime", replace(EXPLAINERS["lime"], package="no_such_package"))
    (tmp_path / "explainers.md").write_text("earlier")
    said = fails(
        "benchmark", "explainers", "--samples", "reviews", "--methods", "lime", "--device", "cpu",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert "none of --methods is installed (lime); pip install 'exaudit[explainers]'" in said
    assert [path.name for path in tmp_path.iterdir()] == ["explainers.md"]
    assert (tmp_path / "explainers.md").read_text() == "earlier"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples", "reviews", "--methods", "deeplift"], "--methods: there is no 'deeplift'"),
        (["--samples", "reviews", "--documents", "1"], "--documents is 1"),
        (["--samples", "complaints", "--limit", "20"], "explainers are compared on two"),
        (["--samples", "reviews", "--encoder", "none"], "another --encoder than none"),
        (["--samples", "reviews", "--seeds", "one"], "--seeds is 'one'"),
        (["--samples", "reviews", "--seeds", "9" * 20], "give whole numbers from 0 to 9223372036854775807"),
        (
            ["--samples", "reviews", "--seeds", "9" * 19],
            "--seeds has 9999999999999999999; give whole numbers",
        ),
        (
            ["--samples", "reviews", "--methods", "knn,knn"],
            "there are two of the method 'knn'; give each once",
        ),
        (["--samples", "reviews,reviews"], "there are two of the task 'reviews'"),
        ([], "there is no task"),
    ],
)
def test_bad_input_is_one_line(
    fails: Callable[..., str], options: list[str], message: str, tmp_path: Path
) -> None:
    assert message in fails("benchmark", "explainers", *options, "--out", str(tmp_path / "race"))
    assert not (tmp_path / "race").exists()
