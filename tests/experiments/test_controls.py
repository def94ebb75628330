from __future__ import annotations

import numpy as np
import pytest

from exaudit.experiments.controls import admitted_gain, as_many, share_gain
from exaudit.metrics import newcombe, wilson


def test_as_many_of_each_decision_by_merit() -> None:
    decided = np.array([True, True, True, False, False, False])
    by = np.array([True, False, True, False, False, True])
    admitted = np.array([True, True, False, True, False, True])  # by `by`: two positive, two negative
    merit = np.array([1.0, 3.0, 2.0, 0.0, 5.0, 4.0])
    assert as_many(decided, admitted, by, merit).tolist() == [False, True, True, False, True, True]
    none = np.zeros(6, bool)
    assert not as_many(decided, none, by, merit).any()
    few = np.array([False, False, False, False, False, True])  # fewer positive than wanted: all of them
    assert as_many(few, admitted, by, merit).sum() == 3


def test_newcombe_is_the_papers_example() -> None:
    low, high = newcombe(56 / 70, 70, 48 / 80, 80)  # Newcombe (1998), table II, method 10, contrast (a)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


def test_the_admitted_against_all() -> None:
    right = np.array([True] * 9 + [False] + [True] * 50 + [False] * 40)
    chosen = np.arange(100) < 10
    found = admitted_gain(right, chosen)
    assert found.value == pytest.approx(0.9 - 0.59)
    assert found.low < 0.31 < found.high
    low, high = newcombe(0.9, 10, 50 / 90, 90)
    assert (found.low, found.high) == pytest.approx((0.9 * low, 0.9 * high))
    assert wilson(0.9, 10)[0] < 0.6, "of ten, nine right ones do not say much"


def test_nobody_and_everybody_tell_nothing() -> None:
    right = np.array([True, False])
    for chosen in (np.zeros(2, bool), np.ones(2, bool)):
        found = admitted_gain(right, chosen)
        assert (found.value, found.low, found.high) == (0, -1, 1)
    assert share_gain(right, np.zeros(2, bool), np.ones(2, bool)).low == -1


def test_the_admitted_against_others() -> None:
    right = np.array([True, True, False, False])
    found = share_gain(right, np.array([True, True, False, False]), np.array([False, True, True, False]))
    assert (found.value, found.low, found.high) == (0.5, *newcombe(1.0, 2, 0.5, 2))
