"""Labelling, evaluating and auditing by exemplars, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.audit import Auditor
from exaudit.cli import run
from exaudit.data.readers import read_documents
from exaudit.metrics import Counts, token_metrics

Cli = Callable[..., str]
TEST, DEV = "reviews.test.jsonl", "reviews.dev.jsonl"


def read(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture
def fitted(built: Path, cli: Cli) -> Path:
    cli("knn", "fit", "model", DEV, "-k", "4", "--epochs", "10")
    cli("admission", "fit", "model", DEV)
    return built


def test_label(fitted: Path, cli: Cli) -> None:
    plain = read(cli("label", "model", TEST))
    auditor = Auditor.open("model")
    documents = read_documents(TEST)
    for options, call in (
        (["--rule", "exag"], {"rule": "exag"}),
        (["--rule", "exat"], {"rule": "exat"}),
        (["--knn"], {"rule": "knn"}),
        (["--admit"], {"admit": True}),
        (["--rule", "exag", "--admit"], {"rule": "exag", "admit": True}),
    ):
        lines = read(cli("label", "model", TEST, *options))
        expected = auditor.label(documents, nearest=True, **call)  # type: ignore[arg-type]
        assert lines == [one.to_json(auditor.labels) for one in expected]
        for line, before in zip(lines, plain, strict=True):
            assert (line["id"], line["label"]) == (before["id"], before["label"])
            assert line["score"] == pytest.approx(before["score"], abs=1e-5)
            assert ("admitted" in line) == ("--admit" in options)
            for token, old in zip(line["tokens"], before["tokens"], strict=True):
                assert token.keys() >= old.keys() | {"exemplar"}
                assert ("knn" in token) == (options[0] != "--rule" or "--admit" in options)
                if options[0] == "--rule":
                    assert token["label"] <= old["label"]
    cli("label", "model", TEST, "--knn", "--out", "out.jsonl")
    assert read(Path("out.jsonl").read_text()) == read(cli("label", "model", TEST, "--knn"))
    assert read(cli("label", "model", TEST, "--knn", "--stream")) == read(
        cli("label", "model", TEST, "--knn")
    )


def test_knn_and_admission(built: Path, cli: Cli, fails: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no K-NN was fitted" in fails("label", "model", TEST, "--knn")
    assert "no K-NN was fitted" in fails("knn", "show", "model")
    assert "no K-NN was fitted" in fails("admission", "fit", "model", DEV)
    assert "no admission limits" in fails("admission", "show", "model")
    for kind in ("const", "equal", "dist"):
        told = cli("knn", "fit", "model", DEV, "--kind", kind, "-k", "4", "--epochs", "5")
        assert told.startswith(f"K-NN {kind}, K = 4, document labels")
        assert told == cli("knn", "show", "model")
        value = json.loads(cli("knn", "show", "model", "--json"))
        agreement = value["agreement"]
        assert agreement == 1 - value["delta"] / value["tokens"]
        assert f"agrees with the model on {100 * agreement:.2f}%" in told
        assert set(value["metrics"]) == {"model", "knn"}
    assert "is not one of" in fails("knn", "fit", "model", DEV, "--kind", "odd")
    told = cli("admission", "fit", "model", DEV, "--kind", "distance", "--quantile", "0.9")
    assert "nearest exemplar at most" in told
    assert "the support set as it is" in told
    assert told == cli("admission", "show", "model")
    cli("support", "remove", "model", "reviews-0-1")
    assert "stale" in cli("admission", "show", "model")
    assert json.loads(cli("admission", "show", "model", "--json"))["stale"] is True
    capsys.readouterr()
    assert run(["knn", "fit", "model", "support.jsonl", "-k", "2", "--epochs", "1"]) == 0
    assert "warning: 59 of the 60 documents" in capsys.readouterr().err


def test_stale_limits_are_told(fitted: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    def admitted(*more: str) -> tuple[list[bool], str]:
        capsys.readouterr()
        assert run(["label", "model", TEST, "--admit", *more]) == 0
        told = capsys.readouterr()
        return [token["admitted"] for line in read(told.out) for token in line["tokens"]], told.err

    assert admitted()[1] == ""
    cli("support", "remove", "model", *(f"reviews-0-{n}" for n in range(50)))
    kept = Path("model/admission.json").read_text()
    before, told = admitted()
    assert "the admission limits are stale" in told
    assert "refitted" in told
    assert Path("model/admission.json").read_text() == kept
    cli("admission", "fit", "model", DEV)
    after, nothing = admitted()
    assert nothing == ""
    flips = sum(a != b for a, b in zip(before, after, strict=True))
    assert f"admit otherwise {flips} of {len(before)} tokens" in told


@pytest.mark.parametrize("options", [["--rule", "exag"], ["--rule", "exat"], ["--knn"], ["--admit"]])
def test_evaluate(fitted: Path, cli: Cli, options: list[str]) -> None:
    """Recounted from what label writes."""
    found = json.loads(cli("evaluate", "model", TEST, "--json", *options))
    assert found.keys() == json.loads(cli("evaluate", "model", TEST, "--json")).keys()
    names = Auditor.open("model").labels.views[0]
    decided, truth, right = [], [], []
    for line, document in zip(read(cli("label", "model", TEST, *options)), read_documents(TEST), strict=True):
        targets = names.token_targets(document)
        assert targets is not None
        for token, target in zip(line["tokens"], targets, strict=True):
            if token.get("admitted", True):
                decided.append(token["label"])
                truth.append(target)
        if line.get("admitted", True):
            right.append(line["label"] == document.label)
    assert found["token"] == pytest.approx(token_metrics(Counts.of(np.array(decided), np.array(truth))))
    assert found["document"]["accuracy"] == pytest.approx(sum(right) / max(len(right), 1))
    assert "model" in cli("evaluate", "model", TEST, "--ci", *options)


def test_evaluate_reads_a_stream(
    built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("exaudit.cli.reading.Reading.read")
    assert run(["evaluate", "model", "support.jsonl", "--rule", "exag"]) == 0
    assert "warning: 60 of the 60 documents" in capsys.readouterr().err


def test_nothing_admitted(fitted: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    limits = json.loads(Path("model/admission.json").read_text())
    own = limits["admission"]["token_limits"]
    own["distance"] = [None if limit is None else -1.0 for limit in own["distance"]]
    Path("model/admission.json").write_text(json.dumps(limits | {"checksum": None}))
    assert run(["evaluate", "model", TEST, "--admit", "--json", "--ci"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["document"]["accuracy"] == 0
    assert "admitted: 0 of 30 documents, 0 of" in told.err


def test_audit(fitted: Path, cli: Cli, fails: Cli) -> None:
    text = "The food was [bold]great[/bold] :smile: \x1b[31m and \u202e the staff was rude ."
    tokens = text.split()  # as those that the model learnt from
    told = cli("audit", "model", text, "--token", "3", "--token", "0", "-k", "2")
    assert "[bold]great[/bold] :smile:" in told  # shown, not obeyed
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "[3] [bold]great[/bold]" in told
    assert told.count("distance") >= 4
    assert "weight" in told
    assert "K-NN" in told
    assert "»" in told
    value = json.loads(cli("audit", "model", text, "--token", "3", "--json"))
    (evidence,) = value["evidence"]
    assert (evidence["token"], len(evidence["exemplars"]), len(value["tokens"])) == (
        tokens[3],
        4,
        len(tokens),
    )
    assert evidence["knn"]["output"] == pytest.approx(value["tokens"][3]["knn"])
    assert sum(exemplar["weight"] for exemplar in evidence["exemplars"]) == pytest.approx(1)
    first = read_documents(TEST)[4]
    flagged = json.loads(cli("audit", "model", TEST, "--id", first.id, "--json"))
    told_of = ("positive",) if flagged["label"] == "positive" else ("positive", "negative")
    assert [e["position"] for e in flagged["evidence"]] == [
        n for n, token in enumerate(flagged["tokens"]) if token["evidence"] in told_of
    ]
    assert "choose one with --id" in fails("audit", "model", TEST)
    assert "no document 'x'" in fails("audit", "model", TEST, "--id", "x")
    assert "--id goes with a file" in fails("audit", "model", "some text", "--id", "x")
    assert "no token 50" in fails("audit", "model", "some text", "--token", "50")
    assert "the text has no words" in fails("audit", "model", " ")
    assert "[0] some" in cli("audit", "model", "some " * 3000, "--token", "0")  # longer than any path may be


def test_options_that_exclude_each_other(fitted: Path, fails: Cli) -> None:
    assert "exclude each other" in fails("label", "model", TEST, "--rule", "exag", "--knn")
    assert "no decision rule 'exax'" in fails("evaluate", "model", TEST, "--rule", "exax")


def test_in_a_process_of_its_own(fitted: Path) -> None:
    command = [sys.executable, "-c", "from exaudit.cli import main; main()"]
    done = subprocess.run(
        [*command, "audit", "model", "some text", "--token", "9"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "exaudit: the document has 2 tokens, from 0; there is no token 9\n"
