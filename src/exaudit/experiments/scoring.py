"""Labelled documents as a model scores them, and token decisions evaluated document by document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.features import Features
from exaudit.analyse.reliability import Measured
from exaudit.data.document import Document
from exaudit.metrics import Counts, Difference, paired_bootstrap, token_metrics
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores

__all__ = ["Bools", "Ints", "Scored", "TokenEvaluation", "accuracy_gain", "features_of", "score"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TokenEvaluation:
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

    @property
    def f05(self) -> float:
        """In percent."""
        return self.percent("f0.5")[0]

    def gain_over(self, other: TokenEvaluation, metric: str = "f0.5", *, factor: float = 1.0) -> Difference:
        """How much better than `other` (times a factor) on the same documents, with an interval drawn over them."""
        return paired_bootstrap(
            lambda c: token_metrics(c)[metric], self.documents, other.documents, factor=factor
        )


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

    def coin(self) -> Bools:
        """A fair coin for every token."""
        thrown: Bools = np.random.default_rng(0).integers(0, 2, len(self.truth)) > 0
        return thrown

    def document_f1(self) -> float:
        return Counts.of(self.decisions, self.targets).f()

    def evaluate(
        self, decisions: Bools | None = None, *, only: Bools | None = None, truth: Bools | None = None
    ) -> TokenEvaluation:
        """Token decisions (the model's, unless given) against the truth.

        only : the tokens that count; all, unless given.
        truth : what the decisions should have been; the token labels, unless given.
        """
        decided = self.margins > 0 if decisions is None else decisions
        true = self.truth > 0 if truth is None else truth
        kept = np.ones(len(decided), bool) if only is None else only
        documents = [slice(start, end) for start, end in pairwise(self.ends.tolist())]
        return TokenEvaluation(tuple(Counts.of(decided[d][kept[d]], true[d][kept[d]]) for d in documents))

    def measured(self, output: NDArray[np.floating], truth: NDArray[np.integer], name: str) -> Measured:
        """Outputs for each token beside what they should have been, to be sorted by magnitude."""
        draws = np.random.default_rng(0).integers(0, 2**63, len(output), dtype=np.uint64)
        return Measured(name, np.asarray(output, np.float64), np.asarray(truth, np.int8), draws)


def score(model: Model, documents: Sequence[Document], *, exemplars: bool = False) -> Scored:
    """Documents as the model sees them."""
    (names,) = model.labels.views  # the experiments all have two classes
    labelled = model.iter_label(documents, exemplars=exemplars, total=len(documents))
    scores = tuple(view for one in labelled for view in one.views)
    targets = np.array([names.document_target(document) for document in documents], np.int8)
    token_targets = [names.token_targets(document) for document in documents]
    known = [targets for targets in token_targets if targets is not None]
    truth = np.concatenate(known) if len(known) == len(documents) else np.zeros(0, np.int8)
    return Scored(scores, truth, targets)


def features_of(model: Model, documents: Sequence[Document]) -> Features:
    """The n-grams and documents of a data set under a model."""
    return Features.of(model.iter_label(documents, total=len(documents)), model)


def accuracy_gain(ours: Iterable[Bools], others: Iterable[Bools]) -> Difference:
    """How much more often answers are right, with an interval drawn over documents.

    An array says for each answer on one document (or on a pair, which is drawn together) whether it is right.
    """
    counts = (
        [Counts(int(right.sum()), int((~right).sum()), 0, 0) for right in answers]
        for answers in (ours, others)
    )
    return paired_bootstrap(
        lambda c: c.precision, *counts
    )  # of right and wrong answers, this is the accuracy
