"""Verbs on three nodes: what the plain ones give, whatever is lost on the way."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.audit import Auditor
from exaudit.cli import run
from tiny import reviews, tiny_bert, tiny_labeler

pytestmark = pytest.mark.slow

FILES, EACH = 12, 40
LONGEST = 600  # seconds, on a machine that is busy with other things


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a tiny Transformer, and a corpus of twelve files in three formats."""
    folder = tmp_path_factory.mktemp("label")
    tiny_labeler(encoder=str(tiny_bert(folder / "bert"))).fit(reviews(60)).save(folder / "model")
    documents = reviews(FILES * EACH, seed=3)
    (folder / "corpus").mkdir()
    for n in range(FILES):
        write(folder / "corpus", n, documents[n * EACH : (n + 1) * EACH])
    assert run(["label", str(folder / "model"), str(folder / "corpus"), "-o", str(folder / "plain")]) == 0
    return folder


def write(folder: Path, n: int, documents: list[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    rows = [{"id": d.id, "text": d.text} for d in documents]
    name = folder / f"{n:02}"
    if n % 3 == 0:
        name.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif n % 3 == 1:
        with name.with_suffix(".csv").open("w", newline="") as file:
            table = csv.DictWriter(file, ["id", "text"])
            table.writeheader()
            table.writerows(rows)
    else:
        pa.parquet.write_table(pa.Table.from_pylist(rows), name.with_suffix(".parquet"))


def outputs(out: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        path.name: [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(out.glob("*.part-*.jsonl"))
    }


def same(found: Path, wanted: Path) -> None:
    """Every shard, every document, every decision; scores but for the last digits."""
    ours, theirs = outputs(found), outputs(wanted)
    assert list(ours) == list(theirs)
    for name, rows in ours.items():
        for one, other in zip(rows, theirs[name], strict=True):
            assert (one["id"], one["label"]) == (other["id"], other["label"])
            assert one["score"] == pytest.approx(other["score"], abs=1e-5)
            for token, token_there in zip(one["tokens"], other["tokens"], strict=True):
                assert (token["text"], token["label"]) == (token_there["text"], token_there["label"])
                assert token["score"] == pytest.approx(token_there["score"], abs=1e-5)
    assert not list(found.glob(".*"))


def started(work: Path, out: Path, nodes: Any, *options: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = ["label", work / "model", work / "corpus", "-o", out, "--ray", nodes.address, *options]
    return subprocess.Popen(
        [sys.executable, "-m", "exaudit", *map(str, command)], stderr=subprocess.PIPE, text=True
    )


def wait_for(what: Callable[[], bool], seconds: float = LONGEST) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_three_nodes_give_what_one_process_gives(work: Path, nodes: Any, tmp_path: Path) -> None:
    process = started(work, tmp_path / "out", nodes)
    assert (
        f"labelled {FILES * EACH} documents of {FILES} files into" in process.communicate(timeout=LONGEST)[1]
    )
    assert process.returncode == 0
    same(tmp_path / "out", work / "plain")


def test_parquet_from_three_nodes_is_the_same(work: Path, nodes: Any, tmp_path: Path) -> None:
    import pyarrow.dataset

    process = started(work, tmp_path / "out", nodes, "--as", "parquet")
    told = process.communicate(timeout=LONGEST)[1]
    assert process.returncode == 0, told
    table = pyarrow.dataset.dataset(tmp_path / "out", format="parquet").to_table()
    found = {row["id"]: row for row in table.to_pylist()}
    wanted = {row["id"]: row for rows in outputs(work / "plain").values() for row in rows}
    assert found.keys() == wanted.keys()
    for name, row in found.items():
        assert row["label"] == wanted[name]["label"]
        assert [token["text"] for token in row["tokens"]] == [
            token["text"] for token in wanted[name]["tokens"]
        ]
        assert row["score"] == pytest.approx(wanted[name]["score"], abs=1e-5)


def test_a_node_is_killed_in_the_middle(work: Path, nodes: Any, tmp_path: Path) -> None:
    process = started(work, tmp_path / "out", nodes)
    wait_for(lambda: len(list(tmp_path.glob("out/*.part-*.jsonl"))) >= 2 or process.poll() is not None)
    assert len(list(tmp_path.glob("out/*.part-*.jsonl"))) < FILES, "it was too quick to be disturbed"
    nodes.kill(nodes.others()[0])
    told = process.communicate(timeout=LONGEST)[1]
    nodes.add()
    assert process.returncode == 0, told
    same(tmp_path / "out", work / "plain")


def test_the_driver_is_killed_and_the_next_goes_on(work: Path, nodes: Any, tmp_path: Path) -> None:
    def done() -> dict[str, tuple[int, int]]:
        found = {path.name: path.stat() for path in tmp_path.glob("out/*.part-*.jsonl")}
        return {name: (status.st_ino, status.st_mtime_ns) for name, status in found.items()}

    process = started(work, tmp_path / "out", nodes)
    wait_for(lambda: len(done()) >= 2 or process.poll() is not None)
    assert process.poll() is None, "it ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = done()
    assert 2 <= len(before) < FILES, "it was too quick to be disturbed"
    again = started(work, tmp_path / "out", nodes)
    told = again.communicate(timeout=LONGEST)[1]
    assert again.returncode == 0, told
    passed = re.search(r"; (\d+) shards had been labelled before", told)
    assert passed is not None, told
    assert len(before) <= int(passed[1]) < FILES  # workers may have ended what they were at
    assert before.items() <= done().items()  # the same files, not new ones of the same name
    same(tmp_path / "out", work / "plain")


def test_a_damaged_file_among_many(work: Path, nodes: Any, tmp_path: Path) -> None:
    damaged = work / "corpus" / "02.parquet"
    whole = damaged.read_bytes()
    try:
        damaged.write_bytes(whole[:-100])
        process = started(work, tmp_path / "stop", nodes, "--workers", "1")
        told = process.communicate(timeout=LONGEST)[1]
        assert process.returncode == 1
        assert f"exaudit: {damaged}: this is not a Parquet file, or it is damaged" in told
        process = started(work, tmp_path / "out", nodes, "--on-error", "skip")
        told = process.communicate(timeout=LONGEST)[1]
        assert process.returncode == 0, told
        assert f"set aside: {damaged}: this is not a Parquet file" in told
        assert "1 file set aside as damaged; the rest is done" in told
    finally:
        damaged.write_bytes(whole)
    ours, theirs = outputs(tmp_path / "out"), outputs(work / "plain")
    assert list(ours) == [name for name in theirs if not name.startswith("02.parquet")]


def called(*arguments: object) -> str:
    """A verb that must succeed, in a process of its own: this one is never connected to the cluster."""
    command = [sys.executable, "-m", "exaudit", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_features_are_the_same(work: Path, nodes: Any) -> None:
    asked = "features", work / "model", work / "corpus", "--as", "json"
    assert json.loads(called(*asked, "--ray", nodes.address)) == json.loads(called(*asked))


def test_the_support_set_is_the_same(work: Path, nodes: Any, tmp_path: Path) -> None:
    rows = [json.dumps({"id": d.id, "text": d.text, "label": d.label}) for d in reviews(700, seed=8)]
    (tmp_path / "some.jsonl").write_text("\n".join(rows) + "\n")
    sets = []
    for name, more in (("plain", ()), ("ray", ("--ray", nodes.address))):
        shutil.copytree(work / "model", tmp_path / name)
        told = called("support", "build", tmp_path / name, tmp_path / "some.jsonl", "--json", *more)
        assert json.loads(told)["documents_added"] == 700
        sets.append(Auditor.open(tmp_path / name, device="cpu").support)
    assert sets[0].ids == sets[1].ids
    vectors = [found.vectors(np.arange(len(found))) for found in sets]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)


def test_training_reads_what_the_cluster_encoded(work: Path, nodes: Any, tmp_path: Path) -> None:
    rows = [json.dumps({"text": d.text, "label": d.label}) for d in reviews(60)]
    (tmp_path / "some.jsonl").write_text("\n".join(rows) + "\n")
    asked = ["train", tmp_path / "some.jsonl", "--encoder", work / "bert", "--cache", tmp_path / "cache"]
    asked += ["--filters", 8, "--epochs", 1, "--vocabulary", 50, "--device", "cpu"]
    called(*asked, "-o", tmp_path / "model", "--ray", nodes.address)
    files = set((tmp_path / "cache").rglob("*.safetensors"))
    assert len(files) == 1
    called(*asked, "-o", tmp_path / "again")
    assert set((tmp_path / "cache").rglob("*.safetensors")) == files
