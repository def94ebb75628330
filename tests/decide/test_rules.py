from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.decide import Neighbours, exag, exat, sgn
from exaudit.errors import SettingError, SupportError

Make = Callable[..., Neighbours]


def test_sgn_of_zero_is_negative() -> None:
    assert sgn([-0.5, -0.0, 0.0, 1e-30]).tolist() == [-1, -1, -1, 1]


@given(seed=st.integers(0, 10**6), n=st.integers(0, 30), k=st.integers(1, 4))
def test_rules_are_the_papers_and_only_take_positives_away(
    make_neighbours: Make, seed: int, n: int, k: int
) -> None:
    near = make_neighbours(n, k, seed)
    scores = np.round(np.random.default_rng(seed).normal(size=n), 1)
    admitted_g, admitted_t = exag(scores, near), exat(scores, near, has_token_labels=True)
    assert admitted_g.dtype == admitted_t.dtype == bool
    for i in range(n):
        both = scores[i] > 0 and near.scores[i, 0] > 0
        assert admitted_g[i] == (both and near.labels[i, 0] == 1)
        assert admitted_t[i] == (both and near.token_labels[i, 0] == 1)
    assert not (admitted_g & ~(scores > 0)).any()
    assert not (admitted_t & ~(scores > 0)).any()


def test_only_the_nearest_match_counts(make_neighbours: Make) -> None:
    near, scores = make_neighbours(50, 5), np.ones(50)
    assert exag(scores, near).any()
    assert (exag(scores, near) == exag(scores, near.take(1))).all()
    assert (exat(scores, near) == exat(scores, near.take(1))).all()


def test_exat_without_token_labels() -> None:
    near = Neighbours([[1.0]] * 2, [[1.0]] * 2, [[1]] * 2, [[0]] * 2, [[5]] * 2)  # type: ignore[arg-type]
    with pytest.raises(SupportError, match="use ExAG"):
        exat([1.0, 1.0], near)
    assert exat([1.0, 1.0], near, has_token_labels=True).tolist() == [False, False]
    assert exat([], near[:0]).tolist() == []


def test_lengths_and_numbers_are_checked(make_neighbours: Make) -> None:
    near = make_neighbours(3, 2)
    with pytest.raises(SettingError, match=r"shape \(2,\), but there are 3 tokens"):
        exag([1.0, 2.0], near)
    with pytest.raises(SettingError, match="token 1 is not a finite number"):
        exat([1.0, np.nan, 1.0], near)
