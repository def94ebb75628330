"""Words that are more common in documents of a class, and the boundary that goes with them, where both are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from exaudit.model.excess import Excess, excess_boundary

IDLE = 0.0
Words = tuple[NDArray[np.float64], NDArray[np.bool_]]


def drawn(
    n: int, carriers: float, apart: float, *, hidden: float = 0.0, seed: int = 0
) -> tuple[Words, NDArray[np.bool_]]:
    """Scores of n words of documents of a class and n of others, and which of them carry the label. Of those that do
    not, 0.4 are idle, and of those that do, `hidden`."""
    draws = np.random.default_rng(seed)
    of_class = np.repeat([True, False], n)
    true = of_class & (draws.random(2 * n) < carriers)
    scores = draws.normal(0, 1, 2 * n) + apart * true
    scores[draws.random(2 * n) < np.where(true, hidden, 0.4)] = IDLE
    return (scores, of_class), true


def shown(words: Words, documents: int = 1000) -> NDArray[np.float64]:
    scores, of_class = words
    excess = Excess.of(scores, of_class, idle=IDLE, documents=documents)
    return np.where(of_class, excess.part(scores), 0.0)


def f_at(boundary: float, scores: NDArray[Any], true: NDArray[Any], beta: float) -> float:
    said = scores > boundary
    return float((1 + beta**2) * (said & true).sum() / (beta**2 * true.sum() + said.sum()))


def test_the_part_is_how_likely_a_word_is_to_carry_the_label() -> None:
    words, true = drawn(200_000, carriers=0.2, apart=2.0)
    parts = shown(words)
    scores, of_class = words
    for low, high in ((-3.0, -1.0), (0.5, 1.0), (1.5, 2.0), (2.5, 6.0)):
        here = of_class & (scores > low) & (scores < high)
        assert parts[here].mean() == pytest.approx(true[here].mean(), abs=0.05)


def test_the_part_by_hand() -> None:
    scores = np.repeat([-1.0, 0.0, 1.0, 2.0], [4, 6, 6, 4])
    of_class = np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0], bool)
    found = Excess.of(scores, of_class, idle=0.0, documents=10)
    # A document has 2 words: 0.4, 0.6, 0.6 and 0.4 of these scores, and both kinds count as one document more.
    odds = np.array([1.4, 7.2, 7.2, 3.4]) / np.array([3.4, 7.2, 7.2, 1.4])
    odds[1:3] = 1.0
    expected = np.maximum(1 - 1 / odds, 0)
    np.testing.assert_allclose(found.part(np.array([-1.0, 0.0, 1.0, 2.0])), expected)
    np.testing.assert_allclose(found.part(np.array([-9.0, 9.0])), expected[[0, -1]])


def test_along_other_scores_it_is_isotonic_regression() -> None:
    draws = np.random.default_rng(0)
    scores = np.round(draws.normal(0, 1, 400), 1)  # many are alike
    parts = np.clip(draws.normal(0.3 + 0.2 * scores, 0.3), 0, 1)
    found = Excess.along(scores, parts)
    expected = IsotonicRegression(out_of_bounds="clip").fit(scores, parts)
    # Between two scores that were seen, ours is that of the lower one.
    np.testing.assert_allclose(found.part(np.unique(scores)), expected.predict(np.unique(scores)), atol=1e-9)
    assert found.part(np.array([-99.0, 99.0])).tolist() == [found.parts[0], found.parts[-1]]
    assert found.part(scores).mean() == pytest.approx(parts.mean())
    assert (np.diff(found.parts) > 0).all()


def test_more_idle_words_show_nothing() -> None:
    """Long documents have more words that no filter chose: these are not there on account of the class."""
    scores = np.repeat([-1.0, IDLE, 1.0] * 2, [50, 900, 50, 450, 500, 50])
    of_class = np.repeat([True, False], 1000)
    assert not shown((scores, of_class)).any()


def test_of_few_documents_less_is_believed() -> None:
    scores, of_class = np.array([2.0, 0.0, 0.0, 0.0]), np.array([True, True, False, False])
    few, many = (shown((scores, of_class), documents)[0] for documents in (2, 2000))
    assert few < 0.8 < many


def test_a_clear_cue_is_flagged_alone() -> None:
    (scores, of_class), true = drawn(20_000, carriers=0.05, apart=12.0)
    parts = shown((scores, of_class))
    for beta in (0.5, 1.0):
        assert f_at(excess_boundary(scores, parts, of_class, beta, 0.3), scores, true, beta) > 0.97


def test_where_scores_tell_little_f1_takes_most_words_of_the_class() -> None:
    (scores, of_class), true = drawn(20_000, carriers=0.2, apart=0.2, hidden=0.4)
    weighed = scores - 10.0 * ~of_class  # the documents are known for sure
    parts = shown((scores, of_class))
    f1, f05 = (excess_boundary(weighed, parts, of_class, beta, 0.5) for beta in (1.0, 0.5))
    best = max(f_at(b, weighed, true, 1.0) for b in np.quantile(weighed, np.linspace(0, 1, 400)))
    assert f_at(f1, weighed, true, 1.0) > 0.95 * best
    assert (weighed[of_class] > f1).mean() > 0.5
    assert not (weighed[~of_class] > f1).any()
    assert f05 >= f1


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("most", [0.0, 0.3])
def test_the_boundary_equals_a_search_over_all(beta: float, most: float) -> None:
    (scores, of_class), _ = drawn(60, carriers=0.3, apart=1.5, seed=4)
    parts = shown((scores, of_class), 12)

    def expected(boundary: float) -> float:
        said = scores > boundary
        found = []
        for guess in np.linspace(0, most, 41)[1::2]:  # twenty shares, evenly spread
            chance = [
                part + (1 - part) * guess if mine else 0.0 for part, mine in zip(parts, of_class, strict=True)
            ]
            hits = sum(c for c, flagged in zip(chance, said, strict=True) if flagged)
            found.append(hits / (beta**2 * sum(chance) + said.sum()))
        return float(np.exp(np.mean(np.log(found))))

    best = max(expected(boundary) for boundary in [*scores[scores < scores.max()], scores.min() - 1])
    assert expected(excess_boundary(scores, parts, of_class, beta, most)) == pytest.approx(best, abs=1e-12)
