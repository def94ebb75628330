"""A model with a support set in memory, and its decisions on labelled documents, judged token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.exemplars import ExemplarTable
from exaudit.analyse.reliability import Measured
from exaudit.audit.auditor import Auditor
from exaudit.data.document import Document
from exaudit.decide.fitting import KNNReport, fit_knn
from exaudit.decide.knn import KNN, Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat
from exaudit.metrics import Counts, Difference, best_offset, paired_bootstrap, token_metrics
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores
from exaudit.support.memory import MemorySupportSet

__all__ = ["Bools", "Evidence", "Judged", "Scored", "Searched", "score"]

K = 8
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """Token decisions against the truth: a table of counts for each document."""

    documents: tuple[Counts, ...]

    def metrics(self) -> dict[str, float]:
        return token_metrics(self.total)

    @property
    def total(self) -> Counts:
        return sum(self.documents, Counts(0, 0, 0, 0))

    def percent(self, *names: str) -> list[float]:
        """Some of precision, recall, f1, f0.5 and mcc, in percent."""
        metrics = self.metrics()
        return [100 * metrics[name] for name in names]

    def over(self, other: Judged, metric: str = "f0.5") -> Difference:
        """How much better than `other` on the same documents, with an interval drawn over documents."""
        return paired_bootstrap(lambda c: token_metrics(c)[metric], self.documents, other.documents)


@dataclass(frozen=True)
class Scored:
    """Labelled documents under a model, all tokens in a row."""

    scores: tuple[TokenScores, ...]
    truth: NDArray[np.int8]  # (N,) 0 or 1; empty where token labels are not known
    targets: NDArray[np.int8]  # (D,) of the documents

    @property
    def margins(self) -> NDArray[np.float32]:
        return np.concatenate([one.margins for one in self.scores])  # (N,)

    @property
    def largest(self) -> NDArray[np.float32]:
        """The largest margin of each document."""
        return np.array([one.margins.max() for one in self.scores])  # (D,)

    @property
    def ends(self) -> Ints:
        return np.cumsum([0, *(len(one.document.tokens) for one in self.scores)])  # (D + 1,)

    @property
    def document_of_token(self) -> Ints:
        return np.repeat(np.arange(len(self.scores)), np.diff(self.ends))  # (N,)

    @property
    def decisions(self) -> NDArray[np.int8]:
        return np.array([one.decision for one in self.scores], np.int8)  # (D,)

    @property
    def correct(self) -> Bools:
        """Whether each document is decided right."""
        right: Bools = self.decisions == self.targets  # (D,)
        return right

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())

    def document_f1(self) -> float:
        return Counts.of(self.decisions, self.targets).f()

    def judge(
        self, decided: Bools | None = None, *, only: Bools | None = None, right: Bools | None = None
    ) -> Judged:
        """Token decisions (the model's, unless given) against the truth, or against what is `right` instead.

        only : the tokens that count; all, unless given.
        """
        said = self.margins > 0 if decided is None else decided
        true = self.truth > 0 if right is None else right
        kept = np.ones(len(said), bool) if only is None else only
        parts = [slice(a, b) for a, b in pairwise(self.ends.tolist())]
        return Judged(tuple(Counts.of(said[p][kept[p]], true[p][kept[p]]) for p in parts))

    def measured(self, output: NDArray[np.floating], right: NDArray[np.integer], name: str) -> Measured:
        """Outputs for each token beside what they should have said, to be sorted by magnitude."""
        draws = np.random.default_rng(0).integers(0, 2**63, len(output), dtype=np.uint64)
        return Measured(name, np.asarray(output, np.float64), np.asarray(right, np.int8), draws)


@dataclass(frozen=True)
class Searched(Scored):
    """The same with the exemplars of every token."""

    near: Neighbours  # (N, K)

    def exag(self) -> Bools:
        return exag(self.margins, self.near)

    def exat(self) -> Bools:
        return exat(self.margins, self.near)

    def knn(self, knn: KNN) -> Bools:
        decided: Bools = knn.predict(self.near) > 0
        return decided

    def part(self, documents: Ints) -> Searched:
        """Some of the documents, in the order they have here."""
        documents = np.unique(documents)
        chosen = np.isin(self.document_of_token, documents)
        scores = tuple(self.scores[int(d)] for d in documents)
        return Searched(scores, self.truth[chosen], self.targets[documents], self.near[chosen])

    def fit_knn(
        self, kind: Kind = "dist", k: int = K, *, supervised: bool = False, epochs: int = 40
    ) -> KNNReport:
        """A K-NN in the place of the model: half of the documents teach, half (K-NN dev) choose.

        supervised : take token labels in the label term, and tune the boundary with them, as the model's own is.
        """
        report = fit_knn(self.near, self.margins, self.document_of_token, kind=kind, k=k,
                         use_token_labels=supervised, epochs=epochs)  # fmt: skip
        if supervised:
            held = self.part(report.dev_documents)
            offset = best_offset(report.knn.output(held.near), held.truth)
            report = replace(report, knn=replace(report.knn, offset=offset))
        return report


def score(labeler: Labeler, documents: Sequence[Document], *, exemplars: bool = False) -> Scored:
    """Documents as the model sees them."""
    scores = tuple(labeler.iter_label(documents, exemplars=exemplars, total=len(documents)))
    known = [labeler.names_.token_targets(document) for document in documents]
    truth = [t for t in known if t is not None]
    targets = np.array([labeler.names_.document_target(d) for d in documents], np.int8)
    whole = np.concatenate(truth) if len(truth) == len(documents) else np.zeros(0, np.int8)
    return Scored(scores, whole, targets)


class Evidence:
    """A model and its support set, which can grow."""

    def __init__(self, labeler: Labeler, support: Sequence[Document]) -> None:
        names = labeler.names_
        width = labeler.head_.config.filters
        memory = MemorySupportSet.create(width=width, labels=(names.negative, names.positive))
        self.labeler, self._auditor = labeler, Auditor(labeler, memory)
        self._auditor.build(support)

    def add(self, documents: Sequence[Document]) -> None:
        """Update the support set; the model stays as it is."""
        self._auditor.add(documents)

    def examples(self, documents: Sequence[Document]) -> list[ExemplarTable]:
        """Documents with the nearest exemplar of each word worth checking."""
        audited = self._auditor.label(documents, nearest=True)
        return [ExemplarTable.of(one, self.labeler.names_) for one in audited]

    def search(self, documents: Sequence[Document] | Scored) -> Searched:
        """The exemplars of every token; documents that were scored with exemplars are not scored again."""
        if not isinstance(documents, Scored):
            documents = score(self.labeler, documents, exemplars=True)
        near = self._auditor.neighbours(documents.scores, K)
        return Searched(documents.scores, documents.truth, documents.targets, near)
