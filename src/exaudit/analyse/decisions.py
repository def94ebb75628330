"""What was decided and what is true, in one shape for every kind of model: a column for each of the K classes that are
decided (`LabelSet.views`), which is one where there are two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.scores import MultiScores, Scores

__all__ = ["Table", "as_row", "true_classes", "word_decisions"]

Table = NDArray[np.int8]


def true_classes(document: Document, labels: LabelSet) -> tuple[int, ...] | None:
    """The numbers of the classes that a document is labelled with; None without labels."""
    if labels.kind == "multiclass" and document.label is not None:
        return (int(labels.targets([document])[0]),)  # quick, also for many classes
    return labels.document_classes(document)


def as_row(classes: tuple[int, ...], labels: LabelSet) -> Table:
    """Classes as zeros and ones (K,)."""
    if labels.kind == "binary":
        return np.array(classes, dtype=np.int8)  # 0 or 1
    row = np.zeros(len(labels), dtype=np.int8)
    row[list(classes)] = 1
    return row


def word_decisions(scores: Scores) -> Table:
    """The classes that each word is decided to carry (N, K); of classes that exclude each other, the strongest."""
    decided = np.stack([view.decisions for view in scores.views], 1)
    if isinstance(scores, MultiScores) and scores.one_of:
        strongest = np.where(decided, scores.strengths, -np.inf).argmax(1)  # (N,)
        decided &= strongest[:, None] == np.arange(decided.shape[1])
    return decided.astype(np.int8)
