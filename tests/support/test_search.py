from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from exaudit.errors import SettingError, SupportError
from exaudit.support import projection as projection_module
from exaudit.support import search as search_module
from exaudit.support.autotune import choose_projection
from exaudit.support.projection import fast_dtype
from exaudit.support.search import ExactSearch
from exaudit.support.vector_file import VectorFile

KINDS = ("random", "duplicated", "low-rank", "constant", "zero", "offset", "tiny", "huge", "uneven", "grid")


def make(kind: str, rows: int, width: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    normal = draw.standard_normal((rows, width))
    made = {
        "random": lambda: normal,
        "duplicated": lambda: normal[draw.integers(0, max(rows // 10, 1), rows)],
        "low-rank": lambda: draw.standard_normal((rows, 2)) @ draw.standard_normal((2, width)),
        "constant": lambda: np.full((rows, width), 3.7),
        "zero": lambda: np.zeros((rows, width)),
        "offset": lambda: normal + 1e6,
        "tiny": lambda: normal * 1e-30,
        "huge": lambda: normal * 1e37,
        "uneven": lambda: normal * 10.0 ** draw.integers(-3, 4, (rows, 1)),
        "grid": lambda: draw.integers(-1, 2, (rows, width)),
    }
    return made[kind]().astype(np.float32)


def brute_force(
    vectors: np.ndarray, queries: np.ndarray, k: int, live: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Every distance in float64, sorted by distance and then by row."""
    rows = np.arange(len(vectors)) if live is None else np.flatnonzero(live)
    distances, found = [], []
    for query in queries.astype(np.float64):
        squared = ((vectors[rows].astype(np.float64) - query) ** 2).sum(axis=1)
        order = np.lexsort((rows, squared))[:k]
        distances.append(np.sqrt(squared[order]))
        found.append(rows[order])
    return np.array(distances), np.array(found)


def check(
    search: ExactSearch, vectors: np.ndarray, queries: np.ndarray, k: int, live: np.ndarray | None = None
) -> None:
    distances, rows = search.search(queries, k)
    expected_distances, expected_rows = brute_force(vectors, queries, k, live)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-6, atol=1e-37)
    assert (distances.dtype, rows.dtype) == (np.float32, np.int64)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    asked=st.sampled_from(KINDS),
    rows=st.sampled_from([1, 2, 31, 32, 33, 70, 300]),
    width=st.sampled_from([1, 2, 17, 40]),
    directions=st.sampled_from([0, 1, 5, 50, "auto"]),
    dtype=st.sampled_from([torch.bfloat16, torch.float32]),
    k=st.integers(1, 20),
    seed=st.integers(0, 1000),
)
def test_equals_brute_force(kind, asked, rows, width, directions, dtype, k, seed):
    vectors = make(kind, rows, width, seed)
    queries = np.concatenate([vectors[:3], make(asked, 4, width, seed + 1)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exaudit.support.autotune.fast_dtype", lambda device: dtype)
        check(ExactSearch(vectors, directions=directions, seed=seed), vectors, queries, min(k, rows))


@pytest.mark.parametrize("directions", [0, 9])
def test_many_blocks_and_batches(monkeypatch, directions):
    """More rows than a block and more queries than a batch, so that the reach shortens from block to block."""
    monkeypatch.setitem(search_module.SEEDS, "cpu", 128)
    monkeypatch.setitem(search_module.BATCH, "cpu", 32)
    monkeypatch.setitem(search_module.PRODUCTS, "cpu", 32 * 256)
    monkeypatch.setitem(search_module.PAIRS, "cpu", 100)
    vectors = make("low-rank", 5011, 24, 0) + 0.1 * make("random", 5011, 24, 1)
    queries = np.concatenate([vectors[::100], make("random", 50, 24, 2)])
    check(ExactSearch(vectors, directions=directions), vectors, queries, 8)


def test_k_up_to_100():
    vectors = make("random", 500, 12, 0)
    check(ExactSearch(vectors, directions=4), vectors, make("random", 5, 12, 1), 100)


def test_near_ties_are_settled_in_float64():
    """Rows that differ by less than float32 can tell in a squared distance."""
    steps = np.random.default_rng(0).permutation(200)
    vectors = np.full((200, 3), 16, dtype=np.float32)
    vectors[:, 0] = 1 + steps * np.float32(2.0**-23)  # one unit in the last place a step
    queries = np.zeros((1, 3), dtype=np.float32)
    squared = (vectors.astype(np.float64) ** 2).sum(axis=1).astype(np.float32)
    assert len(np.unique(squared)) < 200
    _, rows = ExactSearch(vectors, directions=1).search(queries, 100)
    np.testing.assert_array_equal(rows[0], np.argsort(steps)[:100])


def test_ties_go_to_the_lowest_row():
    vectors = make("random", 40, 6, 0)[np.arange(400) % 40]
    _, rows = ExactSearch(vectors, directions=2).search(vectors[:40], 10)
    np.testing.assert_array_equal(rows, np.arange(40)[:, None] + 40 * np.arange(10))


@pytest.mark.parametrize("directions", [0, 3])
def test_float16_and_memory_maps(tmp_path: Path, directions):
    vectors = make("random", 300, 10, 0).astype(np.float16)
    np.save(tmp_path / "vectors.npy", vectors)
    stored = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    check(ExactSearch(stored, directions=directions, stream=True), vectors, make("random", 5, 10, 1), 8)
    check(ExactSearch(stored, directions=directions, stream=True), vectors, stored[:3].astype(np.float32), 8)
    search = ExactSearch(stored, directions=directions)
    new = make("random", 5, 10, 2)  # float32, and not to be rounded to float16
    search.add(new)
    check(search, np.concatenate([vectors.astype(np.float32), new]), new, 8)


@pytest.mark.parametrize("directions", [0, 9])
def test_a_streamed_set_is_read_for_a_batch_of_queries_not_for_each(tmp_path: Path, monkeypatch, directions):
    """The same neighbours as in memory; and for twenty times the queries no more passes over the file."""
    monkeypatch.setitem(search_module.SEEDS, "cpu", 128)
    monkeypatch.setitem(search_module.BATCH, "cpu", 100)
    monkeypatch.setitem(search_module.PRODUCTS, "cpu", 32 * 4096)
    vectors = make("low-rank", 5011, 24, 0) + 0.1 * make("random", 5011, 24, 1)
    queries = np.concatenate([vectors[::10], make("random", 500, 24, 2)])
    np.save(tmp_path / "vectors.npy", vectors)
    streamed = ExactSearch(
        np.load(tmp_path / "vectors.npy", mmap_mode="r"), directions=directions, stream=True
    )
    assert streamed.directions_ == directions
    read, fill = [], VectorFile._fill
    monkeypatch.setattr(
        VectorFile, "_fill", lambda self, out, row: (read.append(len(out)), fill(self, out, row))
    )
    for asked in (queries[::20], queries):
        read.clear()
        found = streamed.search(asked, 8)
        assert sum(read) < 3.2 * len(vectors)  # for the bounds of flat search, to measure, and to be exact
        expected = ExactSearch(vectors, directions=directions).search(asked, 8)
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(found[0], expected[0])
    monkeypatch.setattr(search_module, "STREAMED", 250)
    np.testing.assert_array_equal(streamed.search(queries, 8)[1], expected[1])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_edits_count_at_once(data):
    kind = data.draw(st.sampled_from(["random", "duplicated", "low-rank", "constant"]))
    directions = data.draw(st.sampled_from([0, 3]))
    vectors = make(kind, 60, 8, 0)
    search, live = ExactSearch(vectors, directions=directions), np.ones(60, dtype=bool)
    queries = np.concatenate([vectors[:3], make(kind, 3, 8, 1)])
    for step in range(data.draw(st.integers(1, 6))):
        edit = data.draw(st.sampled_from(["add", "remove", "restore"]))
        if edit == "add":
            new = make(kind, data.draw(st.integers(0, 40)), 8, 2 + step)
            rows = search.add(new)
            np.testing.assert_array_equal(rows, np.arange(len(live), len(live) + len(new)))
            vectors, live = (
                np.concatenate([vectors, new]),
                np.concatenate([live, np.ones(len(new), dtype=bool)]),
            )
        else:
            rows = np.array(data.draw(st.lists(st.integers(0, len(live) - 1), max_size=30)), dtype=np.int64)
            getattr(search, edit)(rows)
            live[rows] = edit == "restore"
        assert len(search) == live.sum()
        if live.any():
            check(search, vectors, queries, min(8, int(live.sum())), live)


def test_removing_what_was_added_restores_the_answer_bit_for_bit():
    vectors, queries = make("random", 400, 16, 0), make("random", 20, 16, 1)
    search = ExactSearch(vectors, directions=5)
    before = search.search(queries, 8)
    added = search.add(queries)
    assert search.search(queries, 1)[1][:, 0].tolist() == added.tolist()
    search.remove(added)
    after = search.search(queries, 8)
    assert before[0].tobytes() == after[0].tobytes()
    assert before[1].tobytes() == after[1].tobytes()


def test_refits_when_many_rows_were_added(monkeypatch):
    fits = []
    monkeypatch.setattr(
        search_module,
        "choose_projection",
        lambda *given: (fits.append(given[2]), choose_projection(*given))[1],
    )
    vectors = make("random", 100, 6, 0)
    search = ExactSearch(vectors, directions=2)
    search.search(vectors[:1], 1)
    search.add(vectors[:20])
    search.search(vectors[:1], 1)
    search.add(vectors[:20])
    search.search(vectors[:1], 1)
    search.search(vectors[:1], 1)
    assert fits == [100, 140]


def test_sketches_bound_distances_from_below_and_limits_exclude_no_near_row():
    vectors, queries = make("uneven", 200, 30, 0), make("uneven", 20, 30, 1)
    distance = np.sqrt(((vectors.astype(np.float64)[:, None] - queries) ** 2).sum(2))  # (S, Q)
    for directions in (0, 1, 10, 30):
        for dtype in (torch.bfloat16, torch.float32):
            fitted = choose_projection(torch.from_numpy(vectors), directions, 200)
            fitted = projection_module.Projection(fitted.mean, fitted.directions, fitted.scale, dtype)
            rows, asked = (fitted.sketch(torch.from_numpy(x)) for x in (vectors, queries))
            apart = torch.cdist(rows.z.double(), asked.z.double())  # (S, Q)
            slack = rows.error[:, None] + asked.error
            assert (apart - slack <= torch.from_numpy(distance) * fitted.scale * (1 + 1e-12)).all()
            product = rows.as_rows() @ asked.as_queries()
            for row in range(len(vectors)):
                reach = torch.from_numpy(distance[row]) * fitted.scale
                limit = fitted.limit(reach, asked, float(rows.norm[row]), float(rows.error[row]))
                assert (product[row] <= limit).all()


def test_pilot_uses_low_rank_and_sees_through_random_vectors(monkeypatch):
    draw = np.random.default_rng(0)
    spread = np.exp(-np.arange(400) / 12)
    low = (draw.standard_normal((8192, 400)) * spread).astype(np.float32)
    assert 0 < ExactSearch(low).directions_ < 300  # how many depends on the machine
    monkeypatch.setattr("exaudit.support.autotune._timings", lambda *_: (1.0, 1e5))
    assert 0 < (few := ExactSearch(low).directions_) < 100
    monkeypatch.setattr("exaudit.support.autotune._timings", lambda *_: (1.0, 1e7))
    assert ExactSearch(low).directions_ > few  # exact distances are dear, and a column more saves some
    assert ExactSearch(draw.standard_normal((8192, 400), dtype=np.float32)).directions_ == 0
    assert ExactSearch(low[:100]).directions_ == 0  # too small to matter


def test_bound_leaves_few_rows_of_low_rank_vectors(monkeypatch):
    draw = np.random.default_rng(0)
    spread = np.exp(-np.arange(100) / 6)
    vectors = (draw.standard_normal((20_000, 100)) * spread).astype(np.float32)
    measured = []
    exact = ExactSearch._squared
    monkeypatch.setattr(
        ExactSearch, "_squared", lambda *given: (measured.append(len(given[2])), exact(*given))[1]
    )
    ExactSearch(vectors, directions=40).search(vectors[:50], 8)
    assert sum(measured) < 50 * 20_000 / 100


def test_same_answer_for_any_batch():
    vectors, queries = make("duplicated", 500, 20, 0), make("duplicated", 30, 20, 0)
    search = ExactSearch(vectors, directions=6)
    whole = search.search(queries, 5)
    for place in range(30):
        alone = search.search(queries[place : place + 1], 5)
        assert alone[0].tobytes() == whole[0][place].tobytes()
        assert alone[1].tobytes() == whole[1][place].tobytes()


def test_read_only_queries():
    vectors = make("random", 10, 4, 0)
    vectors.flags.writeable = False
    check(ExactSearch(vectors), vectors, vectors[:3], 3)


def test_no_queries():
    distances, rows = ExactSearch(make("random", 10, 4, 0)).search(np.empty((0, 4), np.float32), 3)
    assert distances.shape == rows.shape == (0, 3)


@pytest.mark.parametrize(
    ("queries", "k", "message"),
    [
        (np.zeros((2, 5)), 1, "same model"),
        (np.zeros(4), 1, "same model"),
        (np.array([[0, 0, 0, 0], [0, np.nan, 0, 0]]), 1, "query 1 holds a number that is not finite"),
        (np.array([[0, 0, np.inf, 0]]), 1, "query 0"),
        (np.zeros((1, 4)), 11, "k = 11 nearest were asked for, but the support set has 10 rows"),
        (np.zeros((1, 4)), 0, "from 1 to 100"),
        (np.zeros((1, 4)), 101, "from 1 to 100"),
    ],
)
def test_bad_queries(queries, k, message):
    with pytest.raises(SupportError, match=message):
        ExactSearch(make("random", 10, 4, 0)).search(queries, k)


def test_k_beyond_the_live_rows():
    search = ExactSearch(make("random", 10, 4, 0))
    search.remove([1, 2])
    with pytest.raises(SupportError, match="8 rows"):
        search.search(np.zeros((1, 4), np.float32), 9)


@pytest.mark.parametrize(
    "vectors", [np.zeros(3, np.float32), np.zeros((2, 3)), np.zeros((2, 0), np.float32), [[1.0]]]
)
def test_bad_vectors(vectors):
    with pytest.raises(SupportError, match="support vectors"):
        ExactSearch(vectors)


@pytest.mark.parametrize("directions", [0, 2])
def test_support_vectors_that_are_not_finite(directions):
    vectors = make("random", 50, 4, 0)
    vectors[33, 2] = np.nan
    with pytest.raises(SupportError, match="row 33 of the support set"):
        ExactSearch(vectors, directions=directions).search(vectors[:1], 1)


def test_bad_edits_change_nothing():
    search = ExactSearch(make("random", 10, 4, 0))
    with pytest.raises(SupportError, match="same model"):
        search.add(np.zeros((1, 5), np.float32))
    for rows in ([10], [-1], [0.5]):
        with pytest.raises(SupportError, match="from 0 to 9"):
            search.remove(rows)
    assert len(search) == 10


def test_bad_directions():
    with pytest.raises(SettingError, match="directions"):
        ExactSearch(make("random", 10, 4, 0), directions=-1)


@pytest.mark.parametrize("count", [7, 128, 129, 1000])
def test_threads_with_queries_of_their_own_find_the_same(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = make("low-rank", 6000, 96, 1), make("low-rank", count, 96, 2)
    search = ExactSearch(vectors, directions=8)
    monkeypatch.setattr(search_module, "BATCH", {"cpu": 200})
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    expected = search.search(queries, 4)
    monkeypatch.undo()
    threads: set[str] = set()
    narrow = ExactSearch._narrow

    def watched(self: ExactSearch, *arguments: Any) -> None:
        threads.add(threading.current_thread().name)
        narrow(self, *arguments)

    monkeypatch.setattr(ExactSearch, "_narrow", watched)
    monkeypatch.setattr(search_module, "BATCH", {"cpu": 200})
    monkeypatch.setattr(search_module, "SMALL", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = search.search(queries, 4)
    finally:
        torch.set_num_threads(before)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    apart = {name.startswith("side-by-side") for name in threads}
    assert apart == {count >= 128}


def test_a_number_that_is_not_finite_is_told_by_its_place_whichever_thread_finds_it() -> None:
    vectors, queries = make("low-rank", 6000, 96, 1), make("low-rank", 1000, 96, 2)
    queries[777, 3] = np.nan
    with pytest.raises(SupportError, match="query 777 "):
        ExactSearch(vectors, directions=8).search(queries, 4)


@pytest.mark.parametrize(("has", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_what_the_hardware_has_tells_the_type_not_a_clock(
    monkeypatch: pytest.MonkeyPatch, has: bool, dtype: torch.dtype
) -> None:
    monkeypatch.setattr("exaudit.support.projection.has_bfloat16", lambda device: has)
    assert fast_dtype(torch.device("cpu")) == dtype
    assert fast_dtype(torch.device("cuda")) == torch.bfloat16
