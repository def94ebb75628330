"""Three hundred random commands: each does its work, or says in one line why not."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from commands import Command
from quick import commands_built_once, temporary_folder
from run import Place, compared, judge, work


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the folders of defects are put
    with temporary_folder("exaudit-fuzz-") as folder, commands_built_once():
        outcomes = [each for each in work(Path(folder, "place"), range(300), seed=13) if each.kind != "death"]
    assert [dataclasses.asdict(outcome) for outcome in outcomes if not outcome.good] == []
    counts = Counter(outcome.kind for outcome in outcomes)
    assert counts["done"] > 120  # commands are not so odd that nothing is tried
    assert counts["error"] > 75
    assert len({outcome.verb for outcome in outcomes}) > 30


def test_cases_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (Place(tmp_path / name).run(7, seed=2) for name in ("one", "two"))
    assert first == second


@pytest.mark.parametrize(
    ("status", "out", "err", "shown", "kind"),
    [
        (0, "answer", "a note\n", "", None),
        (1, "", "exaudit: there is no such file\n", "", None),
        (1, "what is wrong with the file\n", "", "", None),  # data check
        (1, "", "", "", "unclear"),
        (1, "", "exaudit: one\nexaudit: two\n", "", "unclear"),
        (0, "answer", "exaudit: and yet\n", "", "unclear"),
        (1, "", "exaudit: " + "x" * 900, "", "long"),
        (
            1,
            "",
            "exaudit: unexpected KeyError: 'a' (run again with --debug for the details)\n",
            "",
            "unexpected",
        ),
        (1, "", "Traceback (most recent call last):\n", "", "traceback"),
        (3, "", "exaudit: so\n", "", "status"),
        (0, "", "", "warning: UserWarning: look\n", "warning"),
        (-1, "", "", "slow: more than 60 s\n", "slow"),
    ],
)
def test_judgement(status: int, out: str, err: str, shown: str, kind: str | None) -> None:
    assert judge(status, out, err, shown) == kind


@pytest.mark.parametrize(
    ("verb", "status", "changed", "kind"),
    [
        ("label", 0, "new", None),
        ("label", 1, "new", "half"),
        ("label", 0, ".new.1.tmp", "leftover"),
        ("label", 0, "model/model.json", "changed"),
        ("label", 0, "data0.csv", "changed"),
        ("label", 0, "link", "replaced"),
        ("boundary", 0, "model/model.json", None),
        ("train", 1, "new.partial/head.safetensors", None),
    ],
)
def test_comparison(verb: str, status: int, changed: str, kind: str | None) -> None:
    command = Command(verb, [verb], b"", "new")
    assert compared(command, status, {"link": "target"}, {"link": "target", changed: "2"}) == kind
