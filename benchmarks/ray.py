"""Labelling with the workers of a Ray cluster against the plain command, on one machine, in turns.

overhead       time of `exaudit label --ray local` over that of the plain command, less one: a cluster is made, workers
               load the model, shards are written, and the cluster is taken down; below zero it is quicker
start_seconds  the same command where everything is labelled already
weak_scaling   time of one worker with half of the documents over that of two workers with all, each with one thread;
               1 is perfect
equal          whether ids and decisions are the same, and scores to 1e-5

    python benchmarks/ray.py [--documents 50000] [--rounds 3]     # --documents 2000 --rounds 1 to try it
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.pop(0)  # this file is not the `ray` that others import

from exaudit.data.sample import sample_documents
from exaudit.model.labeler import Labeler


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options.documents, options.rounds)))


def measure(folder: Path, count: int, rounds: int) -> dict[str, object]:
    model = folder / "model"
    Labeler(epochs=1, device="cpu", cache="").fit(sample_documents("learner", 200, seed=0)).save(model)
    whole, half = write(folder / "whole.jsonl", count), write(folder / "half.jsonl", count // 2)
    times: dict[str, list[float]] = {}

    def timed(name: str, source: Path, *more: str, threads: int | None = None, keep: bool = False) -> None:
        out = folder / name
        if not keep:
            shutil.rmtree(out, ignore_errors=True)
        environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
        command = [sys.executable, "-m", "exaudit", "label", str(model), str(source), "-o", str(out), *more]
        start = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
        times.setdefault(name + "-again" * keep, []).append(time.perf_counter() - start)
        print(name, *more, f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)

    for number in range(rounds):
        timed("plain.jsonl", whole)
        timed("ray", whole, "--ray", "local")
        if number == 0:
            timed("ray", whole, "--ray", "local", keep=True)
        timed("one", half, "--ray", "local", "--workers", "1", threads=1)
        timed("two", whole, "--ray", "local", "--workers", "2", threads=1)
    ratios = [ray / plain for plain, ray in zip(times["plain.jsonl"], times["ray"], strict=True)]
    scaling = [one / two for one, two in zip(times["one"], times["two"], strict=True)]
    return {
        "documents": count,
        "cores": os.cpu_count(),
        "plain_seconds": round(statistics.median(times["plain.jsonl"]), 1),
        "ray_seconds": round(statistics.median(times["ray"]), 1),
        "overhead": round(statistics.median(ratios) - 1, 3),
        "start_seconds": round(times["ray-again"][0], 1),
        "weak_scaling": round(statistics.median(scaling), 3),
        "equal": equal(folder / "plain.jsonl", folder / "ray"),
    }


def write(path: Path, count: int) -> Path:
    documents = sample_documents("learner", min(count, 5000), seed=1)
    rows = ({"id": str(n), "text": documents[n % len(documents)].text} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def equal(plain: Path, out: Path) -> bool:
    parts = sorted(out.glob("*.part-*.jsonl"))
    ours = [json.loads(line) for part in parts for line in part.read_text("utf-8").splitlines()]
    theirs = [json.loads(line) for line in plain.read_text("utf-8").splitlines()]
    return len(ours) == len(theirs) and all(map(same, ours, theirs))


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    if (one["id"], one["label"]) != (other["id"], other["label"]):
        return False
    pairs = [(one, other), *zip(one["tokens"], other["tokens"], strict=True)]  # type: ignore[call-overload]
    return all(a["label"] == b["label"] and abs(a["score"] - b["score"]) <= 1e-5 for a, b in pairs)


if __name__ == "__main__":
    main()
