"""A support set spread over three nodes of a Ray cluster answers as one process does, whatever happens to the nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ray")

import ray

from exaudit.cluster import placement, search
from exaudit.cluster.connect import connected
from exaudit.cluster.search import ShardedIndex
from exaudit.errors import ClusterError
from exaudit.support.store import LanceSupportSet
from spread import LABELS, batch, check, stored

os.environ.setdefault("RAY_worker_register_timeout_seconds", "300")  # a busy machine is slow to start one
# Ray forks to start a node, and starts another program at once.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:lance is not fork-safe")]


@pytest.fixture(scope="module")
def support(tmp_path_factory: pytest.TempPathFactory) -> LanceSupportSet:
    return stored(tmp_path_factory.mktemp("stored") / "support")


@pytest.fixture(scope="module")
def index(nodes: Any, support: LanceSupportSet) -> Iterator[ShardedIndex]:
    """Three shards, each of which takes more than a third of a node."""
    with connected(nodes.address), pytest.MonkeyPatch.context() as patch:
        room = min(node["Resources"]["memory"] for node in ray.nodes())
        patch.setattr(placement, "_WORKER_BYTES", int(0.4 * room))
        index = ShardedIndex(support, shards=3, patience=300)
        yield index
        index.close()


def victim(index: ShardedIndex, nodes: Any) -> Any:
    """A node with a shard, but not the head."""
    others = {node.node_id: node for node in nodes.others()}
    return next(others[place.node] for place in index._places if place.node in others)


def test_answers_and_edits(index: ShardedIndex, support: LanceSupportSet) -> None:
    assert len({place.node for place in index._places}) == 3
    for k in (1, 7, 90):
        check(index, support, k)
    support.relabel_document("a7", LABELS[support.document("a7").label == LABELS[0]])
    index.follow(support)
    check(index, support)
    support.remove(["a1", "a20", "b3"])  # of all shards
    support.add(batch(["n1", "a2"], 7), replace=True)
    index.follow(support)
    check(index, support)


def test_a_node_killed_in_the_middle_of_a_search(
    index: ShardedIndex, support: LanceSupportSet, nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_QUERIES", 4)  # ten questions to each shard
    killed = victim(index, nodes)
    gather, rounds = search._gather, list[int]()

    def killing(asked: Any) -> Any:
        rounds.append(len(asked))
        if len(rounds) == 4:
            nodes.kill(killed)
        return gather(asked)

    monkeypatch.setattr(search, "_gather", killing)
    check(index, support)
    assert len(rounds) > 10  # some were asked again
    assert killed.node_id not in {place.node for place in index._places}


def test_a_shard_that_cannot_come_back(
    index: ShardedIndex, support: LanceSupportSet, nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One node of three is gone: with another one, there is room for two shards."""
    monkeypatch.setattr(index, "_patience", 3)
    nodes.kill(victim(index, nodes))
    with pytest.raises(
        ClusterError, match=r"3 shards, .* no answer: .* did not start within 3 s, .* try again"
    ):
        check(index, support)
    support.remove("a5")
    with pytest.raises(
        ClusterError, match="without one of them there is no answer"
    ):  # nor is the edit acknowledged
        index.follow(support)
    nodes.add()
    monkeypatch.setattr(index, "_patience", 300)
    check(index, support)
