from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score, matthews_corrcoef, precision_score, recall_score

from exaudit.metrics import Counts, best_offset, bootstrap, document_metrics, stable_offset, token_metrics

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(pairs)
@settings(max_examples=100, deadline=None)
def test_every_metric_equals_scikit_learn(rows: list[tuple[bool, bool]]) -> None:
    decided, truth = (np.array(column, dtype=int) for column in zip(*rows, strict=True))
    counts = Counts.of(decided, truth)
    expected = {
        "accuracy": accuracy_score(truth, decided),
        "precision": precision_score(truth, decided, zero_division=0),
        "recall": recall_score(truth, decided, zero_division=0),
        "f1": fbeta_score(truth, decided, beta=1, zero_division=0),
        "f0.5": fbeta_score(truth, decided, beta=0.5, zero_division=0),
    }
    if len(set(truth)) > 1 and len(set(decided)) > 1:
        expected["mcc"] = matthews_corrcoef(truth, decided)
    for name, value in {**document_metrics(counts), **token_metrics(counts)}.items():
        assert value == pytest.approx(expected.get(name, 0.0), abs=1e-12), name


@given(
    st.lists(
        st.tuples(st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0]), st.booleans()), min_size=1, max_size=25
    )
)
@settings(max_examples=150, deadline=None)
def test_best_offset_equals_a_search_over_all_boundaries(rows: list[tuple[float, bool]]) -> None:
    scores, truth = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    candidates = [0.0, *(np.unique(scores) - 0.1), scores.max() + 1]
    best = max(Counts.of(scores > c, truth).f(0.5) for c in candidates)
    assert Counts.of(scores > best_offset(scores, truth), truth).f(0.5) == pytest.approx(best)


def test_offset_stays_at_zero_where_nothing_is_better() -> None:
    assert best_offset(np.array([1.0, -1.0]), np.array([1, 0])) == 0.0


def test_stable_offset_lies_between_the_classes() -> None:
    scores = np.concatenate([np.linspace(2, 3, 50), np.linspace(4, 5, 50)])
    assert 2.9 < stable_offset(scores, np.repeat([0, 1], 50)) < 4.1


def test_bootstrap_covers_the_value_and_narrows_with_more_documents() -> None:
    rng = np.random.default_rng(0)
    few, many = ([Counts.of(*rng.integers(0, 2, (2, 10))) for _ in range(n)] for n in (10, 1000))
    wide, narrow = bootstrap(token_metrics, few, draws=200), bootstrap(token_metrics, many, draws=200)
    total = Counts(*np.sum([astuple(c) for c in many], axis=0).tolist())
    low, high = narrow["f1"]
    assert low <= total.f() <= high
    assert high - low < wide["f1"][1] - wide["f1"][0]


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 decisions but 3"):
        Counts.of(np.zeros(2), np.zeros(3))
