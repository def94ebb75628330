"""Boundaries of the words for the best F1 and the best F0.5, found by document labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.head.confidence import Confidence
from exaudit.head.network import Head, class_scores
from exaudit.metrics import expected_offset, labelled_share, stable_offset
from exaudit.model.erasure import Eraser
from exaudit.model.excess import Excess, excess_boundary
from exaudit.model.sweep import EFFECTS, Sweep

__all__ = ["BETAS", "Known", "Scores", "choices", "negative_boundary"]

BETAS = {"f1": 1.0, "f0.5": 0.5}

Scores = Sequence[NDArray[np.floating]]


@dataclass(frozen=True)
class Known:
    """Documents with what a model says of them and what is true."""

    eraser: Eraser
    documents: Sequence[Document]
    scores: Scores  # of the words (N, K)
    outputs: NDArray[np.float64]  # (D, K), less the boundaries
    truth: NDArray[np.generic]  # (D, K)


def choices(known: Known, word_odds: bool) -> dict[str, Any] | None:
    """Boundaries of the words for `f1` and `f0.5`, by document labels alone; None where these tell too little.

    Scores are weighed by how sure their document is. Where a few words decide documents, the boundary is just below
    these (`exaudit.model.sweep`). Else it is where the F-score to be expected is highest. How likely a word is to carry
    the label is told by its score where a head learnt words one by one, whose scores are log-odds; else by how much
    more common such words are in documents of the class (`exaudit.model.excess`).
    """
    if known.truth.all() or not known.truth.any():
        return None
    confidence = Confidence.fit(known.outputs, known.truth)
    doubts = confidence.doubt(known.outputs)  # (D, K)
    weighed = [own - less for own, less in zip(known.scores, doubts, strict=True)]  # (N, K) each
    words = np.concatenate(weighed)  # (W, K)
    if word_odds:
        found = {name: tuple(_expected(own, name) for own in words.T) for name in BETAS}
    else:
        by_class = _by_erasure(known, weighed) or _by_excess(known, words)
        if by_class is None:
            return None
        found = by_class
    negative = _negative_choices(known, confidence)
    return {
        "confidence": confidence.to_json(),
        "choices": {name: {"words": list(found[name]), "negative": negative[name]} for name in BETAS},
    }


def _by_erasure(known: Known, weighed: Scores) -> dict[str, tuple[float, ...]] | None:
    """None where documents still look like their class without the words that they need most: what a decision needs is
    then not all that speaks for it. Where they do not, words that are merely more common beside those that decide, as
    the neighbours of a cue are, speak for nothing."""
    sweep = Sweep.over(known.eraser, known.documents, weighed, known.outputs, known.truth)
    if sweep is None or not sweep.decides:
        return None
    return {name: sweep.boundary(EFFECTS[name]) for name in BETAS}


def _by_excess(known: Known, words: NDArray[np.floating]) -> dict[str, tuple[float, ...]] | None:
    """For words (W, K) that are weighed. None where no word shows in any class."""
    plain = np.concatenate(known.scores)  # (W, K)
    of_class = np.repeat(np.asarray(known.truth) > 0, [len(own) for own in known.scores], axis=0)  # (W, K)
    idle = _idle_scores(known.eraser.head)  # (K,)
    found: dict[str, dict[int, float]] = {name: {} for name in BETAS}
    for k, mine in enumerate(of_class.T):
        if mine.all() or not mine.any():
            continue
        excess = Excess.of(plain[:, k], mine, idle=float(idle[k]), documents=len(known.scores))
        shown = np.where(mine, excess.part(plain[:, k]), 0.0)  # (W,)
        if shown.any():
            for name, beta in BETAS.items():
                found[name][k] = excess_boundary(words[:, k], shown, mine, beta)
    if not any(found.values()):
        return None
    return {
        name: tuple(own.get(k, float(np.median(list(own.values())))) for k in range(len(idle)))
        for name, own in found.items()
    }


def _expected(log_odds: NDArray[np.floating], name: str) -> float:
    """Where the F-score to be expected is highest. A student's lessons hold the words that its teachers needed, which
    are a part of those that carry the label, and not a random one but the plainest: for F1, which minds misses as much
    as false alarms, the part is taken to be smaller than it looks.
    """
    share = labelled_share(log_odds)
    return expected_offset(log_odds, BETAS[name], share**2 if name == "f1" else share)


def _negative_choices(known: Known, confidence: Confidence) -> dict[str, float | None]:
    """Where the words of the negative class begin, likewise. None for more than two classes, where each has words of
    its own."""
    head = known.eraser.head
    if head.config.outputs != "softmax" or head.config.classes != 2:
        return dict.fromkeys(BETAS)
    doubts = confidence.other_doubt(known.outputs)  # (D, 1)
    weighed = [-own - less for own, less in zip(known.scores, doubts, strict=True)]  # (N, 1) each
    truth = 1 - np.asarray(known.truth, np.int64)  # (D, 1)
    sweep = Sweep.over(known.eraser, known.documents, weighed, -known.outputs, truth, sign=-1)
    if sweep is None or not sweep.tells:  # the negative class is the absence of the other
        return {name: negative_boundary(head, weighed, known.truth, beta) for name, beta in BETAS.items()}
    return {name: max(sweep.boundary(EFFECTS[name])[0], _idle(head)) for name in BETAS}


def negative_boundary(head: Head, against: Scores, truth: NDArray[np.generic], beta: float) -> float | None:
    """Where the words of the negative class begin, given s- - s+ (N, 1) of each document: where the documents are told
    best by the largest. A word that scores higher for the positive class does not speak for the negative one, nor
    does a word that no filter chose, and that has the bias alone.

    None for more than two classes, where each has words of its own, and where the documents are all of one class.
    """
    if head.config.outputs != "softmax" or head.config.classes != 2 or truth.all() or not truth.any():
        return None
    largest = np.array([own.max() for own in against], np.float64)  # (D,)
    return max(stable_offset(largest, np.asarray(truth[:, 0] == 0), beta), _idle(head))


def _idle(head: Head) -> float:
    """What a word of the negative class has to exceed at least."""
    idle = -float(_idle_scores(head)[0])
    return max(0.0, idle if head.config.pool == "max" else 0.0)


def _idle_scores(head: Head) -> NDArray[np.floating]:
    """Of a word that no filter chose, for each class that is decided (K,)."""
    return class_scores(head.bias.detach()[None], head.config.outputs)[0].cpu().numpy()
