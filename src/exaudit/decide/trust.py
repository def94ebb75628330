"""How much an answer is to be trusted: a small combination of signals that can only rise with each of them.

Each signal (larger is safer) is taken as its quantile u among all answers, or, of the distance to exemplars, among
those that say the same class, and enters as u and as -log(1 - u), which tells the very best apart. Logistic regression
with weights of zero or more makes one number of them, the log-odds of being right. The weights of all answers stay near
those of the first signal, the model's margin, and the weights of each class near those of all, if documents are few.
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
STEPS, SWEEPS = 12, 100  # of Newton, and of the search for each step
BY_CLASS = ("distance",)  # signals whose scale differs between classes
RIDGE = 2.0  # answers' worth of belief in the margin alone


@dataclass(frozen=True, slots=True)
class Trust:
    """The quantiles and the weights of each signal, for each predicted class."""

    signals: tuple[str, ...]
    knots: tuple[tuple[tuple[float, ...], ...], ...]  # for each class and signal, rising
    weights: tuple[tuple[float, ...], ...]  # for each class, two for each signal
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
                _knots(table[said == c, s] if name in BY_CLASS and (said == c).any() else table[:, s])
                for s, name in enumerate(signals)
            )
            for c in range(classes)
        )
        draft = cls(tuple(signals), knots, ((0.0,) * (2 * len(signals)),) * classes, (0.0,) * classes)
        rows = np.random.default_rng(0).permutation(len(said))[:MOST]
        features = draft._features(draft.quantiles(table[rows], said[rows]))  # (N, 2 S)
        features = np.concatenate([features, np.ones((len(rows), 1))], axis=1)  # and a constant
        truth = np.asarray(right, bool)[rows]
        margin = np.zeros(features.shape[1])
        margin[len(signals)] = 1.0  # -log(1 - u) of the first signal
        shared = _logistic(features, truth, margin)
        each = [_logistic(features[said[rows] == c], truth[said[rows] == c], shared) for c in range(classes)]
        weights = tuple(tuple(own[:-1].tolist()) for own in each)
        return cls(draft.signals, knots, weights, tuple(float(own[-1]) for own in each))

    def quantiles(self, values: Floats, predicted: npt.NDArray[Any]) -> Floats:
        """Where each signal lies among those of other answers (N, S): the share that is weaker."""
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
        own = (features * np.array(self.weights)[predicted]).sum(1)
        return np.asarray(own + np.array(self.offsets)[predicted] + ties)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Trust:
        """What `to_json` gave, checked."""
        try:
            signals = tuple(str(name) for name in value["signals"])
            knots = tuple(tuple(tuple(map(float, each)) for each in own) for own in value["knots"])
            weights = tuple(tuple(map(float, own)) for own in value["weights"])
            offsets = tuple(map(float, value["offsets"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"damaged trust: {error!r}; fit it again") from error
        sizes = (
            {len(own) for own in knots},
            {len(own) for own in weights},
            {len(knots), len(weights), len(offsets)},
        )
        if sizes != ({len(signals)}, {2 * len(signals)}, {len(offsets)}):
            raise ModelError("damaged trust: its parts do not fit together; fit it again")
        return cls(signals, knots, weights, offsets)

    @staticmethod
    def _features(quantiles: Floats) -> Floats:
        return np.concatenate([quantiles, -np.log1p(-quantiles * (1 - 1 / (2 * KNOTS)))], axis=1)  # (N, 2 S)


def _knots(values: Floats) -> tuple[float, ...]:
    shares = np.linspace(0, 1, min(KNOTS, len(values)))
    return tuple(np.quantile(values, shares, method="inverted_cdf").tolist())


def _logistic(features: Floats, right: npt.NDArray[np.bool_], prior: Floats) -> Floats:
    """Weights near `prior`, zero or more but for the last, the constant, by Newton's method: each step is searched for
    along one coordinate after the other, and halved until the loss falls."""
    least = np.zeros(len(prior))
    least[-1] = -np.inf

    def loss(weights: Floats) -> float:
        logits = features @ weights
        away = RIDGE / 2 * ((weights - prior) ** 2).sum()
        return float(np.logaddexp(0, np.where(right, -logits, logits)).sum() + away)

    weights = prior.copy()
    for _ in range(STEPS):
        chance = _sigmoid(features @ weights)
        slope = features.T @ (chance - right) + RIDGE * (weights - prior)
        curve = (features * (chance * (1 - chance))[:, None]).T @ features + RIDGE * np.eye(len(weights))
        step = np.zeros(len(weights))
        for _ in range(SWEEPS):
            for k in range(len(weights)):
                step[k] = max(step[k] - (slope[k] + curve[k] @ step) / curve[k, k], least[k] - weights[k])
        before = loss(weights)
        while np.abs(step).max() > 1e-6 and loss(weights + step) > before:
            step /= 2
        weights = np.maximum(weights + step, least)
        if np.abs(step).max() < 1e-4:
            break
    return weights


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))
