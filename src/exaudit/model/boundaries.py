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
from exaudit.head.confidence import Confidence
from exaudit.head.network import Head, class_scores
from exaudit.head.training import scored
from exaudit.metrics import best_offset, stable_offset
from exaudit.model.choices import BETAS, Known, Scores, choices, excess_record, negative_boundary
from exaudit.model.erasure import Eraser
from exaudit.model.excess import Excess
from exaudit.model.job import Job, Trained
from exaudit.model.marked import check_marked, marked_boundary
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores

__all__ = [
    "BETA", "Boundaries", "boundaries_of", "knows_choices", "start_before_marking", "with_boundary",
    "with_boundary_at_zero", "with_choice",
]  # fmt: skip

BETA = 0.5  # of the words' boundary: those who check words one by one prefer few and right ones


@dataclass(frozen=True)
class Boundaries:
    """One number for each class that is decided."""

    words: tuple[float, ...]
    documents: tuple[float, ...]
    record: dict[str, Any] | None = None  # by what the words' were set, where not by the loss
    negative: float | None = None  # of two classes, that of the words of the negative one
    confidence: Confidence | None = None  # in documents, where words are weighed by it


def boundaries_of(job: Job, trained: Trained) -> Boundaries:
    """The boundaries of a model that was just trained, by the dev documents."""
    settings, head, dev = job.settings, trained.head, trained.dev
    training = settings.training()
    outputs, scores = zip(*scored(head, dev), strict=True)
    of_class = dev.class_targets(head.config.classes)  # (D, K)
    zero, flat = _zero(head), (0.0,) * of_class.shape[1]
    tuned = training.stable and settings.boundary != "zero"  # the paper's code tunes none
    if settings.loss == "token" and tuned:
        truth = np.concatenate(dev.token_targets or [])  # (W, K)
        return Boundaries(_each(best_offset, np.concatenate(scores), truth), flat)
    if training.by_tokens:
        return Boundaries(zero, flat)
    documents = flat
    independent = (
        head.config.classes == 2 or head.config.outputs == "independent"
    )  # else the largest output wins
    if training.stable and training.criterion == "f1" and independent:
        documents = _each(stable_offset, np.array(outputs, np.float64), of_class)
    by = settings.word_boundary
    if by in BETAS:
        known = Known(
            Eraser(head, trained.encoder, job.vocabulary),
            job.dev.documents,
            scores,
            np.array(outputs, np.float64) - np.array(documents),
            of_class,
        )
        found = choices(known, trained.excess)
        if found is not None:
            return Boundaries(documents=documents, record={"by": by, **found}, **_chosen(found, by))
    kept = excess_record(trained.excess)
    words, record = zero, {"by": "zero", **kept} if kept else None
    if by != "zero":  # too few documents, or too odd ones, for anything else
        words = _by_largest(scores, of_class, BETA)
        record = {"by": "documents", "beta": BETA, **kept}
    return Boundaries(
        words, documents, record, negative_boundary(head, [-own for own in scores], of_class, BETA)
    )


def _chosen(found: dict[str, Any], by: str) -> dict[str, Any]:
    choice = found["choices"][by]
    return {
        "words": tuple(choice["words"]),
        "negative": choice["negative"],
        "confidence": Confidence.from_json(found["confidence"]),
    }


def _by_largest(scores: Scores, truth: NDArray[np.generic], beta: float) -> tuple[float, ...]:
    """Where the documents are told best by their largest word."""
    return _each(stable_offset, np.array([own.max(0) for own in scores], np.float64), truth, beta)


def with_boundary(
    model: Model, documents: Sequence[Document], *, beta: float = BETA, by: str = "tokens"
) -> Model:
    """The model with the decision boundary of its words for the best F_beta, by these documents.

    by : "tokens" needs the label of every token; a few documents will do, and scores are averaged over some words where
        these mark phrases (`exaudit.model.marked`). The others need document labels alone. "f1" and "f0.5" see which
        words decide documents (`exaudit.model.sweep`), or else are more common in those of a class
        (`exaudit.model.excess`). With "documents" a document counts as decided positive if one of its tokens is, and
        the boundary goes where these decisions do best. It is the median of resampled documents, since the single best
        one is mostly luck.
    """
    if by not in ("tokens", "documents", *BETAS):
        raise SettingError(f"a boundary is set by tokens, documents, f1 or f0.5, not {by!r}")
    if not 0 < beta < math.inf:
        raise SettingError(
            f"`beta` is {beta}; it must be above 0 (0.5 prefers precision, 1 weighs both alike)"
        )
    check_marked(documents)
    model = replace(model, smoothing=())
    if by == "tokens":
        marked = marked_boundary(model, documents, beta, start_before_marking(model, beta))
        record = {**model.record, "boundary": _kept_choices(model) | {"start_by": _start_by(model)} | marked}
        boundaries, smoothing = tuple(marked["offsets"]), tuple(marked["smoothing"])
        return replace(model, word_boundaries=boundaries, smoothing=smoothing, record=record)
    truth = [targets for d in documents if (targets := model.labels.view_targets(d)) is not None]
    if not documents or len(truth) < len(documents):
        raise DataError(
            "a boundary by the labels of documents needs such labels in every document, and some have none"
        )
    if by == "documents":  # one word decides, whatever the document as a whole looks like
        of_class = np.array(truth) > 0  # (D, K)
        if not (of_class.any(0) & ~of_class.all(0)).any():
            raise DataError(
                f"these documents ({len(documents):,}) tell too little: give some of every class, so that they can be "
                "told apart"
            )
        model = replace(model, confidence=None)
    views = [scores.views for scores in model.iter_label(documents)]
    if by in BETAS:
        return _by_choices(model, documents, views, np.array(truth), by)
    words = [np.stack([view.weighed for view in own], 1) for own in views]  # (N, K) each
    boundaries = _by_largest(words, np.array(truth), beta)
    negative = model.negative_boundary
    if not model.by_tokens:
        negative = negative_boundary(model.head, [-own for own in words], np.array(truth), beta)
    told = {"by": by, "beta": beta, "documents": len(documents), "offsets": list(boundaries)}
    record = {**model.record, "boundary": _kept_choices(model) | told}
    return replace(model, word_boundaries=boundaries, negative_boundary=negative, record=record)


def start_before_marking(model: Model, beta: float) -> tuple[float, ...]:
    """The boundary without any marked word: that for the F-score which is nearest, if it was found by labels of
    documents, else the one in use; where words were marked before, the one in use before that, so that no word counts
    twice."""
    record = model.record.get("boundary") or {}
    if _start_by(model) in BETAS:
        nearest = min(BETAS, key=lambda name: abs(math.log(beta / BETAS[name])))
        return tuple(record["choices"][nearest]["words"])
    return tuple(record.get("start", model.word_boundaries))


def _start_by(model: Model) -> str | None:
    """How the boundary was set before any word was marked."""
    record = model.record.get("boundary") or {}
    found: str | None = record.get("start_by", record.get("by"))
    return found


def _by_choices(
    model: Model,
    documents: Sequence[Document],
    views: Sequence[Sequence[TokenScores]],
    truth: NDArray[np.generic],
    by: str,
) -> Model:
    known = Known(
        Eraser(model.head, model.encoder, model.vocabulary),
        [view[0].document for view in views],
        [np.stack([view.scores for view in own], 1) for own in views],
        np.array([[view.output for view in own] for own in views], np.float64),
        truth,
    )
    if model.by_tokens:
        raise SettingError(
            f"this model was trained on tokens, or with the min-max loss, which put its boundary; {by} by document "
            "labels is for models of the document loss"
        )
    found = choices(known, [Excess.from_json(own) for own in _kept_choices(model).get("excess", ())])
    if found is None:
        raise DataError(
            f"these documents ({len(documents):,}) tell too little: give some of every class, and of some length, so "
            "that words can be seen to differ between them"
        )
    return _with_chosen(model, found, by)


def knows_choices(model: Model) -> bool:
    """Whether the boundaries for "f1" and "f0.5" are known."""
    return "choices" in _kept_choices(model)


def with_choice(model: Model, by: str) -> Model:
    """The model with the boundary for "f1" or "f0.5" that was found in training, or later."""
    if not knows_choices(model):
        raise SettingError(
            f"the model does not know its boundary for {by}; give a file of labelled documents to find it by"
        )
    return _with_chosen(model, _kept_choices(model), by)


def _with_chosen(model: Model, found: dict[str, Any], by: str) -> Model:
    chosen = _chosen(found, by)
    return replace(
        model,
        word_boundaries=chosen["words"],
        negative_boundary=chosen["negative"],
        confidence=chosen["confidence"],
        smoothing=(),
        record={**model.record, "boundary": {"by": by, **found}},
    )


def _kept_choices(model: Model) -> dict[str, Any]:
    """What is known of the boundaries for each F-score, which stays true whatever boundary is in use."""
    record = model.record.get("boundary") or {}
    return {key: record[key] for key in ("confidence", "excess", "sweep", "choices") if key in record}


def with_boundary_at_zero(model: Model) -> Model:
    """The model with the decision boundary of its words at zero, as in the paper."""
    kept = _kept_choices(model)
    record = {key: value for key, value in model.record.items() if key != "boundary"}
    return replace(
        model,
        word_boundaries=_zero(model.head),
        confidence=None,
        smoothing=(),
        record=record | ({"boundary": {"by": "zero"} | kept} if kept else {}),
    )


def _zero(head: Head) -> tuple[float, ...]:
    """Zero, as in the paper. Of more than two classes one has the largest bias: there, a word that no filter chose, and
    that has the bias alone, is just not above it."""
    idle = class_scores(head.bias.detach()[None], head.config.outputs)[0]  # (K,)
    exclusive = head.config.outputs == "softmax" and head.config.classes > 2
    return tuple(idle.clamp(min=0).tolist() if exclusive else [0.0] * len(idle))


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
