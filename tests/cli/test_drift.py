"""exaudit drift, and label --watch-drift, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.data.sample import sample_documents

Cli = Callable[..., str]
TEST, DEV = "reviews.test.jsonl", "reviews.dev.jsonl"
NASTY = "<script>alert(1)</script> \x1b[31m"


def write(path: str, texts: list[str], **columns: str) -> str:
    lines = [json.dumps({"id": f"{n}" if n else NASTY, "text": t} | columns) for n, t in enumerate(texts)]
    Path(path).write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def strange(work: Path) -> str:
    """Documents of another kind, with labels that the model does not know, and an id that would like to be obeyed."""
    texts = [d.text + " zyx qwv" * 20 for d in sample_documents("requests", 60, seed=3)]
    return write("strange.jsonl", [texts[0] * 9, *texts[1:]], label="weather")


def test_the_same_source(work: Path, cli: Cli) -> None:
    told = cli("drift", "model", TEST, "--reference", DEV)
    assert told.startswith("No drift: no shift was found among 30 documents against 40 of the reference")
    assert not Path("model/drift.json").exists()
    value = json.loads(cli("drift", "model", TEST, "--reference", DEV, "--json"))
    assert value["detected"] is False
    assert value["p"] > value["false_alarm_rate"] == 0.01
    assert {shift["measure"] for shift in value["shifts"]} == {
        "length",
        "unknown",
        "score",
        "margin",
        "flagged",
        "content",
    }  # neither an encoder nor a support set


def test_another_source(built: Path, cli: Cli, strange: str) -> None:
    told = cli("drift", "model", strange, "--reference", DEV)
    assert told.startswith("Drift: the 60 documents are not like the 40 of the reference, p = ")
    assert "  documents are longer: median " in told
    assert "more words are unknown to the model: median " in told
    (same,) = [line for line in told.splitlines() if line.startswith("No shift was found in: ")]
    assert "distance" in same  # to word embeddings, a word is a word
    assert "Farthest from the reference:\n  <script>alert(1)</script> \\x1b[31m: " in told
    assert "\x1b" not in told


def test_a_kept_reference(built: Path, cli: Cli, fails: Cli, strange: str) -> None:
    told = fails("drift", "model", TEST)
    assert "meant for (`exaudit drift MODEL FILE --reference FILE --keep`)" in told
    assert "--keep is about --reference" in fails("drift", "model", TEST, "--keep")
    asked = ("drift", "model", strange, "--json")
    first = cli(*asked, "--reference", DEV, "--keep")
    assert cli(*asked) == first
    kept = Path("model/drift.json").read_text()
    assert "film" not in kept  # no texts
    assert "dev" not in kept  # no ids
    assert "whole    drift.json" in cli("verify", "model")
    cli("support", "remove", "model", "reviews-0-3")
    assert "Note: the support set has changed since the reference was measured" in cli(
        "drift", "model", strange
    )
    cli("boundary", "model", DEV, "--by", "tokens")
    assert "when the decision boundary of the words was another" in fails("drift", "model", strange)
    Path("model/drift.json").write_text(kept.replace('"schema": 1', '"schema": 99'))
    assert "drift.json is damaged" in fails("drift", "model", strange)
    Path("model/drift.json").write_text(kept[: len(kept) // 2])
    assert "model/drift.json is damaged" in fails("drift", "model", strange)
    Path("model/drift.json").unlink()
    assert "drift.json is missing; restore it" in fails("drift", "model", strange)


def test_the_documents_of_admission(built: Path, cli: Cli, strange: str) -> None:
    cli("knn", "fit", "model", DEV, "-k", "4", "--epochs", "2")
    cli("admission", "fit", "model", DEV)
    value = json.loads(cli("drift", "model", strange, "--json"))
    assert (value["detected"], value["reference"]) == (True, 20)


def test_too_few(work: Path, fails: Cli) -> None:
    one = write("one.jsonl", ["a lovely film"])
    assert fails("drift", "model", one, "--reference", DEV) == (
        "exaudit: the file has only 1 document; with fewer than 20, a shift cannot be told from chance: give more\n"
    )
    assert "the reference has only 1 document;" in fails("drift", "model", TEST, "--reference", one, "--keep")
    assert not Path("model/drift.json").exists()
    Path("empty.jsonl").write_text("")
    assert "empty.jsonl" in fails("drift", "model", "empty.jsonl", "--reference", DEV)
    assert "false-alarm rate must be" in fails(
        "drift", "model", TEST, "--reference", DEV, "--false-alarms", "0"
    )


def test_a_page(built: Path, cli: Cli, strange: str) -> None:
    cli("drift", "model", strange, "--reference", DEV, "--out", "drift.html")
    page = Path("drift.html").read_text()
    assert page.count("<svg") == 7  # one for each measure but the content
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    cli("drift", "model", strange, "--reference", DEV, "--out", "drift.md")
    assert "documents are longer" in Path("drift.md").read_text()


@pytest.mark.parametrize("options", [(), ("--rule", "exag")])
def test_watch(
    built: Path,
    cli: Cli,
    fails: Cli,
    strange: str,
    options: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "nothing to compare with" in fails("label", "model", TEST, "--watch-drift", *options)
    cli("drift", "model", TEST, "--reference", DEV, "--keep")
    plain = cli("label", "model", TEST, *options)
    assert cli("label", "model", TEST, "--watch-drift", *options) == plain
    Path("both.jsonl").write_text(Path(TEST).read_text() + Path(strange).read_text())
    capsys.readouterr()
    assert run(["label", "model", "both.jsonl", "--watch-drift", *options]) == 0
    told = capsys.readouterr()
    lines = [json.loads(line) for line in told.out.splitlines()]
    marked = ["drift" in line for line in lines]
    since = marked.index(True)
    assert 30 <= since < 75  # within the strange ones
    assert all(marked[since:])
    assert told.err.count("warning: by document") == 1
    assert f"by document {since + 1} ({lines[since]['id']})" in told.err
    assert lines[-1]["drift"].startswith("of the last ")
