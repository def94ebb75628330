"""The same items done by workers on three nodes, of which some are lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exaudit.cluster import pool
from exaudit.cluster.connect import connected
from exaudit.cluster.pool import Pool
from exaudit.errors import ClusterError, DataError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ray(nodes: Any) -> Iterator[Any]:
    with connected(nodes.address) as module:
        yield module


def doubling(pause: float = 0.0) -> Callable[[int], int]:
    def work(item: int) -> int:
        time.sleep(pause * (1 + item % 3))
        return 2 * item

    return work


def test_results_come_in_order_where_that_is_asked_for(ray: Any) -> None:
    workers = Pool(ray)
    assert workers.workers == 3
    begin = partial(doubling, 0.01)
    assert list(workers.map(begin, range(40), ordered=True)) == [2 * n for n in range(40)]
    assert sorted(workers.map(begin, range(40))) == [2 * n for n in range(40)]
    assert list(workers.map(begin, [])) == []


def test_items_are_drawn_as_they_are_needed(ray: Any) -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1000):
            drawn.append(n)
            yield n

    results = Pool(ray, workers=2).map(doubling, items(), ordered=True)
    assert [next(results) for _ in range(3)] == [0, 2, 4]
    results.close()
    assert len(drawn) < 20


def test_what_a_worker_raises_is_raised_here(ray: Any) -> None:
    def failing() -> Callable[[int], int]:
        def work(item: int) -> int:
            raise DataError("wrong", "a.csv", item)

        return work

    with pytest.raises(DataError, match=r"^a\.csv:7: wrong$") as caught:
        list(Pool(ray).map(failing, [7]))
    assert (caught.value.path, caught.value.line) == ("a.csv", 7)

    def stillborn() -> Callable[[int], int]:
        raise DataError("no model")

    with pytest.raises(DataError, match=r"^no model$"):
        list(Pool(ray).map(stillborn, [7]))


def test_the_item_of_a_worker_that_ends_is_done_by_another(ray: Any, tmp_path: Path) -> None:
    def dying(folder: Path) -> Callable[[int], int]:
        def work(item: int) -> int:
            seen = folder / str(item)
            if item % 5 == 0 and not seen.exists():
                seen.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return 2 * item

        return work

    told: list[str] = []
    workers = Pool(ray, workers=2, tell=told.append)
    assert list(workers.map(partial(dying, tmp_path), range(8), ordered=True)) == [2 * n for n in range(8)]
    assert len([line for line in told if line.startswith("a worker was lost")]) == 2


def test_an_item_that_ends_every_worker_is_told(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ATTEMPTS", 2)

    def deadly() -> Callable[[int], int]:
        return lambda item: os.kill(os.getpid(), signal.SIGKILL) or item

    with pytest.raises(ClusterError, match="item 1: 2 workers ended over it"):
        list(Pool(ray, workers=1).map(deadly, [7]))


class Declared:
    """A cluster that only says what its nodes have."""

    def __init__(self, *nodes: dict[str, float]) -> None:
        self._nodes = nodes
        self.asked: dict[str, Any] = {}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": node} for node in self._nodes]

    def remote(self, actor: type) -> Declared:
        return self

    def options(self, **asked: Any) -> None:
        self.asked = asked


@pytest.mark.parametrize(
    ("nodes", "options", "workers", "cpus", "gpus"),
    [
        ([{"CPU": 4}, {"CPU": 2}], {}, 6, 1, 0),
        ([{"CPU": 5}, {"CPU": 3}], {"workers": 2}, 2, 3, 0),
        ([{"CPU": 16}, {"CPU": 4, "GPU": 1}], {}, 1, 4, 1),  # not 16 or 20: no node has those beside a GPU
        ([{"CPU": 8, "GPU": 2}, {"CPU": 8, "GPU": 1}], {}, 3, 4, 1),
        ([{"CPU": 8, "GPU": 2}], {"device": "cpu"}, 8, 1, 0),
        ([{"CPU": 2}], {"workers": 5, "device": "cuda"}, 5, 1, 0),
    ],
)
def test_workers_ask_for_what_a_node_can_give(
    nodes: list[dict[str, float]], options: dict[str, Any], workers: int, cpus: int, gpus: int
) -> None:
    cluster = Declared(*nodes)
    assert Pool(cluster, **options).workers == workers
    assert (cluster.asked["num_cpus"], cluster.asked["num_gpus"]) == (cpus, gpus)


def test_a_node_is_lost(ray: Any, nodes: Any) -> None:
    results = Pool(ray).map(partial(doubling, 0.1), range(60), ordered=True)
    found = [next(results) for _ in range(5)]
    nodes.kill(nodes.others()[0])
    found += results
    assert found == [2 * n for n in range(60)]
    nodes.add()


def test_a_node_with_a_gpu_is_where_the_work_goes(ray: Any, nodes: Any) -> None:
    """The GPU is only declared, so torch is made to see one."""

    def looking() -> Callable[[int], tuple[str, str, str]]:
        import torch

        from exaudit._device import pick_device

        torch.cuda.is_available = lambda: True

        def work(item: int) -> tuple[str, str, str]:
            import ray

            where = ray.get_runtime_context().get_node_id()
            return str(pick_device("auto")), os.environ["CUDA_VISIBLE_DEVICES"], where

        return work

    node = nodes.add(num_gpus=1)  # the last of the tests: it stays
    workers = Pool(ray)
    assert (workers.on_gpus, workers.workers) == (True, 1)
    assert set(workers.map(looking, range(3))) == {("cuda", "0", node.node_id)}
    assert not Pool(ray, device="cpu").on_gpus
