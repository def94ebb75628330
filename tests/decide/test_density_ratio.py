from __future__ import annotations

import numpy as np
import pytest

from exaudit.decide.density_ratio import density_ratio


def test_weights_are_the_true_ratios_where_these_are_known() -> None:
    """Of two normal distributions a shift of d has the ratio exp(d x - d^2 / 2)."""
    draws = np.random.default_rng(0)
    old, new = draws.normal(size=(4000, 2)), draws.normal(size=(3000, 2))
    new[:, 0] += 0.8
    weights = density_ratio(old, new)
    assert weights.mean() == pytest.approx(1)
    truth = np.exp(0.8 * old[:, 0] - 0.32)
    assert np.corrcoef(weights, truth)[0, 1] > 0.98
    assert np.average(old[:, 0], weights=weights) == pytest.approx(0.8, abs=0.1)
    assert np.average(old[:, 1], weights=weights) == pytest.approx(0.0, abs=0.1)


def test_no_shift_is_no_weighting() -> None:
    draws = np.random.default_rng(1)
    weights = density_ratio(draws.normal(size=(3000, 3)), draws.normal(size=(3000, 3)))
    assert weights == pytest.approx(np.ones(3000), abs=0.35)


def test_samples_that_never_overlap_and_constant_columns() -> None:
    old, new = np.zeros((50, 2)), np.ones((40, 2))
    old[:, 0] = np.arange(50)
    new[:, 0] = np.arange(40) + 1000
    weights = density_ratio(old, new, largest=5.0)
    assert np.isfinite(weights).all()
    assert weights.mean() == pytest.approx(1)
    assert density_ratio(np.ones((30, 2)), np.ones((30, 2))) == pytest.approx(np.ones(30))
