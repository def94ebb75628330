"""The support verbs: what they print, what they write, and that they fail in one line without a trace."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lance
import pytest

from exaudit._checksum import read_sealed, write_sealed
from exaudit.audit import Auditor
from exaudit.audit.edits import documents_key, labelled
from exaudit.cli import run
from exaudit.data.readers import read_documents
from exaudit.support import sketch_file
from exaudit.support.build import Build
from exaudit.support.store import LanceSupportSet

Cli = Callable[..., str]
DOCUMENT = "reviews-0-0"


def version() -> str:
    return Auditor.open("model").support.version


def test_verify_names_the_damaged_document(built: Path, cli: Cli, fails: Cli) -> None:
    told = json.loads(cli("support", "verify", "model", "--json"))
    assert (told["documents"], told["version"]) == (60, 1)
    assert told["tokens"] == len(Auditor.open("model").support)
    assert "is whole: " in cli("support", "verify", "model")
    documents = lance.dataset("model/support/documents.lance")
    documents.update({"text": "'something else'"}, where=f"id = '{DOCUMENT}'")
    head = read_sealed("model/support/head.json")
    head["tables"]["documents"] = lance.dataset("model/support/documents.lance").version  # it counts
    del head["checksums"]["documents"]
    write_sealed("model/support/head.json", head)
    assert f"document '{DOCUMENT}' is damaged" in fails("support", "verify", "model")
    assert "there is no support set here" in fails("support", "verify", "model", "--support", "elsewhere")


def test_a_session(built: Path, cli: Cli) -> None:
    before = version()
    label = json.loads(cli("support", "show", "model", DOCUMENT, "--json"))["label"]
    other = {"positive": "negative", "negative": "positive"}[label]
    told = cli(
        "support", "relabel", "model", DOCUMENT, "--label", other, "--author", "ann", "--reason", "a slip"
    )
    assert told.startswith("version 2 (")
    assert f"relabelled document '{DOCUMENT}' from '{label}' to '{other}'" in told
    cli("support", "relabel", "model", DOCUMENT, "--token", "3", "--label", "unknown")
    cli("support", "add", "model", "more.jsonl", "--reason", "more of them")
    cli("support", "remove", "model", "reviews-0-1", "reviews-0-2")
    cli("support", "tag", "model", "good")
    difference = json.loads(cli("support", "diff", "model", "1", "good", "--json"))
    assert (len(difference["added"]), difference["removed"]) == (10, ["reviews-0-1", "reviews-0-2"])
    assert difference["relabelled"] == [[DOCUMENT, label, other]]
    plain = cli("support", "diff", "model", "1")
    assert f"~ {DOCUMENT}: {label} -> {other}\n" in plain
    assert f"~ {DOCUMENT}, token 3: 0 -> unknown\n" in plain
    assert difference["tokens"] == [[DOCUMENT, 3, 0, "unknown"]]
    shown = json.loads(cli("support", "show", "model", DOCUMENT, "--json"))["token_labels"]
    assert shown[3] == "unknown"
    assert set(shown[:3] + shown[4:]) == {0, 1}
    assert f"token labels     {'  '.join(map(str, shown))}\n" in cli("support", "show", "model", DOCUMENT)
    log = cli("support", "log", "model")
    assert "ann" in log
    assert "(a slip)" in log
    assert "[good]" in log
    assert json.loads(cli("support", "log", "model", "--json"))[2]["why"] == "a slip"
    for _ in range(4):
        cli("support", "undo", "model")
    assert version() == before
    cli("support", "redo", "model")
    assert version() != before
    cli("support", "undo", "model")
    summary = json.loads(cli("support", "show", "model", "--json"))
    assert (summary["documents"], sum(summary["labels"].values())) == (60, 60)
    assert "documents        60\n" in cli("support", "show", "model")
    cli("support", "tag", "model", "good", "--delete")
    cli("support", "compact", "model")
    assert version() == before


def test_preview_writes_nothing(built: Path, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    def labels() -> dict[tuple[str, int], int]:
        lines = cli("label", "model", "reviews.test.jsonl", "--rule", "exag").splitlines()
        found = map(json.loads, lines)
        return {(d["id"], n): token["label"] for d in found for n, token in enumerate(d["tokens"])}

    cli("boundary", "model", "--by", "zero")  # where half of the words of this model are flagged
    before, at = labels(), version()
    ids = [f"reviews-0-{n}" for n in range(30)]
    for verb in (["add", "model", "more.jsonl"], ["remove", "model", *ids]):
        told = json.loads(cli("support", *verb, "--preview", "reviews.test.jsonl", "--json"))
        assert (version(), told["written"], told["rule"]) == (at, False, "exag")
        plain = cli("support", *verb, "--preview", "reviews.test.jsonl", "--rule", "exag").splitlines()
        assert len(plain) == len(told["flips"])
        cli("support", *verb)
        after = labels()
        flips = {key: after[key] for key in after if after[key] != before[key]}
        assert {(f["id"], f["position"]): f["after"] for f in told["flips"]} == flips
        cli("support", "undo", "model")
    assert flips
    capsys.readouterr()
    assert run(["support", "remove", "model", *ids, "--preview", "reviews.test.jsonl"]) == 0
    assert "preview, nothing was written" in capsys.readouterr().err


def test_numbered_files(built: Path, cli: Cli, fails: Cli) -> None:
    """Two files whose documents are only numbered do not get in each other's way."""
    cli("support", "add", "model", "reviews.dev.csv", "--id-prefix", "dev-")
    cli("support", "add", "model", "reviews.test.csv", "--id-prefix", "test-")
    assert "in the support set already" in fails(
        "support", "add", "model", "reviews.dev.csv", "--id-prefix", "dev-"
    )
    assert "replacing 40" in cli(
        "support", "add", "model", "reviews.dev.csv", "--id-prefix", "dev-", "--replace"
    )


def test_bad_input(built: Path, cli: Cli, fails: Cli, trained: Path, tmp_path: Path) -> None:
    at = version()
    assert "no document 'nobody'" in fails("support", "remove", "model", DOCUMENT, "nobody")
    assert "no document 'nobody'" in fails("support", "relabel", "model", "nobody", "--label", "negative")
    assert "'odd'" in fails("support", "relabel", "model", DOCUMENT, "--label", "odd")
    assert "no token 999" in fails("support", "relabel", "model", DOCUMENT, "--label", "1", "--token", "999")
    assert "0, 1 or unknown" in fails("support", "relabel", "model", DOCUMENT, "--label", "x", "--token", "0")
    assert "already" in fails("support", "build", "model", "more.jsonl")
    assert "no version 77" in fails("support", "diff", "model", "77")
    assert "from 1 to 100" in fails("knn", "fit", "model", "reviews.dev.jsonl", "-k", "101")
    (tmp_path / "odd.jsonl").write_text('{"id": "o", "text": "a b", "label": "odd"}\n')
    assert "unknown label 'odd'" in fails("support", "add", "model", "odd.jsonl")
    assert version() == at
    cli("train", "support.jsonl", "--out", "other", "--encoder", "none", "--filters", "4", "--epochs", "1")
    told = fails("label", "other", "reviews.test.jsonl", "--rule", "exag", "--support", "model/support")
    assert "belongs to another model" in told
    assert "belongs to another model" in fails(
        "support", "add", "other", "more.jsonl", "--support", "model/support"
    )
    assert "no support set here" in fails("support", "log", "other")
    assert "no support set here" in fails("label", "other", "reviews.test.jsonl", "--rule", "exag")
    assert version() == at


def test_k_larger_than_the_set(work: Path, cli: Cli, fails: Cli) -> None:
    (work / "one.jsonl").write_text('{"id": "o", "text": "good food", "label": "positive"}\n')
    cli("support", "build", "model", "one.jsonl")
    assert "has 2 rows" in fails("knn", "fit", "model", "reviews.dev.jsonl", "-k", "8")
    assert "has 2 rows" in fails("audit", "model", "good food", "--token", "0", "-k", "3")
    assert "»good«" in cli("audit", "model", "good food", "--token", "0")  # shows the two there are


def test_build_saves_what_the_search_works_out(work: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch_file, "SMALL", 10)
    cli("support", "build", "model", "reviews.dev.jsonl")
    sketches = work / "model" / "support" / "sketches.safetensors"
    written = sketches.read_bytes()
    answer = cli("audit", "model", "good food", "--token", "0", "--json")
    assert sketches.read_bytes() == written
    sketches.write_bytes(written[:-1])
    assert cli("audit", "model", "good food", "--token", "0", "--json") == answer
    assert sketches.stat().st_size == len(written)


@pytest.mark.parametrize("table", ["exemplars", "documents", "log"])
def test_damaged_table(built: Path, fails: Cli, table: str) -> None:
    for file in (built / "model" / "support" / f"{table}.lance" / "data").glob("*.lance"):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    fails("label", "model", "reviews.test.jsonl", "--rule", "exag")


def test_full_disk(built: Path, fails: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    at = version()

    def full(*_: object, **__: object) -> None:
        raise OSError("LanceError(IO): No space left on device (os error 28), /rust/io.rs:1")

    with monkeypatch.context() as patch:
        patch.setattr(lance, "write_dataset", full)
        assert "No space left on device" in fails("support", "add", "model", "more.jsonl")
        assert "No space left on device" in fails("support", "build", "model", "more.jsonl", "--replace")
        assert "No space left on device" in fails("support", "remove", "model", DOCUMENT)
    assert version() == at
    Auditor.open("model").support.verify()


BUILD = """
import sys
from exaudit.audit import edits
from exaudit.support.build import Build
edits._TOKENS = 150
add = Build.add

def telling(build, batch):
    add(build, batch)
    print("part", flush=True)

Build.add = telling
from exaudit.cli import run
sys.exit(run(["support", "build", "model", "reviews.train.jsonl"]))
"""


@pytest.mark.slow
def test_killed_builds_go_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, done = random.Random(4), []
    key = documents_key(labelled(read_documents("reviews.train.jsonl"), Auditor.open("model").model))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for parts in (1, 1, 3):
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(parts)] == ["part\n"] * parts
        time.sleep(draw.uniform(0, 0.05))  # somewhere in the next one
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        done.append(len(Build(LanceSupportSet.open("model/support"), key).done))
    assert 0 < done[0] < done[1] < done[2] < 300
    last = subprocess.run([sys.executable, "-c", BUILD], capture_output=True, text=True, env=environment)
    assert (last.returncode, last.stderr) == (0, "")
    monkeypatch.setattr("exaudit.audit.edits._TOKENS", 150)
    left = Auditor.open("model")
    left.support.verify()
    shutil.copytree("model", "straight", ignore=shutil.ignore_patterns("support"))
    assert run(["support", "build", "straight", "reviews.train.jsonl"]) == 0
    straight = Auditor.open("straight")
    assert left.support.version == straight.support.version
    assert left.support.ids == straight.support.ids
    assert [edit.kind for edit in left.support.log()] == ["create", "build"]
