"""How long all the tuning of a run takes."""

from __future__ import annotations

import pytest

from exaudit.head.course import Course


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("exaudit.head.course.time.monotonic", lambda: now[0])
    return now


def walk(course: Course, clock: list[float], *steps: tuple[int, float]) -> None:
    course.begin()
    for words, seconds in steps:
        clock[0] += seconds
        course.step(words, lambda: None)


def test_the_time_to_go_is_told_once_and_does_not_count_the_first_step(clock: list[float]) -> None:
    told: list[float] = []
    course = Course(1000, 300, told.append)
    walk(course, clock, (10, 60.0), (20, 1.0), (20, 1.0), (10, 0.5), (50, 9.0), (10, 9.0))
    assert told == [pytest.approx((1000 - 60 + 300 / 3) * 2.5 / 50)]
    assert course.done == 120


def test_what_lies_between_two_stages_is_no_part_of_a_step(clock: list[float]) -> None:
    told: list[float] = []
    course = Course(100, tell=told.append)
    walk(course, clock, (10, 1.0), (10, 1.0))
    clock[0] += 500
    walk(course, clock, (10, 1.0), (10, 1.0), (10, 1.0), (10, 1.0))
    assert told == [pytest.approx(4.0)]


def test_a_stage_that_was_done_before_takes_no_time(clock: list[float]) -> None:
    told: list[float] = []
    course = Course(1000, tell=told.append)
    course.skip(900)
    walk(course, clock, *[(10, 1.0)] * 4)
    assert told == [pytest.approx(6.0)]
