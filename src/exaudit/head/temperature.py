"""Temperature scaling: how sure a document's output is (Guo et al., 2017).

The outputs of a network that fits its training documents well are too sure of new ones. Divided by one number, found
on the dev documents, they are log-odds that can be believed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["doubt", "fit_temperature"]

COLDEST, HOTTEST = 0.02, 50.0


def fit_temperature(outputs: NDArray[np.floating], truth: NDArray[np.generic]) -> float:
    """The temperature T at which sigma(output / T) is closest to the truth, by cross-entropy, both of any one shape.

    The truth counts as slightly less than sure (Platt, 1999), so that outputs that are all on their right side do not
    stand for certainty.
    """
    x = np.asarray(outputs, np.float64).ravel()
    true = np.asarray(truth).ravel() > 0
    hits, others = int(true.sum()), int((~true).sum())
    target = np.where(true, (hits + 1) / (hits + 2), 1 / (others + 2))
    low, high = np.log(COLDEST), np.log(HOTTEST)
    for _ in range(60):  # the slope of the cross-entropy in 1 / T rises, so halving finds where it is zero
        middle = (low + high) / 2
        slope = (x * (_sigmoid(x / np.exp(middle)) - target)).sum()
        low, high = (middle, high) if slope > 0 else (low, middle)
    return float(np.exp((low + high) / 2))


def doubt(outputs: NDArray[np.floating], temperature: float) -> NDArray[np.float64]:
    """-log P that a document is of a class, given its output for that class: near 0 where it surely is."""
    with np.errstate(invalid="ignore"):  # an output that is no number is told of by those who write it
        return np.logaddexp(0, -np.asarray(outputs, np.float64) / temperature)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.logaddexp(0, -x))
