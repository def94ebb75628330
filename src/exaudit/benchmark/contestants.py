"""Who takes part in the race: ways to score the words of a document, above zero where they speak for the positive
class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exaudit.audit.auditor import Auditor
from exaudit.benchmark.explainers import Classifier, Explainer
from exaudit.data.document import Document
from exaudit.decide.knn import KNN
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores
from exaudit.support.memory import MemorySupportSet

__all__ = ["Contestant", "Decomposition", "ExemplarKNN", "Explanation"]

Floats = NDArray[np.float64]


class Contestant(Protocol):
    """Scores the words of documents."""

    @property
    def within(self) -> bool:
        """Whether its scores are of a decision, so that no word of a document decided negative is positive."""

    @property
    def batched(self) -> bool:
        """Whether many documents are read together; else one after another, however many are given."""

    def score(self, documents: Sequence[Document]) -> list[Floats]:
        """Of every word of each document (N,)."""

    def decide(self, document: Document) -> bool:
        """Whether the document is decided positive."""


@dataclass(frozen=True)
class Decomposition:
    """Ours: s+- of the words, counted from the boundary that was set by document labels."""

    model: Model
    within = False
    batched = True

    def score(self, documents: Sequence[Document]) -> list[Floats]:
        return [view.margins.astype(np.float64) for own in self.model.label(documents) for view in own.views]

    def decide(self, document: Document) -> bool:
        return _view(self.model, document).decision == 1


@dataclass(frozen=True)
class ExemplarKNN:
    """Ours: the K-NN over the exemplars of the training documents, fitted to the model on dev."""

    model: Model
    auditor: Auditor
    knn: KNN
    within = False
    batched = True

    @classmethod
    def fit(cls, model: Model, support: Sequence[Document], dev: Sequence[Document]) -> ExemplarKNN:
        exemplars = MemorySupportSet.create(
            width=model.width, labels=model.labels.names, precision=model.precision
        )
        auditor = Auditor(model, exemplars)
        auditor.build(support)
        (knn,) = auditor.fit_knn(dev).knns
        return cls(model, auditor, knn)

    def score(self, documents: Sequence[Document]) -> list[Floats]:
        scores = self.model.label(documents, exemplars=True)
        (neighbours,) = self.auditor.neighbours(scores, self.knn.k)
        ends = np.cumsum([len(document.tokens) for document in documents])
        return np.split(self.knn.output(neighbours) - self.knn.offset, ends[:-1])

    def decide(self, document: Document) -> bool:
        return _view(self.model, document).decision == 1


@dataclass(frozen=True)
class Explanation:
    """A usual explainer of the usual classifier."""

    classifier: Classifier
    explainer: Explainer
    within = True
    batched = False

    def score(self, documents: Sequence[Document]) -> list[Floats]:
        read = (self.classifier.read(document.tokens) for document in documents)
        return [self.explainer.explain(self.classifier, reading) for reading in read]

    def decide(self, document: Document) -> bool:
        return self.classifier.output(self.classifier.read(document.tokens)) > 0


def _view(model: Model, document: Document) -> TokenScores:
    (scores,) = model.label([document])
    (view,) = scores.views
    return view
