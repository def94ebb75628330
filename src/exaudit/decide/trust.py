"""How much an answer is to be trusted: a small combination of signals that can only rise with each of them.

Each signal (larger is safer) is taken as its quantile among the answers that say the same class, u, and enters as u and
as -log(1 - u), which tells the very best apart. Logistic regression with weights of zero or more makes one number of
them, the log-odds of being right; with few documents it stays near the first signal, the model's margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.errors import ModelError, SettingError

__all__ = ["Trust"]

Floats = npt.NDArray[np.float64]
KNOTS = 200  # quantiles kept of each signal
MOST = 10_000  # answers to fit on
SWEEPS = 40
RIDGE = 2.0  # answers' worth of belief in the margin alone


@dataclass(frozen=True, slots=True)
class Trust:
    """The quantiles of each signal for each predicted class, and the weights."""

    signals: tuple[str, ...]
    knots: tuple[tuple[tuple[float, ...], ...], ...]  # for each class and signal, rising
    weights: tuple[float, ...]  # two for each signal
    offsets: tuple[float, ...]  # for each class

    @classmethod
    def fit(
        cls,
        signals: Sequence[str],
        values: npt.ArrayLike,
        predicted: npt.ArrayLike,
        right: npt.ArrayLike,
        classes: int,
    ) -> Trust:
        """From answers whose truth is known.

        values : (N, S), larger is safer. predicted : (N,) from 0. right : (N,) whether the answer is.
        """
        table, said = np.asarray(values, np.float64), np.asarray(predicted)
        if table.shape != (len(said), len(signals)) or not np.isfinite(table).all():
            raise SettingError(
                f"signals of shape {table.shape}, but there are {len(said)} answers and {len(signals)}"
            )
        knots = tuple(
            tuple(
                _knots(table[said == c, s] if (said == c).any() else table[:, s]) for s in range(len(signals))
            )
            for c in range(classes)
        )
        draft = cls(tuple(signals), knots, (0.0,) * (2 * len(signals)), (0.0,) * classes)
        rows = np.random.default_rng(0).permutation(len(said))[:MOST]
        features = draft._features(draft.quantiles(table[rows], said[rows]))
        weights, offsets = _logistic(features, said[rows], np.asarray(right, bool)[rows], classes)
        return cls(draft.signals, knots, weights, offsets)

    def quantiles(self, values: Floats, predicted: npt.NDArray[Any]) -> Floats:
        """Where each signal lies among those of the same predicted class (N, S): the share that is weaker."""
        found = np.empty(values.shape)
        for c, own in enumerate(self.knots):
            mine = predicted == c
            for s, knots in enumerate(own):
                rank = np.searchsorted(knots, values[mine, s], side="left")
                found[mine, s] = rank / len(knots)
        return found

    def __call__(self, values: Floats, predicted: npt.NDArray[Any]) -> Floats:
        """The log-odds of being right, of each answer (N,)."""
        if not len(values):
            return np.zeros(0)
        features = self._features(self.quantiles(values, predicted))
        # The margin itself breaks the ties that quantiles leave, without changing their order.
        ties = 1e-6 * np.tanh(values[:, 0])
        return np.asarray(features @ np.array(self.weights) + np.array(self.offsets)[predicted] + ties)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Trust:
        """What `to_json` gave, checked."""
        try:
            signals = tuple(str(name) for name in value["signals"])
            knots = tuple(tuple(tuple(map(float, each)) for each in own) for own in value["knots"])
            weights, offsets = (tuple(map(float, value[name])) for name in ("weights", "offsets"))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"damaged trust: {error!r}; fit it again") from error
        if (
            len(weights) != 2 * len(signals)
            or len(offsets) != len(knots)
            or {len(k) for k in knots} != {len(signals)}
        ):
            raise ModelError("damaged trust: its parts do not fit together; fit it again")
        return cls(signals, knots, weights, offsets)

    @staticmethod
    def _features(quantiles: Floats) -> Floats:
        return np.concatenate([quantiles, -np.log1p(-quantiles * (1 - 1 / (2 * KNOTS)))], axis=1)  # (N, 2 S)


def _knots(values: Floats) -> tuple[float, ...]:
    shares = np.linspace(0, 1, min(KNOTS, len(values)))
    return tuple(np.quantile(values, shares, method="inverted_cdf").tolist())


def _logistic(
    features: Floats, predicted: npt.NDArray[Any], right: npt.NDArray[np.bool_], classes: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Weights of zero or more, by descent along one coordinate after the other; the curvature of the loss is at most
    x^2 / 4, so that no step can raise it."""
    signals = features.shape[1] // 2
    prior = np.zeros(2 * signals)
    prior[signals] = 1.0  # -log(1 - u) of the first signal
    weights, offsets = prior.copy(), np.zeros(classes)
    curves = (features**2).sum(0) / 4 + RIDGE
    logits = features @ weights
    for _ in range(SWEEPS):
        for c in range(classes):
            mine = predicted == c
            step = (right[mine] - _sigmoid(logits[mine])).sum() / (mine.sum() / 4 + RIDGE)
            offsets[c] += step
            logits[mine] += step
        for k in range(2 * signals):
            slope = features[:, k] @ (_sigmoid(logits) - right) + RIDGE * (weights[k] - prior[k])
            changed = max(0.0, weights[k] - slope / curves[k])
            logits += (changed - weights[k]) * features[:, k]
            weights[k] = changed
    return tuple(weights.tolist()), tuple(offsets.tolist())


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))
