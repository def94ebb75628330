"""The K-NN that stands in for the model: a weighted vote of the nearest exemplars, with a handful of parameters.

    f(x)^KNN = beta + sum_k w_k (tanh(s_k) + gamma Y_k)      with  w_k >= 0,  sum_k w_k = 1

`dist` weighs by distance, `const` by K learned weights, `equal` weighs all exemplars alike.
`exaudit.decide.fitting` learns the parameters.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from exaudit.decide.explanation import Explanation, Term
from exaudit.decide.neighbours import Neighbours, Signs
from exaudit.errors import ModelError, SettingError

__all__ = ["KNN", "Kind", "knn_output", "knn_weights"]

Kind = Literal["dist", "const", "equal"]
KINDS: tuple[str, ...] = get_args(Kind)


def knn_weights(kind: Kind, distances: Tensor, tau: Tensor, raw_weights: Tensor) -> Tensor:
    """w_k of each exemplar; `raw_weights` are the unnormalised ones of `const`, unused by the others."""
    if kind == "dist":
        return torch.softmax(-distances / tau, dim=1)  # (N, K)
    if kind == "const":
        return torch.softmax(raw_weights / tau, dim=0).expand_as(distances)  # (N, K)
    return torch.full_like(distances, 1.0 / distances.shape[1])  # (N, K)


def knn_output(weights: Tensor, scores: Tensor, labels: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """f(x)^KNN from the weights, s+- and the labels of the exemplars."""
    return beta + (weights * (torch.tanh(scores) + gamma * labels)).sum(dim=1)  # (N,)


def evidence(neighbours: Neighbours, k: int, use_token_labels: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Distances, scores and labels of the nearest k exemplars, in float64: the tables are small, the sums exact."""
    near = neighbours.take(k)
    labels = near.token_labels if use_token_labels else near.labels
    return (
        torch.from_numpy(near.distances.astype(np.float64)),  # (N, K)
        torch.from_numpy(near.scores.astype(np.float64)),  # (N, K)
        torch.from_numpy(labels.astype(np.float64)),  # (N, K)
    )


@dataclass(frozen=True, slots=True)
class KNN:
    """A K-NN with its parameters.

    The label term takes the document labels Y, or the token labels y with `use_token_labels`; where the label is
    unknown it is zero. `offset` is the decision boundary: 0, unless tuned with token labels.
    """

    kind: Kind
    k: int
    tau: float = 10.0
    gamma: float = 1.0
    beta: float = 0.0
    raw_weights: tuple[float, ...] = ()
    use_token_labels: bool = False
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"K-NN kind {self.kind!r} is not one of {', '.join(KINDS)}")
        if self.k < 1:
            raise SettingError(f"K must be 1 or more, not {self.k}")
        wanted = self.k if self.kind == "const" else 0
        if len(self.raw_weights) != wanted:
            raise SettingError(
                f"a {self.kind} K-NN with K = {self.k} has {wanted} learned weights, not {len(self.raw_weights)}"
            )
        numbers = (self.tau, self.gamma, self.beta, self.offset, *self.raw_weights)
        if not all(math.isfinite(number) for number in numbers) or self.tau <= 0:
            raise SettingError(f"K-NN parameters must be finite, and tau above zero: {numbers}")

    @classmethod
    def initial(cls, kind: Kind, k: int, *, use_token_labels: bool = False, paper: bool = False) -> KNN:
        """The values training starts from: tau 10, gamma 1, beta 0, and decreasing weights for `const`, whose tau is 5
        in the paper's code."""
        weights: tuple[float, ...] = ()
        if kind == "const" and k >= 1:
            weights = (2.0, *np.linspace(1.0, -1.0, k).tolist()[1:])
        tau = 5.0 if paper and kind == "const" else 10.0
        return cls(kind, k, tau=tau, raw_weights=weights, use_token_labels=use_token_labels)

    def weights(self, neighbours: Neighbours) -> npt.NDArray[np.float64]:
        """w_k of the nearest K exemplars of each token; each row sums to 1."""
        distances, _, _ = evidence(neighbours, self.k, self.use_token_labels)
        return cast("npt.NDArray[np.float64]", self._weights(distances).numpy())  # (N, K)

    def output(self, neighbours: Neighbours) -> npt.NDArray[np.float64]:
        """f(x)^KNN of each token."""
        distances, scores, labels = evidence(neighbours, self.k, self.use_token_labels)
        gamma, beta = self._scalar(self.gamma), self._scalar(self.beta)
        output = knn_output(self._weights(distances), scores, labels, gamma, beta)
        return cast("npt.NDArray[np.float64]", output.numpy())  # (N,)

    def decide(self, output: npt.ArrayLike) -> Signs:
        """+1 where the output is above the decision boundary, else -1."""
        return np.where(np.asarray(output) > self.offset, 1, -1).astype(np.int8)

    def predict(self, neighbours: Neighbours) -> Signs:
        """sgn(f(x)^KNN) of each token."""
        return self.decide(self.output(neighbours))  # (N,)

    def explain(
        self, neighbours: Neighbours, i: int, *, names: tuple[str, str] = ("negative", "positive")
    ) -> Explanation:
        """The whole sum behind the output of token `i`; `names` are what is told of the two signs."""
        if not -len(neighbours) <= i < len(neighbours):
            raise SettingError(f"token {i} asked for, but there are {len(neighbours)} tokens")
        i %= len(neighbours)
        near = neighbours[i : i + 1].take(self.k)
        distances, scores, labels = (
            part[0] for part in evidence(near, self.k, self.use_token_labels)
        )  # (K,) each
        columns = (near.rows[0], distances, self.weights(near)[0], torch.tanh(scores), self.gamma * labels)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        terms = tuple(Term(row, d, w, tanh, label, w * (tanh + label)) for row, d, w, tanh, label in rows)
        output = float(self.output(near)[0])
        return Explanation(self.beta, terms, output, self.offset, int(self.decide(output)), names)

    def fingerprint(self) -> str:
        """A short name for exactly these parameters, so that what was fitted with them can tell."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "raw_weights": list(self.raw_weights)}

    @classmethod
    def from_json(cls, value: Any) -> KNN:
        """What `to_json` gave, checked."""
        names = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != names:
            raise ModelError(f"not the parameters of a K-NN: needs exactly {', '.join(sorted(names))}")
        try:
            return cls(
                kind=value["kind"],
                k=int(value["k"]),
                use_token_labels=bool(value["use_token_labels"]),
                raw_weights=tuple(float(weight) for weight in value["raw_weights"]),
                **{name: float(value[name]) for name in ("tau", "gamma", "beta", "offset")},
            )
        except (TypeError, ValueError) as error:  # SettingError is a ValueError
            raise ModelError(f"damaged K-NN parameters: {error}") from error

    def _weights(self, distances: Tensor) -> Tensor:
        raw = torch.tensor(self.raw_weights, dtype=torch.float64)
        return knn_weights(self.kind, distances, self._scalar(self.tau), raw)

    @staticmethod
    def _scalar(value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float64)
