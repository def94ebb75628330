"""Boundaries of the words for the best F1 and the best F0.5, found by document labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.head.confidence import Confidence
from exaudit.head.network import Head, class_scores
from exaudit.metrics import labelled_share, likely_offset, stable_offset
from exaudit.model.erasure import Eraser
from exaudit.model.excess import GUESSES, NOTHING, Excess, excess_boundary, guesses
from exaudit.model.sweep import EFFECTS, Sweep

__all__ = [
    "BETAS",
    "Known",
    "Scores",
    "choices",
    "excess_of",
    "excess_record",
    "exclusive_chances",
    "negative_boundary",
    "parts_of",
    "shown",
    "shown_boundaries",
]

BETAS = {"f1": 1.0, "f0.5": 0.5}
# The share of words of a document that may carry the label unseen: where few are needed, and where dozens are.
HIDDEN, HIDDEN_AMONG_MANY = 0.3, 0.5

Scores = Sequence[NDArray[np.floating]]


@dataclass(frozen=True)
class Known:
    """Documents with what a model says of them and what is true."""

    eraser: Eraser
    documents: Sequence[Document]
    scores: Scores  # of the words (N, K)
    outputs: NDArray[np.float64]  # (D, K), less the boundaries
    truth: NDArray[np.generic]  # (D, K)


def choices(known: Known, excess: Sequence[Excess] = ()) -> dict[str, Any] | None:
    """Boundaries of the words for `f1` and `f0.5`, by document labels alone; None where these tell too little.

    Scores are weighed by how sure their document is. Where a head learnt words one by one, its scores are log-odds, and
    the boundary goes where the F-score to be expected is highest. Else two estimates are made of it: by the words that
    decisions need (`exaudit.model.sweep`), and by how much more common words are in documents of the class
    (`exaudit.model.excess`).

    excess : where the encoder was tuned: how likely words of a score are to be there on account of each class, by one
        that was not. A tuned encoder spreads what a document says over its words, and all of them look like it.
    """
    if known.truth.all() or not known.truth.any():
        return None
    confidence = Confidence.fit(known.outputs, known.truth)
    doubts = confidence.doubt(known.outputs)  # (D, K)
    weighed = [own - less for own, less in zip(known.scores, doubts, strict=True)]  # (N, K) each
    if known.eraser.head.config.pool == "none":
        found = _by_odds(known, np.concatenate(weighed), excess)
    else:
        by_class = _by_erasure_and_excess(known, weighed, excess)
        if by_class is None:
            return None
        found = by_class
    negative = _negative_choices(known, confidence)
    return {
        "confidence": confidence.to_json(),
        **excess_record(excess),
        "choices": {name: {"words": list(found[name]), "negative": negative[name]} for name in BETAS},
    }


def excess_record(excess: Sequence[Excess]) -> dict[str, Any]:
    """What a model keeps of it, so that boundaries can be found again."""
    return {"excess": [own.to_json() for own in excess]} if excess else {}


def _by_erasure_and_excess(
    known: Known, weighed: Scores, excess: Sequence[Excess]
) -> dict[str, tuple[float, ...]] | None:
    """Between erasure and excess. Erasure finds the words that decisions need, and misses those that say the same once
    more. Excess finds words that are more common in documents of the class, and takes the neighbours of a cue for cues.
    The boundary is half way between them where all words that decisions need are there on account of the class, and
    nearer to excess the fewer of them are. Excess decides alone where it takes dozens of words to change what documents
    look like: what a decision needs is then a small part of what speaks for it."""
    words, of_class = np.concatenate(weighed), _of_class(known)  # (W, K) each
    parts = _parts(known, excess) if excess else shown(known)  # (W, K)
    sweep = Sweep.over(known.eraser, known.documents, weighed, known.outputs, known.truth)
    if sweep is None or not sweep.few:
        return _by_excess(words, parts, of_class, HIDDEN_AMONG_MANY)
    erasure = {name: sweep.boundary(EFFECTS[name]) for name in BETAS}
    by_excess = _by_excess(words, parts, of_class, min(HIDDEN, sweep.left))
    if by_excess is None:
        return erasure
    needed = (words > erasure["f0.5"]) & of_class  # (W, K)
    part = (parts * needed).sum(0) / np.maximum(needed.sum(0), 1) / 2  # (K,)
    return {name: tuple((part * erasure[name] + (1 - part) * by_excess[name]).tolist()) for name in BETAS}


def shown_boundaries(known: Known, sweep: Sweep | None) -> tuple[float, ...] | None:
    """Where the words begin, for F1, that are more common in documents of each class; None where none is."""
    hidden = HIDDEN if sweep is None else min(HIDDEN, sweep.left)
    found = _by_excess(np.concatenate(known.scores), shown(known), _of_class(known), hidden)
    return None if found is None else found["f1"]


def _by_excess(
    words: NDArray[np.floating],
    shown: NDArray[np.float64],
    of_class: NDArray[np.bool_],
    hidden: float,
) -> dict[str, tuple[float, ...]] | None:
    """For words (W, K) that are weighed. None where no word shows in any class.

    hidden : the largest share of words of documents of a class that may carry the label without showing it.
    """
    classes = np.flatnonzero(shown.any(0)).tolist()
    if not classes:
        return None
    found = {}
    for name, beta in BETAS.items():
        own = [excess_boundary(words[:, k], shown[:, k], of_class[:, k], beta, hidden) for k in classes]
        every = np.full(words.shape[1], np.median(own))  # (K,)
        every[classes] = own
        found[name] = tuple(every.tolist())
    return found


def shown(known: Known) -> NDArray[np.float64]:
    """How likely each word is to be there on account of each class (W, K); 0 in documents of others."""
    return _parts(known, excess_of(known))


def excess_of(known: Known) -> tuple[Excess, ...]:
    """How likely words of a score are to be there on account of each class. A class that all documents have, or none,
    has no words of its own."""
    plain, of_class = np.concatenate(known.scores), _of_class(known)  # (W, K) each
    idle = _idle_scores(known.eraser.head)  # (K,)
    return tuple(
        Excess.of(own, mine, idle=float(least), documents=len(known.scores))
        if mine.any() and not mine.all()
        else NOTHING
        for own, mine, least in zip(plain.T, of_class.T, idle, strict=True)
    )


def parts_of(
    excess: Sequence[Excess], scores: Scores, truth: NDArray[np.generic]
) -> list[NDArray[np.float64]]:
    """How likely the words of each document are to be there on account of each class (N, K); 0 if it is not of that."""
    return [
        np.stack([each.part(own) for each, own in zip(excess, words.T, strict=True)], 1) * mine
        for words, mine in zip(scores, np.asarray(truth) > 0, strict=True)
    ]


def _parts(known: Known, excess: Sequence[Excess]) -> NDArray[np.float64]:
    """The same for all words (W, K)."""
    return np.concatenate(parts_of(excess, known.scores, known.truth))


def _of_class(known: Known) -> NDArray[np.bool_]:
    """Whether each word is of a document of each class (W, K)."""
    return np.repeat(np.asarray(known.truth) > 0, [len(own) for own in known.scores], axis=0)


def _by_odds(
    known: Known, words: NDArray[np.floating], excess: Sequence[Excess]
) -> dict[str, tuple[float, ...]]:
    """For log-odds of words (W, K) that are weighed: where the F-score to be expected is highest.

    How likely words are to carry the label is guessed in two ways, each as good as the other. A student's pseudo-labels
    are the words that its teachers needed. If they are right, they are only some of those that carry the label, and
    the clearest ones rather than a random sample: for F1, where a miss counts as much as a false alarm, their part
    is taken to be smaller than it looks. But they may be wrong, and the student is as sure of them: so the other guess
    is excess, as an encoder sees it that was not tuned. It counts for as much.
    """
    head = known.eraser.head
    exclusive = head.config.outputs == "softmax" and head.config.classes > 2
    of_class = _of_class(known)  # (W, K)
    parts = _parts(known, excess) if excess else np.zeros(words.shape)  # (W, K)
    found: dict[str, list[float]] = {name: [] for name in BETAS}
    for k, own in enumerate(words.T):
        chances = exclusive_chances(own, of_class[:, k]) if exclusive else np.exp(-np.logaddexp(0, -own))
        share = labelled_share(chances)
        for name, beta in BETAS.items():
            needed = np.minimum(chances / (share**2 if name == "f1" else share), 1.0)
            by_excess = guesses(parts[:, k], of_class[:, k], HIDDEN) if parts[:, k].any() else ()
            found[name].append(likely_offset(own, chain(by_excess, repeat(needed, GUESSES)), beta))
    return {name: tuple(offsets) for name, offsets in found.items()}


def exclusive_chances(margins: NDArray[np.floating], of_class: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How likely each word (W,) is to be one of the class, given its score less that of the strongest other class.

    One class is always ahead of the others, be it by chance, so a margin is no log-odds: where a part q of words are of
    the class, and the others of none, the token loss is least at the margin m with tanh(m / 2) = q. What the median
    word of documents of the class has is chance.
    """
    chances = np.tanh(np.maximum(np.asarray(margins, np.float64), 0.0) / 2)
    usual = float(np.median(chances[of_class])) if of_class.any() else 0.0
    return np.asarray(np.maximum(chances - usual, 0.0) / max(1 - usual, 1e-12))


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
