"""Verbs that read many files: folders, patterns and addresses, without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from exaudit.cli import run


@pytest.fixture
def corpus(work: Path) -> Path:
    """The 30 documents of the test file, in three files, and a file that is none."""
    lines = (work / "reviews.test.jsonl").read_text().splitlines(keepends=True)
    (work / "corpus").mkdir()
    for n in range(3):
        (work / "corpus" / f"{n}.jsonl").write_text("".join(lines[10 * n : 10 * n + 10]))
    (work / "corpus" / "README.md").write_text("about\n")
    return work / "corpus"


def labelled(out: Path) -> list[dict[str, object]]:
    return [
        json.loads(line) for path in sorted(out.glob("*.part-*")) for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("source", ["corpus", "corpus/*.jsonl", "file://{}/corpus"])
def test_a_folder_is_labelled_as_its_files_are(
    corpus: Path, work: Path, cli: Callable[..., str], source: str
) -> None:
    whole = [json.loads(line) for line in cli("label", "model", "reviews.test.jsonl").splitlines()]
    assert cli("label", "model", source.format(work), "--out", "out") == ""
    found = labelled(work / "out")
    assert [row["id"] for row in found] == [row["id"] for row in whole]
    assert [row["score"] for row in found] == pytest.approx([row["score"] for row in whole], abs=1e-5)


def test_parquet_by_name_and_by_ending(
    corpus: Path, work: Path, cli: Callable[..., str], fails: Callable[..., str]
) -> None:
    """Of a folder and of one file: what JSONL has."""
    whole = [json.loads(line) for line in cli("label", "model", "reviews.test.jsonl").splitlines()]
    cli("label", "model", "corpus", "--out", "out", "--as", "parquet")
    parts = sorted((work / "out").glob("*.part-*.parquet"))
    assert [path.name for path in parts] == [f"{n}.jsonl.part-00000.parquet" for n in range(3)]
    found = [row for path in parts for row in pq.read_table(path).to_pylist()]
    assert [row["id"] for row in found] == [row["id"] for row in whole]
    cli("label", "model", "reviews.test.jsonl", "--out", "all.parquet")
    assert pq.read_table(work / "all.parquet").to_pylist() == whole
    cli("label", "model", "reviews.test.jsonl", "--out", "all.parquet", "--as", "jsonl")
    assert json.loads((work / "all.parquet").read_text().splitlines()[0]) == whole[0]
    for out in ((), ("-o", "-"), ("-o", "/dev/null")):
        told = fails("label", "model", "reviews.test.jsonl", "--as", "parquet", *out)
        assert "Parquet is written into a file; name it with --out" in told
    told = fails("label", "model", "corpus", "-o", "new", "--as", "csv")
    assert "--as is 'csv'; choose jsonl or parquet" in told
    told = fails("label", "model", "reviews.test.jsonl", "-o", "b.parquet", "--watch-drift")
    assert "have no columns; write them with --as jsonl" in told


def test_what_was_done_is_told(corpus: Path, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "1.jsonl").write_text("broken\n")
    assert run(["label", "model", "corpus", "-o", "out"]) == 1
    assert "corpus/1.jsonl:1: a line is not JSON" in capsys.readouterr().err
    assert run(["label", "model", "corpus", "-o", "out", "--on-error", "skip"]) == 0
    told = capsys.readouterr().err
    assert "passed over 1 file of no known format: README.md" in told
    assert f"set aside: {corpus / '1.jsonl'}:1: a line is not JSON" in told
    assert "1 file set aside as damaged; the rest is done" in told
    assert "labelled 10 documents of 3 files into out; 1 shard had been labelled before" in told
    assert len(labelled(work / "out")) == 20


def test_rules_look_into_the_support_set(built: Path, corpus: Path, cli: Callable[..., str]) -> None:
    whole = [
        json.loads(line)
        for line in cli("label", "model", "reviews.test.jsonl", "--rule", "exag").splitlines()
    ]
    cli("label", "model", "corpus", "-o", "out", "--rule", "exag")
    found = labelled(built / "out")
    assert [[t["label"] for t in row["tokens"]] for row in found] == [
        [t["label"] for t in row["tokens"]] for row in whole
    ]
    assert [row["id"] for row in found] == [row["id"] for row in whole]


def test_what_cannot_be_is_refused(corpus: Path, fails: Callable[..., str]) -> None:
    assert "name it with --out" in fails("label", "model", "corpus")
    assert "it lies in corpus, which the command reads" in fails(
        "label", "model", "corpus", "-o", "corpus/out"
    )
    assert "the command reads it; choose another folder" in fails("label", "model", "corpus", "-o", "corpus")
    assert "--admit and --watch-drift follow" in fails("label", "model", "corpus", "-o", "out", "--admit")
    assert "--on-error is 'go'; choose stop or skip" in fails(
        "label", "model", "corpus", "-o", "out", "--on-error", "go"
    )
    assert "--on-error skip is about many files" in fails(
        "label", "model", "corpus/0.jsonl", "--on-error", "skip"
    )
    assert "--workers are those of a cluster" in fails("label", "model", "corpus/0.jsonl", "--workers", "2")
    assert "which only --rule, --knn and --admit look into" in fails(
        "label", "model", "corpus", "-o", "out", "--stream"
    )


@pytest.mark.parametrize("verb", ["label", "features", "support build", "audit"])
def test_without_ray_it_says_what_to_install(
    corpus: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    out = ["-o", "out"] if verb == "label" else []
    what = "a good film" if verb == "audit" else "corpus/0.jsonl"
    told = fails(*verb.split(), "model", what, "--ray", "auto", *out)
    assert told == "exaudit: --ray needs Ray; install it with: pip install 'exaudit[ray]'\n"


def test_the_features_of_a_folder_are_those_of_its_documents(corpus: Path, cli: Callable[..., str]) -> None:
    assert cli("features", "model", "corpus") == cli("features", "model", "reviews.test.jsonl")


def test_a_support_set_of_a_folder(
    corpus: Path, cli: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "1.jsonl").write_text("broken\n")
    assert run(["support", "build", "model", "corpus"]) == 1
    assert "corpus/1.jsonl:1: a line is not JSON" in capsys.readouterr().err
    built = cli("support", "build", "model", "corpus", "--on-error", "skip", "--json")
    assert json.loads(built)["documents_added"] == 20


def test_plain_verbs_never_import_ray(corpus: Path, work: Path) -> None:
    code = """
import sys
from exaudit.cli import run
for verb in (["label", "model", "corpus", "-o", "out"], ["label", "model", "corpus/0.jsonl"],
             ["label", "model", "corpus", "-o", "columns", "--as", "parquet"],
             ["features", "model", "corpus"], ["support", "build", "model", "corpus"],
             ["audit", "model", "a good film", "--token", "1"]):
    assert run(verb) == 0
sys.exit("ray" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=work)
    assert done.returncode == 0, done.stderr
