"""Where a score becomes a decision: the boundaries of documents and words, set by labels that were held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, class_scores
from exaudit.head.training import scored
from exaudit.metrics import best_offset, stable_offset
from exaudit.model.marked import with_marked
from exaudit.model.model import Model
from exaudit.model.settings import Settings

__all__ = ["BETA", "Boundaries", "boundaries_of", "with_boundary", "with_boundary_at_zero"]

BETA = 0.5  # of the words' boundary: those who check words one by one prefer few and right ones


@dataclass(frozen=True)
class Boundaries:
    """One number for each class that is decided."""

    words: tuple[float, ...]
    documents: tuple[float, ...]
    record: dict[str, Any] | None = None  # by what the words' were set, where not by the loss
    negative: float | None = None  # of two classes, that of the words of the negative one


def boundaries_of(settings: Settings, head: Head, dev: LabelledFeatures) -> Boundaries:
    """The boundaries of a model that was just trained, by the dev documents."""
    training = settings.training()
    outputs, scores = zip(*scored(head, dev), strict=True)
    of_class = dev.class_targets(head.config.classes)  # (D, K)
    zero, flat = _zero(head), (0.0,) * of_class.shape[1]
    if settings.loss == "token" and settings.boundary != "zero":  # tuned on dev, as in the paper
        truth = np.concatenate(dev.token_targets or [])  # (W, K)
        return Boundaries(_each(best_offset, np.concatenate(scores), truth), flat)
    if training.by_tokens:
        return Boundaries(zero, flat)
    documents, words = flat, zero
    record = None
    independent = (
        head.config.classes == 2 or head.config.outputs == "independent"
    )  # else the largest output wins
    if training.stable and training.criterion == "f1" and independent:
        documents = _each(stable_offset, np.array(outputs, np.float64), of_class)
    if settings.word_boundary == "documents":
        largest = np.array([own.max(0) for own in scores], np.float64)  # (D, K)
        words = _each(stable_offset, largest, of_class, BETA)
        record = {"by": "documents", "beta": BETA}
    return Boundaries(words, documents, record, _negative(head, scores, of_class, BETA))


def with_boundary(
    model: Model, documents: Sequence[Document], *, beta: float = BETA, by: str = "tokens"
) -> Model:
    """The model with the decision boundary of its words for the best F_beta, by these documents.

    by : "tokens" needs the label of every token; a few documents will do (`exaudit.model.marked`). "documents" needs
        document labels alone: a document counts as decided positive if one of its tokens is, and the boundary goes
        where these decisions do best. It is the median of resampled documents, since the single best one is mostly
        luck.
    """
    if by not in ("tokens", "documents"):
        raise SettingError(f"a boundary is set by the labels of tokens or documents, not {by!r}")
    if not 0 < beta < math.inf:
        raise SettingError(
            f"`beta` is {beta}; it must be above 0 (0.5 prefers precision, 1 weighs both alike)"
        )
    if by == "tokens":
        return with_marked(model, documents, beta)
    truth = [targets for d in documents if (targets := model.labels.view_targets(d)) is not None]
    if not documents or len(truth) < len(documents):
        raise DataError(
            "a boundary by the labels of documents needs such labels in every document, and some have none"
        )
    views = [scores.views for scores in model.iter_label(documents)]
    words = [np.stack([view.scores for view in own], 1) for own in views]  # (N, K) each
    boundaries = _each(stable_offset, np.array([own.max(0) for own in words]), np.array(truth), beta)
    negative = model.negative_boundary
    if not model.by_tokens:
        negative = _negative(model.head, words, np.array(truth), beta)
    told = {"by": by, "beta": beta, "documents": len(documents), "offsets": list(boundaries)}
    record = {**model.record, "boundary": told}
    return replace(model, word_boundaries=boundaries, negative_boundary=negative, record=record)


def with_boundary_at_zero(model: Model) -> Model:
    """The model with the decision boundary of its words at zero, as in the paper."""
    record = {key: value for key, value in model.record.items() if key != "boundary"}
    return replace(model, word_boundaries=_zero(model.head), record=record)


def _zero(head: Head) -> tuple[float, ...]:
    """Zero, as in the paper. Of more than two classes one has the largest bias: there, a word that no filter chose, and
    that has the bias alone, is just not above it."""
    idle = class_scores(head.bias.detach()[None], head.config.outputs)[0]  # (K,)
    exclusive = head.config.outputs == "softmax" and head.config.classes > 2
    return tuple(idle.clamp(min=0).tolist() if exclusive else [0.0] * len(idle))


def _negative(
    head: Head, scores: Sequence[NDArray[np.floating]], truth: NDArray[np.generic], beta: float
) -> float | None:
    """Where the words of the negative class begin: as for the positive one, where the documents are told best by the
    largest s- - s+ in each. A word that scores higher for the positive class does not speak for the negative one, nor
    does a word that no filter chose, and that has the bias alone.

    None for more than two classes, where each has words of its own, and where the documents are all of one class.
    """
    if head.config.outputs != "softmax" or head.config.classes != 2 or truth.all() or not truth.any():
        return None
    largest = np.array([(-own).max() for own in scores], np.float64)  # (D,)
    found = stable_offset(largest, np.asarray(truth[:, 0] == 0), beta)
    idle = -float(class_scores(head.bias.detach()[None], head.config.outputs)[0, 0])
    return max(found, 0.0, idle if head.config.pool == "max" else 0.0)


def _each(
    find: Callable[..., float], scores: NDArray[np.floating], truth: NDArray[np.generic], *more: float
) -> tuple[float, ...]:
    """A boundary for each class. One that no document has says nothing: it takes the middle of the others."""
    found = [
        find(own, true, *more) if true.any() or truth.shape[1] == 1 else None
        for own, true in zip(scores.T, truth.T, strict=True)
    ]
    middle = float(np.median([value for value in found if value is not None] or [0.0]))
    return tuple(middle if value is None else value for value in found)
