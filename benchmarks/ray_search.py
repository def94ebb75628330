"""Search over shards on a Ray cluster against one process. The last line is one JSON object.

    python benchmarks/ray_search.py                     a cluster of its own on loopback, with two cores
    python benchmarks/ray_search.py --ray host:port     one that runs already, with access to --folder

Both search the same stored set with the same number of threads in all, in turns, and the best of each counts. `cost` is
the time over shards divided by that of one process, less one: what sending queries and merging answers takes, and that
the k nearest are found once in each shard. `ms` is what one token takes, `load_s` reading and fitting (in shards, with
the start of their processes). `identical` compares all rows, distances and labels.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from search import WIDTH, make_files

sys.path.pop(0)  # the file ray.py beside this one is not the `ray` that others import

from exaudit.audit.index import ExemplarIndex, Index
from exaudit.cluster.connect import connected
from exaudit.data.document import Document
from exaudit.support.exemplars import SupportBatch

if TYPE_CHECKING:
    from exaudit.support.store import LanceSupportSet

LABELS = ("negative", "positive")
LENGTH, BATCH = 16, 512  # tokens of a document, documents of a batch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--count", type=int, default=2048, help="queries")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument(
        "--shards", type=int, default=2, help="each with a thread, as many as one process has"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--ray", default="local")
    parser.add_argument("--folder", type=Path, help="for the support set; all nodes must be able to read it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps(run(options, Path(folder))))


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    torch.set_num_threads(options.shards)
    files = make_files(folder, options.rows // LENGTH * LENGTH, options.count)
    queries = np.load(files[1])
    with connected(options.ray):
        from exaudit.cluster.search import ShardedIndex

        support = stored(folder / "support", np.load(files[0], mmap_mode="r"))
        one, one_load = timed(lambda: ExemplarIndex(support))
        one.prepare()
        many, many_load = timed(lambda: ShardedIndex(support, shards=options.shards))
        seconds: dict[str, list[float]] = {"one": [], "many": []}
        singles: dict[str, list[float]] = {"one": [], "many": []}
        for turn in range(options.turns):
            answers = []
            for name, index in (("one", one), ("many", many)):
                found, took = timed(lambda index=index: ask(index, queries, options.k))
                answers.append(found)
                seconds[name].append(took)
                for query in queries[:10, None]:
                    singles[name].append(
                        timed(lambda index=index, query=query: ask(index, query, options.k))[1]
                    )
            same = all(np.array_equal(a, b) for a, b in zip(*answers, strict=True))
            print(
                f"turn {turn}: {seconds['one'][-1]:.3f} s, {seconds['many'][-1]:.3f} s over shards",
                flush=True,
            )
        many.close()
    return {
        "rows": options.rows,
        "queries": len(queries),
        "k": options.k,
        "shards": options.shards,
        "seconds": round(min(seconds["one"]), 3),
        "sharded_seconds": round(min(seconds["many"]), 3),
        "cost": round(min(seconds["many"]) / min(seconds["one"]) - 1, 3),
        "ms": round(1000 * float(np.median(singles["one"])), 1),
        "sharded_ms": round(1000 * float(np.median(singles["many"])), 1),
        "load_s": round(one_load, 1),
        "sharded_load_s": round(many_load, 1),
        "identical": same,
    }


def stored(folder: Path, vectors: np.ndarray) -> LanceSupportSet:
    from exaudit.support.store import LanceSupportSet  # after Ray has forked, which Lance warns of

    support = LanceSupportSet.create(folder, width=WIDTH, labels=LABELS, model="benchmark")
    tokens = LENGTH * BATCH
    for start in range(0, len(vectors), tokens):
        part = np.array(vectors[start : start + tokens])
        documents = [
            Document.from_tokens(["word"] * LENGTH, id=f"{start + n}", label=LABELS[n % 2])
            for n in range(0, len(part), LENGTH)
        ]
        support.add(SupportBatch(documents, part, np.zeros(len(part), np.float32)))
    return support


def ask(index: Index, queries: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    (found,) = index.neighbours(queries, k, offsets=[0.0])
    return found.rows, found.distances, found.labels


def timed(work: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


if __name__ == "__main__":
    main()
