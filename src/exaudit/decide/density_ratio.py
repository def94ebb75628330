"""How much more often documents like one of the reference occur in new data: weights under which the reference stands
for the new data, if only what documents look like has shifted and not what they mean (covariate shift)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["density_ratio"]

Floats = NDArray[np.float64]
STEPS = 25  # of Newton's method, which needs fewer than ten
WIDEST = 4.0  # standard deviations; farther out, a figure says no more than "far out"


def density_ratio(old: Floats, new: Floats, *, ridge: float = 1.0, largest: float = 20.0) -> Floats:
    """Weights of the rows of `old` (m, K), of mean 1, by a logistic regression that tells them from `new` (n, K).

    Parameters
    ----------
    old, new
        Figures of documents, in the same columns.
    ridge
        How strongly the regression is held back: 1 counts as one document that says nothing, in each direction.
    largest
        Weights are cut there, so that a few documents do not stand for all.
    """
    rows = np.concatenate([old, new])  # (N, K)
    spread = rows.std(0)
    scaled = np.clip((rows - rows.mean(0)) / np.where(spread > 0, spread, 1.0), -WIDEST, WIDEST)
    inputs = np.concatenate([np.ones((len(rows), 1)), scaled], axis=1)  # (N, K + 1)
    truth = np.repeat([0.0, 1.0], [len(old), len(new)])
    penalty = ridge * np.eye(inputs.shape[1])
    penalty[0, 0] = 1e-6  # the constant is free
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))  # (N,) of being new
        slope = inputs.T @ (truth - chance) - penalty @ weights
        curve = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    ratios = np.exp(np.clip(inputs[: len(old)] @ weights, -30, 30))  # the sizes of the samples cancel below
    ratios = np.minimum(ratios / ratios.mean(), largest)
    return np.asarray(ratios / ratios.mean())
