"""Items worked on side by side: in order, few at a time, and with torch's threads left as they were."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from exaudit import _side_by_side as module
from exaudit._side_by_side import AHEAD, exclusively, on_one_core, side_by_side

THREADS = 3


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield
    torch.set_num_threads(before)


def in_a_fresh_thread() -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


def test_results_come_in_the_order_of_the_items() -> None:
    def work(n: int) -> int:
        time.sleep(0.01 * (n % 3 == 0))  # some take longer
        return n * n

    assert list(side_by_side(work, iter(range(20)))) == [n * n for n in range(20)]
    assert list(side_by_side(work, [])) == []


def test_each_thread_has_one_of_torchs_and_others_have_as_many_as_before() -> None:
    meeting = threading.Barrier(THREADS, timeout=20)

    def work(_: int) -> tuple[int, int]:
        meeting.wait()  # so that no thread takes two
        return torch.get_num_threads(), threading.get_ident()

    found = list(side_by_side(work, range(THREADS)))
    assert [threads for threads, _ in found] == [1] * THREADS
    assert len({thread for _, thread in found} - {threading.get_ident()}) == THREADS
    assert (torch.get_num_threads(), in_a_fresh_thread()) == (THREADS, THREADS)


@pytest.mark.parametrize(("threads", "items"), [(THREADS, THREADS - 1), (1, 20)])
def test_few_items_and_one_thread_need_no_others(threads: int, items: int) -> None:
    torch.set_num_threads(threads)
    found = set(side_by_side(lambda _: threading.get_ident(), range(items)))
    assert found == {threading.get_ident()}


def test_items_are_drawn_when_they_are_needed() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for n in range(100):
            drawn.append(n)
            yield n

    results = side_by_side(lambda n: n, items())
    assert drawn == []
    for n in range(50):
        assert next(results) == n
        assert len(drawn) == n + AHEAD * THREADS
    results.close()  # type: ignore[attr-defined]
    assert len(drawn) == 49 + AHEAD * THREADS


def test_an_error_reaches_the_caller_and_ends_the_rest() -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        time.sleep(0.02)
        if n == 1:
            raise ValueError("item 1")
        return n

    results = side_by_side(work, range(100))
    assert next(results) == 0
    with pytest.raises(ValueError, match="item 1"):
        next(results)
    assert list(results) == []
    assert len(begun) <= AHEAD * THREADS + 1
    assert list(side_by_side(lambda n: n, range(9))) == list(range(9))  # the threads go on


def test_an_error_of_the_items_reaches_the_caller() -> None:
    def items() -> Iterator[int]:
        yield from range(7)
        raise KeyboardInterrupt

    results = side_by_side(lambda n: n, items())
    with pytest.raises(KeyboardInterrupt):
        list(results)


def test_what_was_not_begun_when_nobody_listens_any_more_never_is() -> None:
    go_on, begun = threading.Event(), []

    def work(n: int) -> int:
        begun.append(n)
        if n:
            go_on.wait()
        return n

    results = side_by_side(work, range(100))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    go_on.set()
    assert list(side_by_side(lambda n: n, range(50))) == list(range(50))  # after all that waited before
    assert len(begun) <= THREADS + 1


def test_within_work_there_is_no_more_to_share() -> None:
    def inner(n: int) -> tuple[int, int]:
        return n, threading.get_ident()

    def work(n: int) -> bool:
        return list(side_by_side(inner, range(10))) == [(m, threading.get_ident()) for m in range(10)]

    assert all(side_by_side(work, range(12)))


def test_several_may_ask_at_once_and_meanwhile() -> None:
    def ask(start: int) -> list[int]:
        torch.set_num_threads(THREADS)
        return list(side_by_side(lambda n: n + 1, range(start, start + 30)))

    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(ask, range(8))) == [list(range(n + 1, n + 31)) for n in range(8)]
    for n in side_by_side(lambda n: n, range(10)):
        assert list(side_by_side(lambda m: m, range(n, n + 9))) == list(range(n, n + 9))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_child_of_a_fork_has_threads_of_its_own() -> None:
    code = """
import os, torch
from exaudit._side_by_side import side_by_side
torch.set_num_threads(2)
assert list(side_by_side(abs, range(9))) == list(range(9))
child = os.fork()
assert list(side_by_side(abs, range(9))) == list(range(9))
assert torch.get_num_threads() == 2
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_small_work_has_one_of_torchs_threads_and_all_else_as_many_as_before() -> None:
    def work() -> tuple[int, int, int]:
        return torch.get_num_threads(), in_a_fresh_thread(), threading.get_ident()

    alone, fresh, thread = on_one_core(work)
    assert (alone, fresh) == (1, THREADS)
    assert thread != threading.get_ident()
    assert torch.get_num_threads() == THREADS

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        on_one_core(fail)
    assert on_one_core(lambda: on_one_core(work))[0] == 1  # within itself
    torch.set_num_threads(1)
    assert on_one_core(threading.get_ident) == threading.get_ident()


def test_small_work_does_not_wait_for_what_is_large() -> None:
    go_on = threading.Event()
    results = side_by_side(lambda n: go_on.wait(20), range(10))
    asker = threading.Thread(target=next, args=(results,))
    asker.start()
    assert on_one_core(lambda: 7) == 7
    go_on.set()
    asker.join()
    results.close()  # type: ignore[attr-defined]


def test_other_threads_that_set_their_number_do_not_change_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = torch.get_num_threads

    def and_then_another_sets_it() -> int:
        threads = ask()
        if threading.current_thread().name.startswith("watched"):
            other = threading.Thread(target=torch.set_num_threads, args=(THREADS,))
            other.start()
            other.join()
        return threads

    monkeypatch.setattr(torch, "get_num_threads", and_then_another_sets_it)
    pool = module._started("watched", THREADS)
    assert pool is not None
    assert [pool.submit(ask).result() for _ in range(9)] == [1] * 9
    pool.shutdown()


def test_without_more_threads_it_goes_on_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = threading.Thread.start, []

    def refuse(self: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(module, "_pools", {})
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(side_by_side(lambda n: n, range(9))) == list(range(9))
    monkeypatch.undo()
    started[0].join(20)
    assert not started[0].is_alive()  # else the program would never end
    torch.set_num_threads(THREADS)


def test_goes_on_when_the_main_thread_has_ended() -> None:
    code = """
import threading, time, torch
from exaudit._side_by_side import on_one_core, side_by_side
torch.set_num_threads(2)
def work(n):
    time.sleep(0.02)
    return n
def all_of_it():
    torch.set_num_threads(2)
    assert list(side_by_side(work, range(40))) == list(range(40))
    assert on_one_core(lambda: 1) == 1
    print("done", flush=True)
threading.Thread(target=all_of_it).start()
time.sleep(0.2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "done\n", done.stderr


def test_what_is_made_once_is_made_by_one_thread_at_a_time() -> None:
    inside, most = [0], [0]

    def work(_: int) -> None:
        with exclusively():
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.002)
            inside[0] -= 1

    assert list(side_by_side(work, range(20))) == [None] * 20
    assert most == [1]
