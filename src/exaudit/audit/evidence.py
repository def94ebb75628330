"""Exemplars in their documents: what a person looks at to check a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.audit.index import ExemplarIndex
from exaudit.decide.explanation import Explanation
from exaudit.decide.neighbours import Neighbours
from exaudit.support.support_set import SupportSet

__all__ = ["Evidence", "Exemplar", "exemplars_of"]

_TOKEN_LABELS = {-1: 0, 0: None, 1: 1}  # of y as the support set keeps it


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A token of the support set as it was found for another token."""

    row: int
    id: str
    position: int
    tokens: tuple[str, ...]  # of its document
    distance: float
    score: float  # s+-, counted from the model's decision boundary
    label: str  # of its document
    token_labels: tuple[int | None, ...]  # of its document; None: unknown
    token_scores: npt.NDArray[np.float32] = field(compare=False, repr=False)  # s+- of its document, as kept
    weight: float | None = None  # w_k, where a K-NN was fitted and uses this exemplar

    @property
    def token(self) -> str:
        return self.tokens[self.position]

    @property
    def token_label(self) -> int | None:
        return self.token_labels[self.position]

    @property
    def prediction(self) -> int:
        return int(self.score > 0)

    def decisions(self, boundary: float) -> tuple[int, ...]:
        """The model's decisions on all of its document, given the model's boundary (`TokenScores.offset`)."""
        return tuple((self.token_scores > np.float32(boundary)).astype(int).tolist())

    def to_json(self, *, document: bool = False) -> dict[str, Any]:
        """For JSON; with `document` also the words around the token."""
        value: dict[str, Any] = {
            "id": self.id,
            "position": self.position,
            "token": self.token,
            "distance": self.distance,
            "score": self.score,
            "prediction": self.prediction,
            "label": self.label,
            "token_label": self.token_label,
        }
        if document:
            value |= {"row": self.row, "weight": self.weight, "document": list(self.tokens)}
        return value


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one token was decided as it was: its exemplars, nearest first, and the K-NN's whole sum over them."""

    position: int
    token: str
    score: float
    decision: int
    exemplars: tuple[Exemplar, ...]
    explanation: Explanation | None  # None: no K-NN was fitted
    refusal: str | None = None  # why admission refuses it; None: admitted, or no limits were fitted

    def to_json(self) -> dict[str, Any]:
        return {
            "position": self.position,
            "token": self.token,
            "score": self.score,
            "label": self.decision,
            "exemplars": [exemplar.to_json(document=True) for exemplar in self.exemplars],
            "knn": None if self.explanation is None else self.explanation.to_json(),
            "refusal": self.refusal,
        }


def exemplars_of(
    support: SupportSet,
    index: ExemplarIndex,
    neighbours: Neighbours,
    weights: npt.NDArray[np.float64] | None = None,
) -> list[tuple[Exemplar, ...]]:
    """The exemplars of each token in their documents; `weights` (N, at most K) are the K-NN's."""
    at = index.at(neighbours.rows)  # (N, K)
    numbers, positions = index.exemplars.document[at], index.exemplars.position[at]
    starts = at - positions  # of their documents, which are whole in the columns
    wanted = np.unique(numbers).tolist()
    documents = dict(zip(wanted, support.documents(wanted), strict=True))
    truths = {
        number: tuple(_TOKEN_LABELS[y] for y in document.token_labels)
        for number, document in documents.items()
    }

    def of_token(n: int) -> tuple[Exemplar, ...]:
        columns: Sequence[npt.NDArray[Any]] = (
            neighbours.rows[n], numbers[n], positions[n], starts[n], neighbours.distances[n], neighbours.scores[n],
        )  # fmt: skip
        found = []
        for row, number, position, start, distance, score in zip(*(c.tolist() for c in columns), strict=True):
            document = documents[number]
            found.append(
                Exemplar(
                    row=row,
                    id=document.id,
                    position=position,
                    tokens=document.tokens,
                    distance=distance,
                    score=score,
                    label=document.label,
                    token_labels=truths[number],
                    token_scores=index.exemplars.scores[start : start + len(document.tokens)],
                )
            )
        if weights is not None:
            for k, weight in enumerate(weights[n].tolist()):
                found[k] = replace(found[k], weight=weight)
        return tuple(found)

    return [of_token(n) for n in range(len(neighbours))]
