from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from exaudit.benchmark.measures import (
    average_precision,
    best_boundary_measures,
    boundary_measures,
    flagged,
    word_measures,
)

SCORES = [np.array([[3.0], [1.0], [-1.0]]), np.array([[2.0], [0.5]])]
TRUTH = [np.array([[1], [0], [1]]), np.array([[0], [0]])]


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30))
def test_average_precision_is_that_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    scores, truth = np.array([s for s, _ in rows], float), np.array([t for _, t in rows])
    wanted = average_precision_score(truth, scores) if truth.any() else 0.0
    assert average_precision(scores, truth) == pytest.approx(wanted)


def test_average_precision_by_hand() -> None:
    # In order 3 (true), 2, 1, 0.5, -1 (true): precision 1 at the first, 2/5 at the second.
    assert average_precision(np.concatenate(SCORES)[:, 0], np.concatenate(TRUTH)[:, 0]) == pytest.approx(0.7)


def test_words_at_a_boundary() -> None:
    found = boundary_measures(
        SCORES, TRUTH, (0.0,)
    )  # 1 of 4 flagged words is true, 1 of 2 true words is flagged
    assert found["precision"] == pytest.approx(1 / 4)
    assert found["recall"] == pytest.approx(1 / 2)
    assert found["f1"] == pytest.approx(1 / 3)
    assert found["f0.5"] == pytest.approx(1.25 * 0.25 * 0.5 / (0.25 * 0.25 + 0.5))
    assert boundary_measures(SCORES, TRUTH, (3.0,))["f1"] == 0.0, "a word at the boundary is not above it"


def test_the_best_boundary_is_one_for_each_measure() -> None:
    found = best_boundary_measures(SCORES, TRUTH)
    by_hand = {
        beta: max(
            boundary_measures(SCORES, TRUTH, (edge,))[name] for edge in (-2.0, -0.5, 0.7, 1.5, 2.5, 3.5)
        )
        for name, beta in (("f1", 1.0), ("f0.5", 0.5))
    }
    assert found == pytest.approx({"f1": by_hand[1.0], "f0.5": by_hand[0.5]})
    assert found["f1"] == pytest.approx(2 / 3)  # only the first word
    assert found["f0.5"] == pytest.approx(5 / 6)


def test_flagged_words_of_positive_and_negative_documents() -> None:
    found = flagged(SCORES, np.array([[1], [0]]), (0.9,))
    assert found == pytest.approx({"all": 3 / 5, "positive": 2 / 3, "negative": 1 / 2})


def test_several_classes_are_averaged_over_those_with_a_true_word() -> None:
    scores = [np.array([[1.0, -1.0, 5.0], [-1.0, 1.0, 5.0]])]
    truth = [np.array([[1, 1, 0], [0, 0, 0]])]
    found = word_measures(scores, truth, np.array([[1, 1, 0]]), {"default": (0.0,) * 3, "zero": (0.0,) * 3})
    assert found["ap"] == pytest.approx((1.0 + 0.5) / 2)  # the third class has no true word
    assert found["default"]["f1"] == pytest.approx((1.0 + 0.0) / 2)
    assert found["flagged"]["positive"] == pytest.approx(0.5)  # of the first two classes
    assert found["flagged"]["negative"] == 1.0  # of the third


def test_scores_of_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="same words"):
        word_measures(SCORES, TRUTH[::-1], np.array([[1], [0]]), {"default": (0.0,)})
