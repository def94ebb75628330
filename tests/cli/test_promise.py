"""A promise from the command line: made, shown, used, and said when it changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.audit import Auditor
from exaudit.cli import run
from exaudit.data.readers import read_documents
from exaudit.data.sample import sample_splits
from exaudit.decide.risk import Goal

Cli = Callable[..., str]
FILE, NEW = "calibration.jsonl", "new.jsonl"


@pytest.fixture
def calibration(work: Path) -> Path:
    """Documents of the same kind that nothing was trained on."""
    documents = sample_splits("reviews", sizes={"train": 300, "dev": 40, "test": 400})["test"]
    lines = [json.dumps({"id": d.id, "text": d.text, "label": d.label}) + "\n" for d in documents]
    (work / FILE).write_text("".join(lines[:350]))
    (work / NEW).write_text("".join(lines[350:]))
    return work


def test_promise_label_show_and_edit(calibration: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    told = cli("admission", "fit", "model", FILE, "--risk", "0.4", "--confidence", "0.8")
    assert told.startswith("Of the admitted documents, at most 40% are wrong, with 80% confidence")
    assert "<- admitted" in told
    assert cli("admission", "show", "model") == told
    shown = json.loads(cli("admission", "show", "model", "--json"))
    assert (shown["risk"], shown["confidence"], shown["documents"]) == (0.4, 0.8, 350)
    lines = [json.loads(line) for line in cli("label", "model", NEW, "--admit").splitlines()]
    assert {line["admitted"] for line in lines} == {True, False}
    assert all((line["reason"] is None) == line["admitted"] for line in lines)
    assert lines[0]["promise"] == {
        "risk": 0.4, "confidence": 0.8, "aim": "accuracy", "by_class": False, "weighted": False, "withdrawn": None,
    }  # fmt: skip
    assert "accuracy" in cli("evaluate", "model", NEW, "--admit")
    cli("support", "build", "model", "support.jsonl")
    assert run(["support", "remove", "model", "reviews-0-0"]) == 0
    assert "the promise was checked again on the 350 calibration documents" in capsys.readouterr().err
    page = cli("reliability", "model", NEW, "--out", "-", "--as", "md")
    assert "Risk and coverage: documents" in page
    assert "Admitted documents by predicted class" in page


def test_drift_takes_the_promise_back(
    calibration: Path, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    cli("admission", "fit", "model", FILE, "--risk", "0.4", "--confidence", "0.8")
    strange = [{"id": f"s{n}", "text": "zyx qwv bcd " * 30} for n in range(60)]
    like = (calibration / NEW).read_text()
    Path("both.jsonl").write_text(like + "".join(json.dumps(each) + "\n" for each in strange))
    capsys.readouterr()
    assert run(["label", "model", "both.jsonl", "--admit"]) == 0
    told = capsys.readouterr()
    lines = [json.loads(line) for line in told.out.splitlines()]
    since = ["drift" in line for line in lines].index(True)
    assert len(like.splitlines()) <= since < len(lines) - 1
    assert all(line["promise"]["withdrawn"] is None for line in lines[:since])
    for line in lines[since:]:
        assert line["promise"]["withdrawn"] == line["drift"]
        assert not line["admitted"]
        assert line["reason"] == f"the promise is withdrawn: {line['drift']}"
        assert not any(token.get("admitted") for token in line["tokens"])
    assert "the promise is withdrawn: of the last" in told.err
    assert "at most 40% are wrong" not in told.err


def test_a_promise_made_in_python_is_used_alike(calibration: Path, cli: Cli) -> None:
    documents = list(read_documents(FILE))
    Auditor.open("model").fit_promise(documents, Goal(0.4, 0.8))
    assert not Path("model/drift.json").exists()  # its own documents are what others are compared with
    alone = cli("label", "model", NEW, "--admit")
    cli("admission", "fit", "model", FILE, "--risk", "0.4", "--confidence", "0.8")
    assert cli("label", "model", NEW, "--admit") == alone


def test_more_documents_keep_the_goal(calibration: Path, cli: Cli) -> None:
    lines = (calibration / FILE).read_text().splitlines(keepends=True)
    Path("first.jsonl").write_text("".join(lines[:300]))
    cli("admission", "fit", "model", "first.jsonl", "--risk", "0.4", "--confidence", "0.8")
    shown = json.loads(cli("admission", "fit", "model", FILE, "--add", "--json"))
    assert (shown["risk"], shown["documents"]) == (0.4, 350)


def test_documents_of_another_kind_are_promised_for_by_weights(
    calibration: Path, cli: Cli, fails: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = ("--risk", "0.45", "--confidence", "0.8")
    assert "--like does not go with --rule mean" in fails(
        "admission", "fit", "model", FILE, "--like", NEW, "--rule", "mean"
    )
    told = cli("admission", "fit", "model", FILE, *goal, "--like", NEW)
    assert "on documents like the 50 new ones, if only the mix of documents has shifted" in told
    assert cli("admission", "show", "model") == told
    shown = json.loads(cli("admission", "show", "model", "--json"))
    assert (shown["weighted"], shown["documents"], shown["new"]) == (True, 350, 50)
    lines = [json.loads(line) for line in cli("label", "model", NEW, "--admit").splitlines()]
    share = sum(line["admitted"] for line in lines) / len(lines)
    assert f"; {100 * share:.3g}% of the new ones are admitted" in told
    assert len(json.loads(Path("model/drift.json").read_text())["figures"]) == 50


def test_what_is_refused_leaves_nothing_behind(calibration: Path, fails: Cli) -> None:
    fit = ("admission", "fit", "model")
    assert "300 of the 300 calibration documents" in fails(*fit, "reviews.train.jsonl", "--risk", "0.2")
    assert "cannot be promised with these 350 documents" in fails(*fit, FILE, "--risk", "0.02")
    assert "give --risk" in fails(*fit, FILE, "--promise", "recall")
    assert "--kind does not go with --rule promise" in fails(*fit, FILE, "--risk", "0.2", "--kind", "both")
    assert "--risk does not go with --rule mean" in fails(*fit, FILE, "--risk", "0.2", "--rule", "mean")
    assert "choose promise or mean" in fails(*fit, FILE, "--rule", "median")
    assert "there is no promise to add documents to" in fails(*fit, FILE, "--add")
    assert "`risk` is 2" in fails(*fit, FILE, "--risk", "2").replace("--risk", "`risk`")
    assert "--admit-rule is about --admit" in fails(
        "label", "model", NEW, "--rule", "exag", "--admit-rule", "mean"
    )
    assert not Path("model/promise.json").exists()
