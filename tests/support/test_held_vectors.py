"""A set that was just opened: the first few questions read little, and are answered as brute force answers them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.audit import index as index_module
from exaudit.audit.index import ExemplarIndex
from exaudit.errors import SupportError
from exaudit.support import held_vectors, search, sketch_file, verification
from exaudit.support.autotune import choose_projection
from exaudit.support.exemplars import SupportBatch
from exaudit.support.held_vectors import HeldVectors
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from exaudit.support.support_set import SupportSet

BatchOf = Callable[..., SupportBatch]
QUERIES = np.random.default_rng(9).standard_normal((40, 4), dtype=np.float32)
K = 2


@pytest.fixture(autouse=True)
def _sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sets have saved sketches, too, and never so much is read of them that the rest is read with it."""

    def choose(sample: torch.Tensor, _: Any, rows: int) -> Any:
        return choose_projection(sample, 3, rows)

    monkeypatch.setattr(search, "choose_projection", choose)
    monkeypatch.setattr(sketch_file, "SMALL", 10)
    monkeypatch.setattr(held_vectors, "MANY", 1.0)


@pytest.fixture
def stored(tmp_path: Path, batch_of: BatchOf) -> LanceSupportSet:
    """A set on disk with two hundred documents of two tokens each, and its sketches."""
    support = LanceSupportSet.create(
        tmp_path / "support", width=4, labels=("negative", "positive"), model="m"
    )
    support.add(batch_of([f"d{n}" for n in range(200)], tokens=2))
    ExemplarIndex(support)
    return LanceSupportSet.open(support.where)


def brute(support: SupportSet, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows, by distance and then by row."""
    all_ = support.exemplars()
    assert all_.vectors is not None
    squared = ((all_.vectors.astype(np.float64) - queries[:, None].astype(np.float64)) ** 2).sum(axis=2)
    order = np.array([np.lexsort((all_.row, each))[:K] for each in squared])
    distances = np.sqrt(np.take_along_axis(squared, order, axis=1))
    return distances.astype(np.float32), all_.row[order]


def check(index: ExemplarIndex, support: SupportSet, queries: np.ndarray) -> None:
    (found,) = index.neighbours(queries, K, offsets=[0.0])
    distances, rows = brute(support, queries)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_almost_equal_nulp(found.distances, distances, 1)
    at = np.searchsorted(support.exemplars(vectors=False).row, rows)
    np.testing.assert_array_equal(found.scores, support.exemplars(vectors=False).scores[at, 0])
    np.testing.assert_array_equal(found.labels, support.exemplars(vectors=False).labels[at, 0])


def count(index: ExemplarIndex) -> int:
    """Vectors that were read."""
    return int(np.count_nonzero(index._vectors._read))


def test_a_question_reads_what_it_needs(stored: LanceSupportSet) -> None:
    index = ExemplarIndex(stored)
    assert count(index) == 0
    check(index, stored, QUERIES[:1])
    assert 0 < count(index) < 100
    before = count(index)
    check(index, stored, QUERIES[:1])
    assert count(index) == before
    check(index, stored, QUERIES[1:5])
    assert before < count(index) < 400
    assert not index._vectors.whole
    assert index.verified


def test_to_the_last_bit_what_a_search_of_all_vectors_says(stored: LanceSupportSet) -> None:
    index, whole = ExemplarIndex(stored), ExemplarIndex(stored)
    whole.prepare()
    assert whole._vectors.whole
    for query in QUERIES:
        (few,), (all_,) = (each.neighbours(query[None], K, offsets=[0.0]) for each in (index, whole))
        assert few.distances.tobytes() == all_.distances.tobytes()
        assert few.rows.tobytes() == all_.rows.tobytes()
    assert not index._vectors.whole


def test_edits_between_questions(stored: LanceSupportSet, batch_of: BatchOf) -> None:
    index, asked = ExemplarIndex(stored), iter(QUERIES[:, None])
    nearest = stored.owners(brute(stored, QUERIES[:1])[1].ravel()).tolist()
    ids = [document.id for document in stored.documents(nearest)]
    turned = "negative" if stored.document(ids[0]).label == "positive" else "positive"
    edits: list[Callable[[], object]] = [
        lambda: stored.add(batch_of(["n1", "n2"], tokens=3)),
        lambda: stored.relabel_document(ids[0], turned),
        lambda: stored.remove(ids),
        lambda: stored.undo(),
        lambda: stored.redo(),
        lambda: stored.add(batch_of(["d7"], tokens=3, salt=1), replace=True),
        lambda: stored.undo(),
        lambda: stored.compact(),
    ]
    for edit in edits:
        edit()
        index.follow(stored)
        check(index, stored, QUERIES[:1])
        check(index, stored, next(asked))
        check(ExemplarIndex(LanceSupportSet.open(stored.where)), stored, QUERIES[:1])
    assert not index._vectors.whole


def test_what_was_removed_and_compacted_elsewhere_is_not_looked_for(
    stored: LanceSupportSet, batch_of: BatchOf
) -> None:
    index = ExemplarIndex(stored)
    check(index, stored, QUERIES[:1])
    other = LanceSupportSet.open(stored.where)
    other.remove([f"d{n}" for n in range(20)])
    other.compact()
    stored.refresh()
    index.follow(stored)
    check(index, stored, QUERIES[:1])
    other.add(batch_of([f"n{n}" for n in range(80)], tokens=2))  # calls for a fit to all that is there
    stored.refresh()
    index.follow(stored)
    check(index, stored, QUERIES[:1])
    check(index, stored, QUERIES)


def test_a_preview_leaves_no_trace(stored: LanceSupportSet, batch_of: BatchOf) -> None:
    index = ExemplarIndex(stored)
    trial = MemorySupportSet.preview(stored)
    trial.remove([f"d{n}" for n in range(50)])
    trial.add(batch_of(["x"], tokens=2))
    with index.trying(trial) as tried:
        check(tried, trial, QUERIES[:3])
    check(index, stored, QUERIES[:3])
    assert not index._vectors.whole


def test_many_questions_read_all(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "FEW", 3)
    index = ExemplarIndex(stored)
    check(index, stored, QUERIES[:3])
    assert not index._vectors.whole
    check(index, stored, QUERIES[:4])
    assert index._vectors.whole
    stored.remove("d0")
    index.follow(stored)
    assert index._vectors.whole  # nothing is read again
    check(index, stored, QUERIES)


def test_a_few_questions_time_and_again_read_all_in_the_end(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_vectors, "MANY", 0.2)
    index = ExemplarIndex(stored)
    for query in QUERIES:
        was = count(index)
        check(index, stored, query[None])
        assert index._vectors.whole == (was > 80)
    assert index._vectors.whole


@pytest.mark.parametrize("at_once", [0, 1 << 20])
def test_damage_is_found_where_it_is_read(
    stored: LanceSupportSet,
    unsealed: Callable[[LanceSupportSet], None],
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    monkeypatch.setattr(verification, "_AT_ONCE", at_once)
    vectors = stored.exemplars().vectors
    assert vectors is not None
    (file,) = (p for p in Path(stored.where).glob("exemplars.lance/data/*") if p.stat().st_size > 6000)
    vector = vectors[100].tobytes()
    assert file.read_bytes().count(vector) == 1
    file.write_bytes(file.read_bytes().replace(vector, bytes([vector[0] ^ 1]) + vector[1:]))
    unsealed(stored)
    index = ExemplarIndex(LanceSupportSet.open(stored.where))
    far = vectors[np.square(vectors - vectors[100]).sum(axis=1).argmax()][None]
    check(index, stored, far)
    with pytest.raises(SupportError, match="document 'd50' is damaged"):
        index.neighbours(vectors[100][None], K, offsets=[0.0])
    index.neighbours(far, K, offsets=[0.0])
    with suppress(SupportError):  # unless it is compared in the background
        index.prepare()
    with pytest.raises(SupportError, match="document 'd50' is damaged"):
        index.wait()
    with pytest.raises(SupportError, match="document 'd50' is damaged"):
        index.neighbours(far, K, offsets=[0.0])


def test_a_set_without_sketches_is_read_at_once(stored: LanceSupportSet) -> None:
    (Path(stored.where) / sketch_file.NAME).unlink()
    assert ExemplarIndex(stored)._vectors.whole
    assert not ExemplarIndex(stored)._vectors.whole  # they are there by now


def test_rows_that_are_read_are_those_of_whole_documents(stored: LanceSupportSet) -> None:
    vectors = HeldVectors(stored, stored.exemplars(vectors=False))
    vectors.need(np.array([5, 30, 5]))
    np.testing.assert_array_equal(np.flatnonzero(vectors._read), [4, 5, 30, 31])
    np.testing.assert_array_equal(vectors.array[[4, 5, 30, 31]], stored.vectors([4, 5, 30, 31]))
    assert not vectors.array[6:30].any()
    vectors.need_all()
    np.testing.assert_array_equal(vectors.array, stored.exemplars().vectors)


def test_checksums_are_saved_with_the_sketches(stored: LanceSupportSet) -> None:
    saved = sketch_file.SavedSketches.checked(Path(stored.where) / sketch_file.NAME)
    all_ = stored.exemplars().vectors
    assert all_ is not None
    assert [sum_.tobytes() for sum_ in saved.checksums] == [
        hashlib.sha256(vector.tobytes()).digest()[:16] for vector in all_
    ]
    part = saved.only(np.array([3, 1]))
    np.testing.assert_array_equal(part.checksums, saved.checksums[[6, 7, 2, 3]])


def test_documents_of_the_answers_are_compared_whole(stored: LanceSupportSet) -> None:
    """A score that is not what was added is noticed, though only vectors were looked for."""
    vectors = stored.exemplars().vectors
    assert vectors is not None
    stored._state.scores[101] += 1
    index = ExemplarIndex(stored)
    far = vectors[np.square(vectors - vectors[100]).sum(axis=1).argmax()][None]
    index.neighbours(far, K, offsets=[0.0])
    with pytest.raises(SupportError, match="document 'd50' is damaged"):
        index.neighbours(vectors[100][None], K, offsets=[0.0])


def test_vectors_in_half_precision_and_of_an_empty_set(tmp_path: Path, batch_of: BatchOf) -> None:
    support = LanceSupportSet.create(
        tmp_path / "support", width=4, labels=("negative", "positive"), model="m", dtype="float16"
    )
    empty = HeldVectors(support, support.exemplars(vectors=False))
    empty.need_all()
    assert empty.array.shape == (0, 4)
    support.add(batch_of([f"d{n}" for n in range(100)], tokens=2))
    ExemplarIndex(support)
    index = ExemplarIndex(LanceSupportSet.open(support.where))
    check(index, support, QUERIES[:1])
    assert 0 < count(index) < 200
