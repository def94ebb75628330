"""How much more often documents like one of the reference occur in new data: weights under which the reference stands
for the new data, if only what documents look like has shifted and not what they mean (covariate shift)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DensityRatio", "density_ratio", "heaviest"]

Floats = NDArray[np.float64]
STEPS = 25  # of Newton's method, which needs fewer than ten
WIDEST = 4.0  # standard deviations; farther out, a figure says no more than "far out"
STEP, TRIED = 1.25, 24  # limits of the weights that are tried, from 1 to 170


@dataclass(frozen=True, slots=True)
class DensityRatio:
    """The ratio as a function of figures, of mean 1 over the documents that it was fitted on."""

    middle: tuple[float, ...]  # (K,) of all documents, old and new
    spread: tuple[float, ...]  # (K,)
    slopes: tuple[float, ...]  # (K,) by spread
    constant: float

    @classmethod
    def fit(cls, old: Floats, new: Floats, *, ridge: float = 1.0) -> DensityRatio:
        """By a logistic regression that tells the rows of `old` (m, K) from those of `new` (n, K).

        ridge : how strongly it is held back: 1 counts as one document that says nothing, in each direction.
        """
        rows = np.concatenate([old, new])  # (N, K)
        spread = rows.std(0)
        plain = cls(
            tuple(rows.mean(0).tolist()),
            tuple(np.where(spread > 0, spread, 1.0).tolist()),
            (0.0,) * rows.shape[1],
            0.0,
        )
        inputs = np.concatenate([np.ones((len(rows), 1)), plain._scaled(rows)], axis=1)  # (N, K + 1)
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
        slopes = tuple(weights[1:].tolist())
        fitted = cls(plain.middle, plain.spread, slopes, 0.0)
        return cls(plain.middle, plain.spread, slopes, -float(np.log(fitted(old).mean())))

    def __call__(self, rows: Floats) -> Floats:
        """The ratios of documents with these figures (N, K)."""
        return np.asarray(
            np.exp(np.clip(self._scaled(rows) @ np.array(self.slopes), -30, 30) + self.constant)
        )

    def _scaled(self, rows: Floats) -> Floats:
        return np.asarray(np.clip((rows - np.array(self.middle)) / np.array(self.spread), -WIDEST, WIDEST))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DensityRatio:
        columns = {name: tuple(map(float, value[name])) for name in ("middle", "spread", "slopes")}
        return cls(**columns, constant=float(value["constant"]))


def density_ratio(old: Floats, new: Floats, *, ridge: float = 1.0, largest: float = 20.0) -> Floats:
    """Weights of the rows of `old` (m, K), of mean 1, cut at `largest`: a few documents are not to stand for all."""
    ratios = np.minimum(DensityRatio.fit(old, new, ridge=ridge)(old), largest)
    return np.asarray(ratios / ratios.mean())


def heaviest(weights: Floats) -> float:
    """The limit up to which documents are to be used that are drawn by their weights.

    Of a document of weight w one draws with chance w / limit, so that a small limit leaves more of them; but those
    above it have to be left out. The product is best of what is left of old documents and of new ones.
    """
    limits = weights.mean() * STEP ** np.arange(TRIED)
    within = [weights[weights <= limit].sum() for limit in limits]
    return float(limits[np.argmax(np.square(within) / limits)])
