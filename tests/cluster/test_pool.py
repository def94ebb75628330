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


def test_a_node_is_lost(ray: Any, nodes: Any) -> None:
    results = Pool(ray).map(partial(doubling, 0.1), range(60), ordered=True)
    found = [next(results) for _ in range(5)]
    nodes.kill(nodes.others()[0])
    found += results
    assert found == [2 * n for n in range(60)]
    nodes.add()
