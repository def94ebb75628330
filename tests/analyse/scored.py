"""Labelled documents made by hand, for tests of the analyses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exaudit.audit.audited import Audited
from exaudit.audit.evidence import Exemplar
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import TokenAdmission, TokenLimits
from exaudit.decide.neighbours import Neighbours
from exaudit.model.scores import TokenScores

LABELS = LabelSet.binary("neg", "pos")
(NAMES,) = LABELS.views


def scored(
    text: str,
    scores: Sequence[float],
    *,
    id: str = "1",
    output: float = 1.0,
    label: str | None = None,
    token_labels: Sequence[int] | None = None,
) -> TokenScores:
    """A document with given token scores."""
    labels = None if token_labels is None else [str(y) for y in token_labels]
    document = Document.from_text(text, id=id, label=label, token_labels=labels, cut="whitespace")
    values = np.array(scores, dtype=np.float32)
    return TokenScores(document, output, -values / 2, values / 2)


def audited(
    plain: TokenScores,
    knn: Sequence[float],
    distances: Sequence[float],
    admitted: Sequence[bool] | None = None,
    document_admitted: bool | None = None,
) -> Audited:
    """The same with a K-NN's outputs, distances and admission."""
    outputs, near = np.array(knn, dtype=np.float64), np.array(distances, dtype=np.float32)[:, None]
    ones = np.ones_like(near, dtype=np.int8)
    neighbours = Neighbours(near, near, ones, ones, np.zeros_like(near, dtype=np.int64))
    signs = np.where(outputs > 0, 1, -1).astype(np.int8)
    admission = None
    if admitted is not None:
        limits = TokenLimits((1.0, 1.0), (-0.5, 0.5))
        mask = np.array(admitted, dtype=bool)
        admission = TokenAdmission(mask, signs, outputs, near[:, 0], ones[:, 0], "both", limits)
    kept = np.array([-1.0, 1.25, 0.5], dtype=np.float32)
    exemplar = Exemplar(0, "train-1", 1, ("an", "exemplar", "here"), 0.5, 1.25, "pos", (0, 1, 0), kept)
    return Audited(
        plain.document,
        plain.output,
        plain.negative,
        plain.positive,
        rule="knn",
        ruled=outputs > 0,
        neighbours=neighbours,
        nearest=(exemplar,) * len(outputs),
        knn=outputs,
        admission=admission,
        admitted=document_admitted,
        reason=None if document_admitted is not False else "2 of 9 tokens admitted",
    )
