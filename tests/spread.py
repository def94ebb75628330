"""A small stored support set, and what a search over its shards must answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exaudit.audit.index import ExemplarIndex
from exaudit.cluster.search import ShardedIndex
from exaudit.data.document import Document
from exaudit.decide.neighbours import Neighbours
from exaudit.support.exemplars import SupportBatch
from exaudit.support.store import LanceSupportSet

LABELS = ("negative", "positive")
QUERIES = np.random.default_rng(9).integers(-2, 3, (40, 3)).astype(np.float32)


def batch(ids: list[str], seed: int) -> SupportBatch:
    """Vectors on a small grid: most distances are tied, within shards and between them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, len(ids))
    documents = [
        Document.from_tokens(["a"] * int(n), id=id, label=LABELS[rng.integers(2)])
        for id, n in zip(ids, lengths, strict=True)
    ]
    n = int(lengths.sum())
    vectors = rng.integers(-2, 3, (n, 3)).astype(np.float32)
    return SupportBatch(documents, vectors, rng.normal(size=n).astype(np.float32), rng.integers(-1, 2, n))


def stored(folder: Path) -> LanceSupportSet:
    support = LanceSupportSet.create(folder, width=3, labels=LABELS, model="m")
    support.add(batch([f"a{n}" for n in range(30)], 0))
    support.add(batch([f"b{n}" for n in range(10)], 1))
    return support


def told(found: tuple[Neighbours, ...]) -> list[list[list[float]]]:
    (near,) = found
    columns = (near.distances, near.scores, near.labels, near.token_labels, near.rows)
    return [column.tolist() for column in columns]


def check(index: ShardedIndex, support: LanceSupportSet, k: int = 7) -> None:
    """The same as one process, to the last bit."""
    assert index.number == support.number
    one = ExemplarIndex(support).neighbours(QUERIES, k, offsets=[0.25])
    assert told(index.neighbours(QUERIES, k, offsets=[0.25])) == told(one)
