from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.head.criteria import is_better, linear_f1


def by_hand(scores: list[float], truth: list[bool]) -> float:
    """The best F1 over offsets of the probability of the positive class, as in the paper's code."""
    best = 0.0
    for offset in np.linspace(0, 1.0, 50):
        tp = fp = fn = 0
        for score, true in zip(scores, truth, strict=True):
            positive = 1 / (1 + math.exp(-score))
            said = positive + offset > 1 - positive
            tp, fp, fn = tp + (said and true), fp + (said and not true), fn + (not said and true)
        if tp:
            best = max(best, 2 * tp / (2 * tp + fp + fn))
    return best


SCORES = st.integers(-24, 24).map(lambda n: n / 4)  # never next to a boundary, where rounding decides


@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=30))
def test_linear_f1_is_the_papers(documents: list[tuple[float, bool]]) -> None:
    scores, truth = ([one[n] for one in documents] for n in (0, 1))
    logits, of_class = np.array(scores)[:, None], np.array(truth)[:, None].astype(int)
    assert linear_f1(logits, of_class, logits > 0) == pytest.approx(by_hand(scores, truth))


def test_of_more_than_two_classes_the_usual_boundary() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert linear_f1(np.zeros((3, 3)), truth, truth > 0) == 1.0


def record(accuracy: float = 0.5, linear: float = 0.5, token: float = 0.5, best: float = 0.5) -> dict:
    document = {"accuracy": accuracy, "f1": 0.9}
    return {"document": document, "linear_f1": linear, "token": {"f0.5": token}, "token_best_f0.5": best}


def test_by_accuracy_the_paper_takes_the_last_of_equals() -> None:
    equal, worse = record(), record(accuracy=0.4)
    assert is_better(equal, equal, "accuracy", paper=True)
    assert not is_better(equal, equal, "accuracy", paper=False)
    assert not is_better(worse, equal, "accuracy", paper=True)
    assert not is_better(equal, equal, "linear-f1", paper=True)


def test_the_paper_judges_words_at_zero() -> None:
    kept, other = record(token=0.3, best=0.6), record(token=0.4, best=0.5)
    assert is_better(other, kept, "token-f0.5", paper=True)
    assert not is_better(other, kept, "token-f0.5", paper=False)


def test_by_the_linear_layer() -> None:
    assert is_better(record(accuracy=0.1, linear=0.6), record(), "linear-f1", paper=False)
