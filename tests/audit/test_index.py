"""The index answers as brute force over the set as it is, after every kind of edit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from exaudit.audit.index import ExemplarIndex
from exaudit.data.document import Document
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.memory import MemorySupportSet
from exaudit.support.support_set import SupportSet

LABELS = ("negative", "positive")
QUERIES = np.random.default_rng(9).integers(-2, 3, (7, 3)).astype(np.float32)


def batch(ids: list[str], seed: int) -> SupportBatch:
    """Vectors on a small grid: most distances are tied."""
    rng = np.random.default_rng(seed)
    documents = [Document.from_tokens(["a", "b", "c"], id=id, label=LABELS[rng.integers(2)]) for id in ids]
    n = 3 * len(ids)
    vectors = rng.integers(-2, 3, (n, 3)).astype(np.float32)
    return SupportBatch(documents, vectors, rng.normal(size=n).astype(np.float32), rng.integers(-1, 2, n))


def brute(support: SupportSet, k: int, offset: float) -> list[list[tuple[float, ...]]]:
    """Distance, then row; everything about each neighbour."""
    all_ = support.exemplars()
    assert all_.vectors is not None
    found = []
    for query in QUERIES.astype(np.float64):
        squared = ((all_.vectors.astype(np.float64) - query) ** 2).sum(1)
        order = np.lexsort((all_.row, squared))[:k]
        found.append(
            [
                (
                    float(np.float32(np.sqrt(squared[i]))),
                    float(all_.scores[i, 0] - np.float32(offset)),
                    int(all_.labels[i, 0]),
                    int(all_.token_labels[i, 0]),
                    int(all_.row[i]),
                )
                for i in order
            ]
        )
    return found


def told(neighbours: Neighbours) -> list[list[tuple[float, ...]]]:
    columns = (
        neighbours.distances,
        neighbours.scores,
        neighbours.labels,
        neighbours.token_labels,
        neighbours.rows,
    )
    return [
        list(zip(*(column[n].tolist() for column in columns), strict=True)) for n in range(len(neighbours))
    ]


def start() -> MemorySupportSet:
    support = MemorySupportSet.create(width=3, labels=LABELS)
    support.add(batch(["a", "b", "c", "d"], 0))
    return support


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stream", [False, True])
def test_follows_random_edits(seed: int, stream: bool) -> None:
    rng = np.random.default_rng(seed)
    support = start()
    if seed % 2:
        support.remove("b")  # so that an undo brings rows that the index never had, and that come first
    index = ExemplarIndex(support, stream=stream)
    for step in range(30):
        ids = list(support.ids)
        kind = rng.integers(7)
        try:
            if kind == 0:
                support.add(batch([f"n{step}", f"m{step}"], step))
            elif kind == 1:
                support.add(batch([str(rng.choice(ids))], step), replace=True)
            elif kind == 2 and len(ids) > 2:
                support.remove([str(id) for id in rng.choice(ids, 2, replace=False)])
            elif kind == 3:
                support.relabel_document(str(rng.choice(ids)), LABELS[rng.integers(2)])
            elif kind == 4:
                support.relabel_token(str(rng.choice(ids)), 1, [0, 1, None][rng.integers(3)])
            elif kind == 5:
                support.undo()
                if not support.ids:
                    support.redo()
            else:
                support.redo()
        except SupportError:  # nothing to undo, or labelled so already
            continue
        if rng.integers(3):  # sometimes several edits at once
            index.follow(support)
            k = min(int(rng.integers(1, 6)), len(support))
            assert told(index.neighbours(QUERIES, k, offsets=[0.25])[0]) == brute(support, k, 0.25)
    index.follow(support)
    k = min(3, len(support))
    assert told(index.neighbours(QUERIES, k, offsets=[0.0])[0]) == brute(support, k, 0.0)


EDITS: dict[str, Callable[[SupportSet], object]] = {
    "add": lambda trial: trial.add(batch(["x"], 5)),
    "remove": lambda trial: trial.remove("c"),
    "relabel": lambda trial: trial.relabel_document("c", LABELS[trial.document("c").label == LABELS[0]]),
    "replace": lambda trial: trial.add(batch(["c"], 6), replace=True),
    "undo": lambda trial: trial.undo(),  # brings rows that are not in the index
}


@pytest.mark.parametrize("edit", EDITS)
def test_trying_leaves_no_trace(edit: str) -> None:
    support = start()
    support.remove("a")
    index = ExemplarIndex(support)
    before = told(index.neighbours(QUERIES, 4, offsets=[0.0])[0])
    for _ in range(2):
        trial = MemorySupportSet.preview(support)
        EDITS[edit](trial)
        with index.trying(trial) as tried:
            assert told(tried.neighbours(QUERIES, 4, offsets=[0.0])[0]) == brute(trial, 4, 0.0)
        assert told(index.neighbours(QUERIES, 4, offsets=[0.0])[0]) == before
    support.add(batch(["y"], 7))  # takes the rows that the trial had used
    index.follow(support)
    assert told(index.neighbours(QUERIES, 4, offsets=[0.0])[0]) == brute(support, 4, 0.0)


def test_a_failed_preview_leaves_the_index_as_it_was() -> None:
    support = start()
    index = ExemplarIndex(support)
    before = told(index.neighbours(QUERIES, 4, offsets=[0.0])[0])
    trial = MemorySupportSet.preview(support)
    trial.add(batch(["x"], 5))
    with pytest.raises(RuntimeError, match="stop"), index.trying(trial):
        raise RuntimeError("stop")
    assert told(index.neighbours(QUERIES, 4, offsets=[0.0])[0]) == before


def test_empty_set_and_k_too_large() -> None:
    empty = MemorySupportSet.create(width=3, labels=LABELS)
    index = ExemplarIndex(empty)
    with pytest.raises(SupportError, match="empty"):
        index.neighbours(QUERIES, 1, offsets=[0.0])[0]
    empty.add(batch(["a"], 0))
    index.follow(empty)
    assert told(index.neighbours(QUERIES, 3, offsets=[0.0])[0]) == brute(empty, 3, 0.0)
    with pytest.raises(SupportError, match="3 rows"):
        index.neighbours(QUERIES, 4, offsets=[0.0])[0]
    with pytest.raises(SupportError, match="same model"):
        index.neighbours(QUERIES[:, :2], 1, offsets=[0.0])


def test_a_set_that_does_not_fit_into_memory_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    support = MemorySupportSet.create(width=3, labels=LABELS)
    support.add(batch(["a", "b"], 1))
    # The vectors take 72 bytes, and a search of them 93.
    monkeypatch.setattr("exaudit.audit.index.available_memory", lambda: 92)
    with pytest.raises(SupportError, match="memory are left; search it from disk with `stream`"):
        ExemplarIndex(support)
    assert len(ExemplarIndex(support, stream=True)) == 6
    monkeypatch.setattr("exaudit.audit.index.available_memory", lambda: 93)
    assert len(ExemplarIndex(support)) == 6
