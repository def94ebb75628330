"""A model with a support set in memory: scored documents with the exemplars of their tokens, rules and K-NNs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exaudit.analyse.exemplars import ExemplarTable
from exaudit.audit.auditor import Auditor
from exaudit.data.document import Document
from exaudit.decide.fitting import KNNReport, fit_knn
from exaudit.decide.knn import KNN, Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat
from exaudit.experiments.recipe import Recipe
from exaudit.experiments.scoring import Bools, Ints, Scored, score
from exaudit.metrics import best_offset
from exaudit.model.model import Model
from exaudit.support.memory import MemorySupportSet

__all__ = ["Searched", "SupportedModel"]

K = 8


@dataclass(frozen=True)
class Searched(Scored):
    """Scored documents with the nearest exemplars of every token."""

    neighbours: Neighbours  # (N, K)

    def alone(self) -> Scored:
        """The same documents, to be searched for otherwise."""
        return Scored(self.scores, self.truth, self.targets)

    def exag(self) -> Bools:
        return exag(self.margins, self.neighbours)

    def exat(self) -> Bools:
        return exat(self.margins, self.neighbours)

    def knn(self, knn: KNN) -> Bools:
        decided: Bools = knn.predict(self.neighbours) > 0
        return decided

    def subset(self, documents: Ints) -> Searched:
        """Some of the documents, in the order they have here."""
        documents = np.unique(documents)
        chosen = np.isin(self.document_of_token, documents)
        scores = tuple(self.scores[int(d)] for d in documents)
        return Searched(scores, self.truth[chosen], self.targets[documents], self.neighbours[chosen])

    def fit_knn(
        self, recipe: Recipe, data: str, kind: Kind = "dist", k: int = K, *, supervised: bool = False
    ) -> KNNReport:
        """A K-NN in the place of the model: half of the documents teach, half (K-NN dev) choose.

        data : "sentences" or "reviews".
        supervised : take token labels in the label term, and tune the boundary with them.
        """
        report = fit_knn(self.neighbours, self.margins, self.document_of_token, kind=kind, k=k,
                         use_token_labels=supervised, epochs=recipe.knn_epochs[data],
                         batch_documents=recipe.knn_batch[data], recipe=recipe.name)  # fmt: skip
        if supervised:
            knn_dev = self.subset(report.dev_documents)
            offset = best_offset(report.knn.output(knn_dev.neighbours), knn_dev.truth)
            report = replace(report, knn=replace(report.knn, offset=offset))
        return report


class SupportedModel:
    """A model and its support set, which can grow."""

    def __init__(self, model: Model, support: Sequence[Document]) -> None:
        (self._names,) = model.labels.views  # the experiments all have two classes
        labels = (self._names.negative, self._names.positive)
        self._model = model
        exemplars = MemorySupportSet.create(width=model.width, labels=labels, precision=model.precision)
        self._auditor = Auditor(model, exemplars)
        self._auditor.build(support)

    def add(self, documents: Sequence[Document]) -> None:
        """Update the support set; the model stays as it is."""
        self._auditor.add(documents)

    def examples(self, documents: Sequence[Document]) -> list[ExemplarTable]:
        """Documents with the nearest exemplar of each word worth checking."""
        audited = self._auditor.label(documents, nearest=True)
        return [ExemplarTable.of(view, self._names) for one in audited for view in one.views]

    def search(self, documents: Sequence[Document] | Scored, k: int = K) -> Searched:
        """The k exemplars of every token; documents that were scored with exemplars are not scored again."""
        if not isinstance(documents, Scored):
            documents = score(self._model, documents, exemplars=True)
        (neighbours,) = self._auditor.neighbours(documents.scores, k)
        return Searched(documents.scores, documents.truth, documents.targets, neighbours)
