"""Fitting the K-NN and the admission limits on held-out documents whose exemplars were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from exaudit.audit.fitted import FittedKNN
from exaudit.data.labels import LabelNames
from exaudit.decide.admission import Admission, AdmissionKind
from exaudit.decide.knn import KNN, Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.training import fit_knn as learn
from exaudit.errors import DataError
from exaudit.metrics import Counts, token_metrics
from exaudit.model.scores import TokenScores

__all__ = ["Searched", "fit_admission", "fit_knn"]

Searched = tuple[TokenScores, Neighbours]  # a document and the exemplars of its tokens


def fit_knn(
    dev: Sequence[Searched],
    names: LabelNames,
    *,
    kind: Kind,
    k: int,
    use_token_labels: bool,
    epochs: int,
    seed: int,
    support_version: str,
    boundary: float,
) -> FittedKNN:
    """Fit a K-NN to the model's decisions: one half of the documents teaches, the other chooses the epoch."""
    neighbours, margins, of_token = _flat(dev)
    report = learn(
        neighbours,
        margins,
        of_token,
        kind=kind,
        k=k,
        use_token_labels=use_token_labels,
        epochs=epochs,
        seed=seed,
    )
    chosen = [dev[int(place)] for place in report.dev_documents]
    return FittedKNN(
        knn=report.knn,
        delta=report.delta,
        tokens=report.tokens,
        epoch=report.epoch,
        dev_documents=tuple(scores.document.id for scores, _ in chosen),
        support_version=support_version,
        boundary=boundary,
        metrics=_metrics(chosen, report.knn, names),
    )


def fit_admission(
    dev: Sequence[Searched],
    names: LabelNames,
    knn: KNN,
    *,
    kind: AdmissionKind,
    quantile: float | None,
    use_count: bool,
    support_version: str,
) -> Admission:
    """Limits from the documents of K-NN dev; those of documents only where every document has a label."""
    neighbours, margins, of_token = _flat(dev)
    admission = Admission.fit(
        knn, neighbours, margins, support_version=support_version, kind=kind, quantile=quantile
    )
    targets = [names.document_target(scores.document) for scores, _ in dev]
    if any(target is None for target in targets):
        return admission
    correct = [scores.decision == target for (scores, _), target in zip(dev, targets, strict=True)]
    return admission.fit_documents(knn, neighbours, of_token, correct, use_count=use_count)


def _flat(
    dev: Sequence[Searched],
) -> tuple[Neighbours, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """All tokens in a row: their exemplars, their margins, and the place of their document."""
    if not dev:
        raise DataError("there is no document to fit on")
    lengths = [len(neighbours) for _, neighbours in dev]
    return (
        Neighbours.concatenate([neighbours for _, neighbours in dev]),
        np.concatenate([scores.margins for scores, _ in dev]),
        np.repeat(np.arange(len(dev)), lengths),
    )


def _metrics(dev: Sequence[Searched], knn: KNN, names: LabelNames) -> dict[str, dict[str, float]] | None:
    """Token metrics of the model and of the K-NN, where the token labels of all documents are known."""
    truth = [names.token_targets(scores.document) for scores, _ in dev]
    known = np.concatenate([t for t in truth if t is not None] or [np.zeros(0, np.int8)])
    if any(t is None for t in truth) or not len(known):
        return None
    model = np.concatenate([scores.decisions for scores, _ in dev])
    ours = knn.predict(Neighbours.concatenate([neighbours for _, neighbours in dev])) > 0
    return {
        "model": token_metrics(Counts.of(model, known)),
        "knn": token_metrics(Counts.of(ours, known)),
    }
