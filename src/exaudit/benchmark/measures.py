"""How well scores find the true words: with no boundary, at given ones, and at the best there is.

Scores and truth come as one array for each document, (N, K): a column for each class that is decided, of two classes
one. Each class is measured by itself, against the rest; the figure is the mean over the classes that have a true word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.metrics import Counts, best_offset

__all__ = ["average_precision", "best_boundary_measures", "boundary_measures", "flagged", "word_measures"]

Table = NDArray[np.floating] | NDArray[np.integer]


def average_precision(scores: NDArray[np.floating], truth: NDArray[np.generic]) -> float:
    """The precision at every true word, from the highest score down, on average; words of equal score come together.
    0 where no word is true."""
    order = np.argsort(-scores, kind="stable")
    scores, hits = np.asarray(scores)[order], np.asarray(truth)[order] > 0
    if not hits.any():
        return 0.0
    last = np.append(scores[1:] != scores[:-1], True)  # of each run of equal scores
    right = np.cumsum(hits)[last]
    said = (np.flatnonzero(last) + 1).astype(np.float64)
    return float((np.diff(right, prepend=0) * right / said).sum() / right[-1])


def boundary_measures(
    scores: Sequence[Table], truth: Sequence[Table], boundaries: Sequence[float]
) -> dict[str, float]:
    """Precision, recall, F1 and F0.5 of the words above a boundary, which each class has one of."""

    def measure(own: NDArray[Any], true: NDArray[Any], boundary: float) -> dict[str, float]:
        c = Counts.of(own > boundary, true)
        return {"precision": c.precision, "recall": c.recall, "f1": c.f(), "f0.5": c.f(0.5)}

    return _macro(measure, scores, truth, boundaries)


def best_boundary_measures(scores: Sequence[Table], truth: Sequence[Table]) -> dict[str, float]:
    """F1 and F0.5, each at the boundary where it is highest. The boundary is read off the truth: no rule can give more,
    and nobody who lacks the truth can have it."""

    def measure(own: NDArray[Any], true: NDArray[Any], _: float) -> dict[str, float]:
        best = {beta: Counts.of(own > best_offset(own, true, beta), true).f(beta) for beta in (1.0, 0.5)}
        return {"f1": best[1.0], "f0.5": best[0.5]}

    return _macro(measure, scores, truth, [0.0] * scores[0].shape[1])


def flagged(
    scores: Sequence[Table], document_truth: NDArray[np.generic], boundaries: Sequence[float]
) -> dict[str, float]:
    """The share of words above the boundary: of all words, of those in documents of the class, and of those in others.

    document_truth : 0 or 1 for each document and class (D, K).
    """
    words = np.array([len(own) for own in scores])  # (D,)
    above = np.stack([(own > np.asarray(boundaries)).sum(0) for own in scores])  # (D, K)
    positive = np.asarray(document_truth) > 0  # (D, K)

    def share(chosen: NDArray[np.bool_]) -> float:
        of_class = [
            above[rows, k].sum() / words[rows].sum() for k, rows in enumerate(chosen.T) if words[rows].sum()
        ]
        return float(np.mean(of_class)) if of_class else 0.0

    return {
        "all": share(np.ones_like(positive)),
        "positive": share(positive),
        "negative": share(~positive),
    }


def word_measures(
    scores: Sequence[Table],
    truth: Sequence[Table],
    document_truth: NDArray[np.generic],
    boundaries: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """All figures of one set of scores, as fractions of one.

    Parameters
    ----------
    scores, truth
        Of the words of each document (N, K).
    document_truth
        0 or 1 for each document and class (D, K).
    boundaries
        By name, as "default" and "zero", one number for each class. Words are flagged at the first.

    Returns
    -------
    dict
        `ap`; for each boundary a dict of `precision`, `recall`, `f1` and `f0.5`; `best` with `f1` and `f0.5`, read off
        the truth; `flagged` with the shares of `all` words, and of those in `positive` and `negative` documents.
    """
    if [len(own) for own in scores] != [len(own) for own in truth] or not scores:
        raise ValueError("scores and truth must be of the same words, and there must be some")
    named = {name: boundary_measures(scores, truth, own) for name, own in boundaries.items()}
    ap = _macro(
        lambda own, true, _: {"ap": average_precision(own, true)}, scores, truth, [0.0] * truth[0].shape[1]
    )
    first = next(iter(boundaries.values()))
    return {
        **ap,
        **named,
        "best": best_boundary_measures(scores, truth),
        "flagged": flagged(scores, document_truth, first),
    }


def _macro(
    measure: Callable[[NDArray[Any], NDArray[Any], float], dict[str, float]],
    scores: Sequence[Table],
    truth: Sequence[Table],
    boundaries: Sequence[float],
) -> dict[str, float]:
    """The mean over the classes that have a true word."""
    whole, true = np.concatenate(scores), np.concatenate(truth)  # (W, K) each
    classes = [k for k in range(true.shape[1]) if true[:, k].any()] or list(range(true.shape[1]))
    each = [measure(whole[:, k], true[:, k], boundaries[k]) for k in classes]
    return {name: float(np.mean([values[name] for values in each])) for name in each[0]}
