"""Temperature scaling, against a slow search."""

from __future__ import annotations

import math

import numpy as np
import pytest

from exaudit.head.confidence import Confidence, fit_temperature


def drawn(count: int, temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Outputs that are too sure by this factor, and labels drawn as often as they should be."""
    draws = np.random.default_rng(seed)
    log_odds = draws.normal(0, 2, count)
    return log_odds * temperature, draws.random(count) < 1 / (1 + np.exp(-log_odds))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_finds_by_how_much_outputs_are_too_sure(temperature: float) -> None:
    outputs, truth = drawn(4000, temperature)
    assert fit_temperature(outputs, truth) == pytest.approx(temperature, rel=0.1)


def test_is_where_the_cross_entropy_is_lowest() -> None:
    outputs, truth = drawn(300, 3.0, seed=1)
    hits, others = truth.sum(), (~truth).sum()

    def loss(temperature: float) -> float:
        total = 0.0
        for x, true in zip(outputs, truth, strict=True):
            p = 1 / (1 + math.exp(-x / temperature))
            target = (hits + 1) / (hits + 2) if true else 1 / (others + 2)
            total -= target * math.log(p) + (1 - target) * math.log(1 - p)
        return total

    found = fit_temperature(outputs, truth)
    assert loss(found) <= min(loss(t) for t in np.geomspace(1.5, 20, 80)) + 1e-6


def test_outputs_that_are_all_right_do_not_stand_for_certainty() -> None:
    outputs = np.array([[3.0], [2.0], [-2.0], [-4.0]])
    temperature = fit_temperature(outputs, outputs > 0)
    assert 0.1 < temperature < 10
    assert 0.05 < 1 - math.exp(-float(Confidence(temperature).doubt(outputs)[1, 0])) < 0.5


def test_doubt_is_the_negative_log_of_the_probability() -> None:
    assert Confidence(2.0).doubt(np.array([0.0, 2.0, -6.0])).tolist() == pytest.approx(
        [math.log(2), -math.log(1 / (1 + math.exp(-1))), -math.log(1 / (1 + math.exp(3)))]
    )
    assert Confidence(2.0).other_doubt(np.array([6.0])) == pytest.approx(-math.log(1 / (1 + math.exp(3))))


def test_documents_of_a_class_have_no_doubt_on_average() -> None:
    outputs, truth = (part[:, None] for part in drawn(500, 2.0))
    found = Confidence.fit(outputs, truth)
    assert found.doubt(outputs[truth]).mean() == pytest.approx(0, abs=1e-9)
    assert found.other_doubt(outputs[~truth]).mean() == pytest.approx(0, abs=1e-9)
    assert found.doubt(outputs[~truth]).mean() > 0.5
    assert Confidence.from_json(found.to_json()) == found
    with pytest.raises(ValueError, match="no such confidence"):
        Confidence(0.0)
