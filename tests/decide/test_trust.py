"""Trust rises with every signal, finds the ones that tell, and survives being written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from exaudit.decide.trust import Trust
from exaudit.errors import ModelError, SettingError


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes; the second signal tells right from wrong, the first and the third do not."""
    draws = np.random.default_rng(seed)
    values, said = draws.normal(size=(n, 3)), draws.integers(0, 2, n)
    right = draws.random(n) < 1 / (1 + np.exp(-3 * values[:, 1]))
    values[said == 1, 1] *= 100  # on another scale, which quantiles by class do not mind
    return values, said, right


def fitted(n: int = 2000) -> Trust:
    return Trust.fit(("margin", "distance", "noise"), *sample(n), 2)


def test_the_signal_that_tells_has_the_weight() -> None:
    trust = fitted()
    weights = np.array(trust.weights).reshape(2, 2, 3).sum((0, 1))  # (S,)
    assert weights[1] > 5 * max(weights[0], weights[2])
    values, said, right = sample(2000, seed=1)
    scores = trust(values, said)
    ranks = np.argsort(np.argsort(scores))
    area = (ranks[right].sum() - right.sum() * (right.sum() - 1) / 2) / (right.sum() * (~right).sum())
    assert area > 0.8


def test_no_signal_can_lower_the_trust() -> None:
    trust = fitted(300)
    values, said, _ = sample(200, seed=2)
    assert np.min(trust.weights) >= 0
    for s in range(3):
        more = values.copy()
        more[:, s] += 0.5
        assert (trust(more, said) >= trust(values, said)).all()


def test_few_answers_leave_it_to_the_margin() -> None:
    values = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0]])
    trust = Trust.fit(("margin", "other"), values, [0, 0, 0], [True, True, True], 2)
    assert (np.diff(trust(values, np.zeros(3, int))) < 0).all()


def test_quantiles_are_of_all_answers_and_of_the_same_class_for_the_distance() -> None:
    column, said = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), np.array([0, 0, 0, 1, 1, 1])
    values = np.stack([column, column], 1)
    trust = Trust.fit(("margin", "distance"), values, said, np.ones(6, bool), 2)
    found = trust.quantiles(np.array([[2.5, 2.5], [2.5, 2.5], [25.0, 25.0]]), np.array([0, 1, 1]))
    assert found[:, 0] == pytest.approx([2 / 6, 2 / 6, 5 / 6])
    assert found[:, 1] == pytest.approx([2 / 3, 0, 2 / 3])


def test_written_and_read_it_is_the_same() -> None:
    trust = fitted(200)
    assert Trust.from_json(json.loads(json.dumps(trust.to_json()))) == trust


def test_damage_is_told() -> None:
    value = fitted(200).to_json()
    with pytest.raises(ModelError, match="do not fit together"):
        Trust.from_json(value | {"weights": [own[:-1] for own in value["weights"]]})
    with pytest.raises(ModelError, match="damaged trust"):
        Trust.from_json({"signals": 3})
    with pytest.raises(SettingError, match="signals of shape"):
        Trust.fit(("margin",), np.zeros((3, 2)), np.zeros(3), np.zeros(3), 2)
