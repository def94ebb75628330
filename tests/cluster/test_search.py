"""A support set in shards answers as one process does, whatever is done to it.

The shards are in this process: a stand-in calls them as Ray would. See test_search_nodes for a real cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

from ray.exceptions import RayActorError, RayTaskError

from exaudit._version import __version__
from exaudit.audit import Auditor
from exaudit.audit.index import ExemplarIndex
from exaudit.cli import run
from exaudit.cluster import placement, search
from exaudit.cluster.search import ShardedIndex
from exaudit.cluster.shard import Shard, merged
from exaudit.data.document import Document
from exaudit.errors import ClusterError, SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from spread import LABELS, QUERIES, batch, check, stored, told
from tiny import reviews, tiny_labeler

VERSION = [__version__]
TEXT = "the soup was cold and the waiter rude"
NODES = [{"Alive": True, "Resources": {"CPU": 4, "memory": 8 << 30}}] * 3


class Actor:
    """A shard that is called as Ray calls an actor: at once, in order, with what it raises told to who asks."""

    started = 0

    def __init__(self, threads: int) -> None:
        self.shard, self.dies = Shard(1), False
        self.shard.start = lambda: ("a node", VERSION[-1])  # type: ignore[method-assign]
        Actor.started += 1

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *given: self.call(name, given))

    def call(self, name: str, given: tuple[Any, ...]) -> Callable[[], Any]:
        def raises(error: Exception) -> Callable[[], Any]:
            def get() -> Any:
                raise error

            return get

        if self.dies:
            return raises(RayActorError("the node is gone"))
        try:
            found = getattr(self.shard, name)(*given)
        except Exception as error:
            return raises(RayTaskError(name, "", error))
        return lambda: found


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SimpleNamespace(
        remote=lambda _: SimpleNamespace(options=lambda **_: SimpleNamespace(remote=Actor)),
        get=lambda found: found(),
        put=lambda value: value,
        kill=lambda actor: None,
        wait=lambda refs, **_: (refs, []),
        nodes=lambda: NODES,
    )
    monkeypatch.setattr(search, "ray", here)
    monkeypatch.setattr(placement, "ray", here)


@pytest.fixture
def support(tmp_path: Path) -> LanceSupportSet:
    return stored(tmp_path / "support")


def test_answers_are_those_of_one_process(support: LanceSupportSet) -> None:
    index = ShardedIndex(support, shards=3)
    for k in (1, 7, 90):  # some more than a shard has
        check(index, support, k)
    with pytest.raises(SupportError, match="k must be from 1 to 100"):
        index.neighbours(QUERIES, 101, offsets=[0.0])
    with pytest.raises(SupportError, match="same model"):
        index.neighbours(QUERIES[:, :2], 1, offsets=[0.0])
    with pytest.raises(SupportError, match="query 1 holds a number that is not finite"):
        index.neighbours(QUERIES[:2] * [[1], [np.nan]], 1, offsets=[0.0])


def test_many_rows_and_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sketches by principal directions, of other samples in each shard, and several blocks of queries."""
    monkeypatch.setattr(search, "_QUERIES", 64)
    rng = np.random.default_rng(0)
    support = LanceSupportSet.create(tmp_path / "support", width=40, labels=LABELS, model="m")
    documents = [Document.from_tokens(["a"] * 150, id=str(n), label=LABELS[n % 2]) for n in range(90)]
    vectors = (rng.normal(size=(13500, 4)) @ rng.normal(size=(4, 40))).astype(np.float32)
    vectors[9000:] = vectors[rng.integers(0, 9000, 4500)]  # twins, in other shards
    support.add(SupportBatch(documents, vectors, rng.normal(size=13500).astype(np.float32)))
    queries = np.concatenate([vectors[::100], vectors[::200] + np.float32(0.01)])
    one = ExemplarIndex(support).neighbours(queries, 8, offsets=[0.0])
    many = ShardedIndex(support, shards=2).neighbours(queries, 8, offsets=[0.0])
    assert told(many) == told(one)


@pytest.mark.parametrize("seed", range(2))
def test_edits_take_effect_on_all_shards(support: LanceSupportSet, seed: int) -> None:
    rng = np.random.default_rng(seed)
    support.remove(["a3", "b2"])  # an undo brings rows that no shard has had, and that come first
    index = ShardedIndex(support, shards=3)
    support.undo()
    index.follow(support)
    check(index, support)
    for step in range(12):
        ids = list(support.ids)
        edits = {
            0: lambda step=step: support.add(batch([f"n{step}", f"m{step}"], step)),
            1: lambda step=step, ids=ids: support.add(batch([str(rng.choice(ids))], step), replace=True),
            2: lambda ids=ids: support.remove([str(id) for id in rng.choice(ids, 3, replace=False)]),
            3: lambda ids=ids: support.relabel_document(str(rng.choice(ids)), LABELS[rng.integers(2)]),
            4: support.undo,
            5: support.redo,
        }
        try:
            edits[int(rng.integers(6))]()
        except SupportError:  # nothing to redo, or labelled so already
            continue
        if rng.integers(3):  # sometimes several edits at once
            index.follow(support)
            check(index, support)
    index.follow(support)
    check(index, support)


def test_a_set_that_has_grown_is_spread_anew(support: LanceSupportSet) -> None:
    index = ShardedIndex(support, shards=3)
    support.add(batch([f"c{n}" for n in range(60)], 2))
    index.follow(support)
    check(index, support)
    held = [len(place.documents) for place in index._places]
    assert max(held) < 2 * min(held)


def test_follows_through_a_compaction_by_another_process(support: LanceSupportSet) -> None:
    index = ShardedIndex(support, shards=3)
    other = LanceSupportSet.open(support.where)
    other.remove(["a1", "a2"])
    other.compact()
    other.add(batch(["z"], 5))
    support.refresh()
    index.follow(support)
    check(index, support)
    index._places[0].lose("in this test")  # what it is to read has moved
    check(index, support)


def test_a_preview_leaves_no_trace(support: LanceSupportSet) -> None:
    support.remove("b1")
    index = ShardedIndex(support, shards=3)
    trial = MemorySupportSet.preview(support)
    trial.undo()
    trial.add(batch(["a1", "x"], 3), replace=True)
    with index.trying(trial) as tried:
        one = ExemplarIndex(trial).neighbours(QUERIES, 5, offsets=[0.0])
        assert told(tried.neighbours(QUERIES, 5, offsets=[0.0])) == told(one)
        for place in index._places:
            place.lose("in this test")
        assert told(tried.neighbours(QUERIES, 5, offsets=[0.0])) == told(one)
    check(index, support)


def test_a_set_that_outgrows_the_cluster_has_no_answers(
    support: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = ShardedIndex(support, shards=3)
    with monkeypatch.context() as patch:
        patch.setattr(placement, "_WORKER_BYTES", 9 << 30)
        support.add(batch([f"c{n}" for n in range(60)], 2))
        for _ in range(2):
            with pytest.raises(ClusterError, match="and the cluster has"):
                index.follow(support)
    index.follow(support)
    check(index, support)


def test_a_damaged_vector_is_found_by_the_shard_that_reads_it(support: LanceSupportSet) -> None:
    digests = support._state.digests
    digests[4] = b"\0" * 32
    with pytest.raises(SupportError, match="document 'a4' is damaged"):
        ShardedIndex(support, shards=3)


def test_what_cannot_be_spread(support: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SupportError, match="not stored where other machines could read it"):
        ShardedIndex(MemorySupportSet.create(width=3, labels=LABELS))
    monkeypatch.setitem(globals(), "VERSION", ["0.0.1"])
    with pytest.raises(ClusterError, match=r"has exaudit 0\.0\.1, and this machine"):
        ShardedIndex(support, shards=3)
    monkeypatch.setattr(placement, "_WORKER_BYTES", 1 << 50)
    with pytest.raises(
        ClusterError, match=r"takes 3377699\.7 GB of memory, and the cluster has .* on 3 nodes"
    ):
        ShardedIndex(support, shards=3)


def test_a_shard_that_keeps_dying_is_an_error_and_not_a_partial_answer(
    support: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = ShardedIndex(support, shards=3)
    before = Actor.started
    index._places[1].actor.dies = True
    check(index, support)  # once is no matter
    assert Actor.started == before + 1
    monkeypatch.setattr(
        Shard, "search", lambda *_: (_ for _ in ()).throw(RayActorError(error_msg="out of\nmemory"))
    )
    with pytest.raises(
        ClusterError, match=r"3 shards, .* no answer: 1, 2, 3 died 4 times, .* a node \(memory\)"
    ):
        index.neighbours(QUERIES, 3, offsets=[0.0])


def test_an_answer_for_another_version_does_not_count(support: LanceSupportSet) -> None:
    index = ShardedIndex(support, shards=3)
    index._places[2].actor.shard._number -= 1
    before = Actor.started
    check(index, support)
    assert Actor.started == before + 1


def test_shards_are_of_one_size_and_fit_the_nodes() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, 1000)
    placed = placement.Placement.of(lengths, 4000, 7)
    tokens = [int(part.sum()) for part in np.split(lengths, placed.edges[1:-1])]
    assert len(tokens) == 7
    assert max(tokens) - min(tokens) < 100
    assert placed.threads == 1  # three on a node of four cores
    assert placement.Placement.of(lengths, 4000, None).threads == 4  # of 25,000 rows: one is enough
    large = np.full(
        10, 1 << 17
    )  # 1.3 million rows of 4000 bytes: 8.5 GB, and as much as a quarter of it to grow
    assert len(placement.Placement.of(large, 4000, None).edges) == 4
    with pytest.raises(ClusterError, match="on 3 nodes; add nodes"):
        placement.Placement.of(large, 16000, None)
    assert placement.Placement.of(np.zeros(0, np.int64), 4000, 5).edges.tolist() == [0, 0]


def test_ties_between_shards_go_to_the_lowest_row() -> None:
    one = np.array([[0.0, 2.0, 2.0]]), np.array([[5, 1, 7]])
    other = np.array([[0.0, 2.0]]), np.array([[3, 6]])
    squared, rows = merged([one, other], 4)
    assert (squared.tolist(), rows.tolist()) == ([[0.0, 0.0, 2.0, 2.0]], [[3, 5, 1, 6]])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model folder with a support set of 40 documents."""
    folder = tmp_path / "model"
    tiny_labeler().fit(reviews(60)).save(folder)
    Auditor.open(folder).build(reviews(40))
    return folder


def test_an_edit_is_acknowledged_once_all_shards_have_it(model: Path) -> None:
    auditor = Auditor.open(model, index=lambda support: ShardedIndex(support, shards=3))
    plain = Auditor.open(model)
    new = reviews(8, seed=3)

    def same() -> None:
        for one, other in zip(
            auditor.label(new, rule="exag", nearest=True),
            plain.label(new, rule="exag", nearest=True),
            strict=True,
        ):
            assert one.to_json(auditor.labels) == other.to_json(plain.labels)

    same()
    index = auditor._near._index
    assert isinstance(index, ShardedIndex)
    first, second = auditor.support.ids[:2]
    label = auditor.labels.names[auditor.support.document(first).label == auditor.labels.names[0]]
    for edit in (
        lambda: auditor.relabel(first, label),
        lambda: auditor.relabel_token(first, 0, 1),
        lambda: auditor.remove([first, second]),
        lambda: auditor.add(reviews(50)[44:46]),
        auditor.undo,
        auditor.redo,
    ):
        edit()
        numbers = {place.actor.shard._number for place in index._places}
        assert numbers == {auditor.support.number}
        same()
    trials = [
        each.preview(lambda trial: trial.remove(auditor.support.ids[0]), new) for each in (auditor, plain)
    ]
    assert trials[0].flips == trials[1].flips


def test_audit_on_a_cluster(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def connected(address: str) -> AbstractContextManager[None]:
        asked.append(address)
        return nullcontext()

    monkeypatch.setattr("exaudit.cluster.connect.connected", connected)
    command = ["audit", str(model), TEXT, "--token", "3", "--json"]
    assert run(command) == 0
    plain = capsys.readouterr().out
    before = Actor.started
    assert run([*command, "--ray", "auto"]) == 0
    assert capsys.readouterr().out == plain
    assert (asked, Actor.started) == (["auto"], before + 1)  # so small a set is one shard
    assert run([*command, "--ray", "auto", "--stream"]) == 1
    assert "--stream is about the memory of this machine" in capsys.readouterr().err
