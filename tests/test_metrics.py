from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score, matthews_corrcoef, precision_score, recall_score

from exaudit.metrics import (
    Counts,
    Difference,
    best_offset,
    bootstrap,
    document_metrics,
    labelled_share,
    likely_offset,
    paired_bootstrap,
    stable_offset,
    token_metrics,
    wilson,
)

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


@given(
    st.lists(st.floats(-6, 6, width=32), min_size=1, max_size=40),
    st.sampled_from([0.5, 1.0]),
    st.sampled_from([(1.0,), (0.3,), (1.0, 0.2)]),
)
@settings(max_examples=100, deadline=None)
def test_likely_offset_equals_a_search_over_all_boundaries(
    log_odds: list[float], beta: float, parts: tuple[float, ...]
) -> None:
    """The highest F_beta to be expected; of several guesses, the highest geometric mean of it."""
    scores = np.array(log_odds)
    guesses = [part / (1 + np.exp(-part * scores)) for part in parts]

    def expected(boundary: float) -> float:
        said = scores > boundary
        f = [(1 + beta**2) * own[said].sum() / (beta**2 * own.sum() + said.sum()) for own in guesses]
        return float(np.prod(f) ** (1 / len(f)))

    best = max(expected(boundary) for boundary in [*np.nextafter(scores, -np.inf), scores.min() - 1])
    assert expected(likely_offset(scores, guesses, beta)) == pytest.approx(best, abs=1e-9)


def test_a_guess_that_nothing_is_true_leaves_it_to_the_others() -> None:
    scores, chances = np.array([5.0, 3, 1, 0]), np.array([0.9, 0.9, 0.9, 0.0])
    nothing = np.zeros(4)
    assert likely_offset(scores, [nothing, chances]) == likely_offset(scores, [chances]) == 0.5
    assert not (scores > likely_offset(scores, [nothing])).any()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_the_labelled_share_is_found_where_some_of_the_true_ones_were_labelled(share: float) -> None:
    """The chances that a perfect learner comes to: true ones are labelled with probability `share`, others never."""
    true = np.random.default_rng(0).random(5000) < 0.1
    assert labelled_share(np.where(true, share, 0.0)) == pytest.approx(share)


def test_the_labelled_share_is_a_mean_over_what_was_labelled() -> None:
    rng = np.random.default_rng(1)
    chances = 1 / (1 + np.exp(rng.normal(2, 2, 200_000)))
    labelled = rng.random(len(chances)) < chances
    assert labelled_share(chances) == pytest.approx(chances[labelled].mean(), abs=0.01)
    assert labelled_share(np.zeros(3)) == 1.0  # nothing was: nothing to go by


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


def some_counts(rng: np.random.Generator, documents: int, right: float) -> list[Counts]:
    """Documents of ten tokens, each decided right with the probability given."""
    truth = rng.random((documents, 10)) < 0.5
    wrong = rng.random((documents, 10)) > right
    return [Counts.of(t ^ w, t) for t, w in zip(truth, wrong, strict=True)]


def test_a_paired_bootstrap_draws_the_same_documents_on_both_sides() -> None:
    """Against a literal loop over draws, documents and cells."""
    rng = np.random.default_rng(1)
    ours, others = some_counts(rng, 30, 0.8), some_counts(rng, 30, 0.7)
    found = paired_bootstrap(lambda c: c.f(0.5), ours, others, draws=200, seed=7)
    generator, drawn = np.random.default_rng(7), []
    for _ in range(200):
        rows = generator.integers(0, 30, 30).tolist()
        a, b = (sum((side[row] for row in rows), Counts(0, 0, 0, 0)) for side in (ours, others))
        drawn.append(a.f(0.5) - b.f(0.5))
    a, b = (sum(side, Counts(0, 0, 0, 0)) for side in (ours, others))
    assert found.value == a.f(0.5) - b.f(0.5)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_a_paired_interval_is_narrower_where_both_sides_fail_on_the_same_documents() -> None:
    rng = np.random.default_rng(2)
    hard = rng.random(200) < 0.5  # documents that both get wrong
    others = [Counts(1, 9, 0, 0) if h else Counts(9, 1, 0, 0) for h in hard]
    ours = [Counts(c.true_positive + 1, c.false_positive - 1, 0, 0) for c in others]
    found = paired_bootstrap(lambda c: c.precision, ours, others)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    apart = paired_bootstrap(lambda c: c.precision, ours, [others[i] for i in rng.permutation(200)])
    assert apart.value == pytest.approx(0.1)
    assert apart.high - apart.low > 0.1


def test_a_paired_bootstrap_of_a_side_with_itself_is_zero_and_turns_with_the_sides() -> None:
    rng = np.random.default_rng(3)
    ours, others = some_counts(rng, 40, 0.9), some_counts(rng, 40, 0.6)
    assert paired_bootstrap(lambda c: c.accuracy, ours, ours, draws=50) == Difference(0, 0, 0)
    one, back = (paired_bootstrap(lambda c: c.accuracy, *pair) for pair in ((ours, others), (others, ours)))
    assert one.low > 0.1
    assert (back.value, back.low, back.high) == pytest.approx((-one.value, -one.high, -one.low))


@pytest.mark.parametrize(("ours", "others"), [(2, 3), (3, 2), (0, 0)])
def test_documents_that_do_not_pair_are_refused(ours: int, others: int) -> None:
    sides = ([Counts(1, 1, 1, 1)] * n for n in (ours, others))
    with pytest.raises(ValueError, match=f"{ours} and {others} documents cannot be compared pair by pair"):
        paired_bootstrap(lambda c: c.accuracy, *sides)


@given(st.integers(1, 200), st.floats(0, 1))
def test_wilson_solves_the_score_equation(n: int, place: float) -> None:
    """The ends are the shares p from which the observed one is 1.96 standard errors of p away."""
    share = round(place * n) / n
    low, high = wilson(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            assert (share - end) ** 2 == pytest.approx(1.96**2 * end * (1 - end) / n, abs=1e-9)


def test_wilson_knows_how_few_there_are() -> None:
    assert wilson(1.0, 1) == pytest.approx((0.2065, 1.0), abs=1e-3)
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-3)
