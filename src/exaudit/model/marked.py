"""What a few documents whose words a person marked tell: the boundary of the words, and how well it is known.

Of ten documents, the boundary with the best F-score is mostly luck. So the documents are drawn again and again, the
median of the best boundaries is taken, and it is pulled towards the boundary that the model had before, the more so
the fewer words were marked (`marked_offset`). `benchmarks/marked.py` measures what that gives.

Where people mark phrases, a word whose neighbours score high is likely to be marked, too: then scores are averaged over
some words, if that is clearly better on the documents at hand (`marked_smoothing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labelled import MARKED, awaits_marks
from exaudit.errors import DataError
from exaudit.model.model import Model
from exaudit.model.scores import running_mean

__all__ = [
    "STANDS_FOR", "check_marked", "marked_boundary", "marked_measures", "marked_offset", "marked_smoothing", "smoothed",
]  # fmt: skip

PRIOR = 10  # marked words of a class that weigh as much as the boundary that the model had before
CANDIDATES = 400  # boundaries that are tried, at most
DRAWS = 50  # of the documents, for the boundary
INTERVAL_DRAWS = 1000
FOLDS = 10
WIDTHS = (3, 7, 15)  # of smoothing, in words, that are tried
CHANCE = 0.01  # at most, that a width which is taken is no better than none
STANDS_FOR = "stands_for"  # of what `exaudit suggest` writes: how many documents of the pool it was drawn for
FEWEST = 5  # documents: of fewer, draws are too much alike to tell how well a boundary is known

Floats = NDArray[np.floating]
Words = Sequence[NDArray[Any]]  # one array for each document


def marked_boundary(
    model: Model, documents: Sequence[Document], beta: float, start: Sequence[float]
) -> dict[str, Any]:
    """What these documents tell, for the model's record: for each class its boundary (`offsets`), the one before any
    word was marked (`start`), the number of words to average over (`smoothing`), how many words are marked, and what is
    `known` of the boundary. `model` is the one before any word was marked.

    A class that no word is marked with keeps the boundary before, and nothing is known of it; nor is of one that fewer
    than `FEWEST` documents tell of.
    """
    truth = _truth(model, documents)  # (N, K) each
    weights = _weights(documents)  # (D,)
    positive = sum(own.sum(0, dtype=np.int64) for own in truth)  # (K,)
    if not np.any(positive):
        names = " or ".join(repr(view.positive) for view in model.labels.views[:3])
        raise DataError(
            f"no word of these {len(documents):,} documents is marked {names}, so they cannot set a boundary; mark more"
        )
    scores = [np.stack([view.weighed for view in own.views], 1) for own in model.iter_label(documents)]
    boundaries, widths, known = [], [], []
    for k, before in enumerate(start):
        words, marks = [own[:, k] for own in scores], [own[:, k] for own in truth]
        width = 1  # a document that one word decides needs that word as it is
        if not model.by_tokens:
            width = marked_smoothing(words, marks, before, beta, weights)
        widths.append(width)
        words, before = smoothed(words, before, width)
        boundaries.append(marked_offset(words, marks, before, beta, weights))
        enough = positive[k] and len(documents) >= FEWEST
        known.append(marked_measures(words, marks, before, beta, weights) if enough else None)
    return {
        "by": "tokens",
        "beta": beta,
        "documents": len(documents),
        "offsets": boundaries,
        "start": list(start),
        "smoothing": widths,
        "marked_words": [int(count) for count in positive],
        "known": known,
    }


def marked_offset(
    scores: Words,
    truth: Words,
    start: float,
    beta: float = 0.5,
    weights: Floats | None = None,
    *,
    prior: float = PRIOR,
) -> float:
    """The boundary of one class for the best F_beta, by a few documents.

    Parameters
    ----------
    scores, truth
        Of the words of each document (N,).
    start
        The boundary before, which the few documents are weighed against.
    beta
        Which F-score; 0.5 prefers precision.
    weights
        How many documents each one stands for, if not for as many (D,).
    prior
        How many marked words `start` weighs as much as.
    """
    if not any(np.any(own) for own in truth):
        return start
    weights = np.ones(len(scores)) if weights is None else weights / weights.mean()
    words, marked = np.concatenate(scores), np.concatenate(truth) > 0  # (W,) each
    of = np.repeat(np.arange(len(scores)), [len(own) for own in scores])  # (W,) each word's document
    boundaries = _candidates(words, start)  # (G,)
    below = np.searchsorted(boundaries, words)  # (W,) how many boundaries a word lies above
    f = np.empty((DRAWS, len(boundaries)))
    for n, drawn in enumerate(_draws(weights, DRAWS)):
        every, true = drawn[of], drawn[of] * marked  # (W,) each: what a word counts
        f[n] = _f(
            _above(below, true, len(boundaries)), _above(below, every, len(boundaries)), true.sum(), beta
        )
    before = int(np.searchsorted(boundaries, start))
    # Of equally good ones, the nearest to the one before: a draw without a marked word says nothing.
    distance = np.abs(np.arange(len(boundaries)) - before)
    best = np.where(f >= f.max(1, keepdims=True) - 1e-12, distance, len(boundaries)).argmin(1)  # (B,)
    middles = (boundaries + np.append(boundaries[1:], boundaries[-1])) / 2  # between two words
    middles[before] = start
    positive = float(weights[of[marked]].sum())
    return float(start + (np.median(middles[best]) - start) * positive / (positive + prior))


def marked_measures(
    scores: Words, truth: Words, start: float, beta: float = 0.5, weights: Floats | None = None
) -> dict[str, list[float]]:
    """F_beta, precision and recall to expect of the boundary of `marked_offset`: the figure, and its 95% interval.

    The interval comes from drawing documents, since the words of one are not independent.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    right, said, true = _drawn_counts(scores, truth, start, beta, weights)  # (1 + B,) each
    figures = {
        "f": _f(right, said, true, beta),
        "precision": _ratio(right, said),
        "recall": _ratio(right, true),
    }
    return {
        name: [float(own[0]), *np.quantile(own[1:], [0.025, 0.975]).tolist()] for name, own in figures.items()
    }


def marked_smoothing(
    scores: Words, truth: Words, start: float, beta: float = 0.5, weights: Floats | None = None
) -> int:
    """Over how many words to average the scores of one class: the width with the best F_beta of those that are better
    than none in all but a few draws of the documents; 1 where there is no such width. The boundary before, which is one
    of single words, has no say in it."""
    weights = np.ones(len(scores)) if weights is None else weights
    if not any(np.any(own) for own in truth):
        return 1
    right, said, true = _drawn_counts(scores, truth, start, beta, weights, prior=0)
    plain = _f(right, said, true, beta)  # (1 + B,)
    best, chosen = plain[0], 1
    for width in WIDTHS:
        means, boundary = smoothed(scores, start, width)
        right, said, true = _drawn_counts(means, truth, boundary, beta, weights, prior=0)
        f = _f(right, said, true, beta)
        if f[0] > best and (f[1:] <= plain[1:]).mean() <= CHANCE:
            best, chosen = f[0], width
    return chosen


def smoothed(scores: Words, boundary: float, width: int) -> tuple[list[NDArray[Any]], float]:
    """The scores averaged over so many words, and the boundary that as many of them are above as before: averages of
    high and low scores are in between."""
    if width == 1:
        return list(scores), boundary
    means = [running_mean(own, width) for own in scores]
    above = float(np.mean(np.concatenate(scores) > boundary))
    return means, float(np.quantile(np.concatenate(means).astype(np.float64), 1 - above))


def _drawn_counts(
    scores: Words, truth: Words, start: float, beta: float, weights: Floats, *, prior: float = PRIOR
) -> NDArray[np.float64]:
    """Words that are decided positive rightly, those decided so, and those that are (3, 1 + B): of all documents, then
    of those drawn.

    Nobody may judge a boundary by the documents that set it: those of each tenth are decided by the boundary that the
    others give.
    """
    right, said = np.zeros((2, len(scores)))  # (D,) each
    for fold in range(min(FOLDS, len(scores))):
        others = [i for i in range(len(scores)) if i % FOLDS != fold]
        rest = [scores[i] for i in others], [truth[i] for i in others]
        boundary = marked_offset(*rest, start, beta, weights[others], prior=prior)
        for i in range(fold, len(scores), FOLDS):
            flagged = scores[i] > boundary
            said[i], right[i] = flagged.sum(), (flagged & (truth[i] > 0)).sum()
    table = np.stack([right, said, [np.count_nonzero(own) for own in truth]], 1)  # (D, 3)
    every = [weights, *_draws(weights, INTERVAL_DRAWS)]  # as they are, then drawn
    return np.array([own @ table for own in every]).T


def _truth(model: Model, documents: Sequence[Document]) -> list[NDArray[np.int8]]:
    """What each word of each document is marked with (N, K)."""
    found = [model.labels.token_targets(document) for document in documents]
    marked = [own for own in found if own is not None]
    if len(marked) < len(found) or not found:
        without = [d for d, own in zip(documents, found, strict=True) if own is None]
        what = f"{len(without):,} of {len(found):,} have none" if found else "there is no document"
        raise DataError(
            f"a boundary by the labels of tokens needs them in every document, and {what}; mark their words, or leave "
            "them out",
            line=without[0].line or None if without else None,
        )
    return marked


def check_marked(documents: Sequence[Document]) -> None:
    """Refuse documents whose words nobody has been over yet: their labels are the model's own, or made of these."""
    waiting = [document for document in documents if awaits_marks(document)]
    if waiting:
        raise DataError(
            f"{len(waiting):,} of {len(documents):,} documents are not marked yet ({MARKED!r} is false), so their "
            "token labels are the model's own; correct these, then set it to true",
            line=waiting[0].line or None,
        )


def _weights(documents: Sequence[Document]) -> NDArray[np.float64]:
    """How many documents of the pool each one stands for; alike where that is not known (D,)."""
    told = [document.meta.get(STANDS_FOR) for document in documents]
    if not any(told):
        return np.ones(len(documents))
    found = []
    for document, value in zip(documents, told, strict=True):
        try:
            number = float(value or "nan")
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise DataError(
                f"document {document.id!r} has {value or 'nothing'!r} as {STANDS_FOR!r}, which tells how many "
                "documents of the pool it was chosen for; keep the number that `exaudit suggest` wrote in every "
                "document, or take it out of all",
                line=document.line or None,
            )
        found.append(number)
    return np.array(found, np.float64)


def _candidates(words: Floats, start: float) -> NDArray[np.float64]:
    """Scores of words to put a boundary at, in order, with `start` and one below all: dense where they are high, since
    there a few words make a difference."""
    words = np.sort(np.asarray(words, np.float64))
    ranks = np.geomspace(1, len(words), CANDIDATES).round().astype(np.int64)
    return np.unique([start, words[0] - 2.0, *words[len(words) - ranks]])


def _above(below: NDArray[np.intp], weights: Floats, boundaries: int) -> NDArray[np.float64]:
    """How many words, by their weights, lie above each boundary (G,)."""
    count = np.bincount(below, weights, boundaries + 1)
    return np.asarray(count[::-1].cumsum()[::-1][1:])


def _draws(weights: Floats, draws: int) -> Iterator[NDArray[np.float64]]:
    """How much each document counts in each draw (D,)."""
    generator = np.random.default_rng(0)
    for _ in range(draws):
        rows = generator.integers(0, len(weights), len(weights))
        yield np.asarray(np.bincount(rows, minlength=len(weights)) * weights, np.float64)


def _f(right: Floats, said: Floats, true: Any, beta: float) -> NDArray[np.float64]:
    return _ratio((1 + beta**2) * right, beta**2 * true + said)


def _ratio(part: Floats, whole: Floats) -> NDArray[np.float64]:
    """0 where there is nothing to count."""
    return np.asarray(part / np.where(whole > 0, whole, 1.0), np.float64)
