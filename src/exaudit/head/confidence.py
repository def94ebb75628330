"""How sure a document's output is: temperature scaling (Guo et al., 2017), and the doubt that is left.

The outputs of a network that fits its training documents well are too sure of new ones. Divided by one number, found
on the dev documents, they are log-odds that can be believed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Confidence", "fit_temperature"]

COLDEST, HOTTEST = 0.02, 50.0


@dataclass(frozen=True)
class Confidence:
    """What is known of the outputs of documents: their temperature, and how much doubt is usual.

    The doubt about a document is -log P that it is of a class, less what is usual for documents of that class: 0 for
    one like those, large for one that does not look like them.
    """

    temperature: float
    usual: float = 0.0  # the mean -log P of documents that are of the class
    usual_other: float = 0.0  # and that of being another, for documents that are

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf or not math.isfinite(self.usual + self.usual_other):
            raise ValueError(f"no such confidence: {asdict(self)}")

    @classmethod
    def fit(cls, outputs: NDArray[np.floating], truth: NDArray[np.generic]) -> Self:
        """By documents whose classes are known, of which there are some of each kind (D, K)."""
        temperature = fit_temperature(outputs, truth)
        of_class = np.asarray(truth) > 0
        usual, other = (
            float(_surprisal(sign * np.asarray(outputs)[chosen], temperature).mean())
            for sign, chosen in ((1, of_class), (-1, ~of_class))
        )
        return cls(temperature, usual, other)

    def doubt(self, outputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """About documents being of a class, given their outputs for it."""
        return _surprisal(outputs, self.temperature) - self.usual

    def other_doubt(self, outputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """About documents being of another."""
        return _surprisal(-np.asarray(outputs), self.temperature) - self.usual_other

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(**{name: float(number) for name, number in value.items()})


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
        slope = (x * (np.exp(-_surprisal(x, np.exp(middle))) - target)).sum()
        low, high = (middle, high) if slope > 0 else (low, middle)
    return float(np.exp((low + high) / 2))


def _surprisal(outputs: NDArray[np.floating], temperature: float) -> NDArray[np.float64]:
    """-log P that a document is of a class, given its output for that class: near 0 where it surely is."""
    with np.errstate(invalid="ignore"):  # an output that is no number is told of by those who write it
        return np.logaddexp(0, -np.asarray(outputs, np.float64) / temperature)
