from __future__ import annotations

import numpy as np

from exaudit.decide.watch import BINS, FADE, Gambler


def test_p_values_are_uniform_with_ties() -> None:
    draws = np.random.default_rng(0)
    gambler = Gambler(draws.integers(0, 4, 50).tolist())
    p = [gambler.p_value(float(x)) for x in draws.integers(0, 4, 4000)]
    counts, _ = np.histogram(p, 10, (0, 1))
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi-squared with 9 degrees, 0.1%


def test_p_values_are_ranks() -> None:
    gambler = Gambler([1.0, 2.0, 3.0])
    p = gambler.p_value(2.5)  # one of four is larger; it has the second place of four
    assert 1 / 4 <= p < 2 / 4
    assert 0 <= gambler.p_value(9.0) < 1 / 5  # among the four before it, none is larger


def test_the_capital_is_the_literal_product_of_odds() -> None:
    draws = np.random.default_rng(1)
    reference, stream = draws.normal(size=30).tolist(), draws.normal(1, 1, 40).tolist()
    p = [q for g in [Gambler(reference, seed=7)] for q in map(g.p_value, stream)]
    gambler = Gambler(reference, seed=7)
    capitals = [gambler.see(x) for x in stream]
    seen: list[int] = []
    odds = []
    for q in p:
        weights = [FADE ** (len(seen) - 1 - n) for n in range(len(seen))]
        own = sum(w for w, place in zip(weights, seen, strict=True) if place == int(q * BINS))
        odds.append(BINS * (own + 1) / (sum(weights) + BINS))
        seen.append(int(q * BINS))
    for t in (1, 5, 40):
        stakes = [
            np.prod(odds[k - 1 : t]) / (k * (k + 1)) for k in range(1, t + 1)
        ]  # a bet begun at each time
        np.testing.assert_allclose(capitals[t - 1], sum(stakes) + 1 / (t + 1))


def test_false_alarms_ever_are_as_rare_as_stated() -> None:
    """Of 300 streams of 300 documents from one source, at most about a tenth ever wins ten times the stake."""
    draws = np.random.default_rng(2)
    alarms = 0
    for n in range(300):
        values = np.round(draws.normal(size=400), 1).tolist()
        gambler = Gambler(values[:100], seed=n)
        alarms += max(gambler.see(x) for x in values[100:]) >= 10
    assert alarms <= 45  # 30 are allowed, and three standard deviations


def test_a_late_shift_is_found_soon() -> None:
    draws = np.random.default_rng(3)
    gambler = Gambler(draws.normal(size=200).tolist())
    assert max(gambler.see(x) for x in draws.normal(size=3000)) < 800
    after = [gambler.see(x) for x in draws.normal(2.5, 1, 100)]
    assert next(n for n, capital in enumerate(after, 1) if capital >= 800) <= 60
