"""Exemplars in their documents: what a person looks at to check a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.audit.index import Index
from exaudit.data.document import Label
from exaudit.data.labels import LabelSet
from exaudit.decide.explanation import Explanation
from exaudit.decide.neighbours import Neighbours
from exaudit.support.support_set import SupportSet

__all__ = ["Evidence", "Exemplar", "FoundExemplars", "joint_json"]

_TOKEN_LABELS = {-1: 0, 0: None, 1: 1}  # of y as the support set keeps it


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A token of the support set as it was found for another token, and as one class sees it."""

    row: int
    id: str
    position: int
    tokens: tuple[str, ...]  # of its document
    distance: float
    score: float  # s+- of the class, counted from the model's decision boundary
    label: Label  # of its document
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
            "label": list(self.label) if isinstance(self.label, tuple) else self.label,
            "token_label": self.token_label,
        }
        if document:
            value |= {"row": self.row, "weight": self.weight, "document": list(self.tokens)}
        return value


def joint_json(seen: Sequence[Exemplar], labels: LabelSet) -> dict[str, Any]:
    """An exemplar for JSON as all classes see it: `seen` has it once for each."""
    value = seen[0].to_json()
    scores = np.array([exemplar.score for exemplar in seen])  # (C,)
    predicted = [labels.values[c] for c in np.argsort(-scores, kind="stable").tolist() if scores[c] > 0]
    own = [exemplar.token_label for exemplar in seen]
    given = dict(zip(labels.names, labels.values, strict=True))
    of_document = [
        given[name] for name in ([seen[0].label] if isinstance(seen[0].label, str) else seen[0].label)
    ]
    del value["score"]
    return value | {
        "label": of_document[0] if labels.kind == "multiclass" else of_document,
        "scores": dict(zip(labels.names, scores.tolist(), strict=True)),
        "prediction": next(iter(predicted), None) if labels.kind == "multiclass" else predicted,
        "token_label": None if None in own else [labels.values[c] for c, y in enumerate(own) if y],
    }


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
    about: str | None = None  # where there are more than two classes, the one that the decision is about

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "position": self.position,
            "token": self.token,
            "score": self.score,
            "label": self.decision,
            "exemplars": [exemplar.to_json(document=True) for exemplar in self.exemplars],
            "knn": None if self.explanation is None else self.explanation.to_json(),
            "refusal": self.refusal,
        }
        return value if self.about is None else value | {"class": self.about}


class FoundExemplars:
    """The exemplars that were found for some tokens, to be told in their documents, as each class sees them."""

    def __init__(self, support: SupportSet, index: Index, views: Sequence[Neighbours]) -> None:
        self._views, self._columns = views, index.exemplars
        at = index.at(views[0].rows)  # (N, K)
        self._numbers, self._positions = self._columns.document[at], self._columns.position[at]
        self._starts = at - self._positions  # of their documents, which are whole in the columns
        wanted = np.unique(self._numbers).tolist()
        self._documents = dict(zip(wanted, support.documents(wanted), strict=True))
        self._token_labels: dict[tuple[int, int], tuple[int | None, ...]] = {}

    def of(
        self, n: int, view: int = 0, *, k: int | None = None, weights: npt.NDArray[np.float64] | None = None
    ) -> tuple[Exemplar, ...]:
        """The k nearest exemplars of token n (all that were found by default); `weights` are the K-NN's, of some."""
        near = self._views[view]
        columns = (
            near.rows[n], self._numbers[n], self._positions[n], self._starts[n], near.distances[n], near.scores[n],
        )  # fmt: skip
        found = zip(*(column[:k].tolist() for column in columns), strict=True)
        weight = [] if weights is None else weights.tolist()
        return tuple(
            Exemplar(
                row=row,
                id=self._documents[number].id,
                position=position,
                tokens=self._documents[number].tokens,
                distance=distance,
                score=score,
                label=self._documents[number].label,
                token_labels=self._truth(view, number, start),
                token_scores=self._columns.scores[start : start + len(self._documents[number].tokens), view],
                weight=weight[i] if i < len(weight) else None,
            )
            for i, (row, number, position, start, distance, score) in enumerate(found)
        )

    def _truth(self, view: int, number: int, start: int) -> tuple[int | None, ...]:
        key = view, number
        if key not in self._token_labels:
            stop = start + len(self._documents[number].tokens)
            signs = self._columns.token_labels[start:stop, view].tolist()
            self._token_labels[key] = tuple(_TOKEN_LABELS[y] for y in signs)
        return self._token_labels[key]
