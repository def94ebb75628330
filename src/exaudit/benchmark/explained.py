"""Documents whose words were scored by some method, and how well these scores find the true words.

A word is taken for positive where its score is above zero, the natural boundary of every method. What explains a
classifier explains its decision: `within` says that only words of documents that were decided positive can be positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.benchmark.measures import average_precision
from exaudit.metrics import Counts, best_offset

__all__ = ["Explained", "figures"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Explained:
    """Scores of the words of D documents, laid end to end, beside the truth."""

    scores: Floats  # (N,)
    decided: Bools  # (N,) whether the word's document was decided positive
    truth: Bools  # (N,)

    @classmethod
    def of(
        cls, scores: Sequence[Floats], decided: Sequence[bool], truth: Sequence[NDArray[np.integer]]
    ) -> Explained:
        """From the scores (N,) and the truth (N,) of each document."""
        lengths = [len(own) for own in scores]
        if lengths != [len(own) for own in truth] or not lengths:
            raise ValueError("scores and truth must be of the same words, and there must be some")
        return cls(
            np.concatenate(scores).astype(np.float64),
            np.repeat(np.asarray(decided, np.bool_), lengths),
            np.concatenate(truth) > 0,
        )

    def ranked(self) -> Floats:
        """The scores, those in documents that were decided negative below all others."""
        span = float(np.ptp(self.scores)) + 1.0
        return np.where(self.decided, self.scores, self.scores - span)

    def counts(self, boundary: float, *, within: bool) -> Counts:
        """Words above a boundary against the truth."""
        said = self.scores > boundary
        return Counts.of(said & self.decided if within else said, self.truth)

    def best_boundary(self, beta: float, *, within: bool) -> float:
        """Where F_beta is highest."""
        if not within:
            return best_offset(self.scores, self.truth, beta)
        if not self.decided.any():
            return 0.0
        missed = int(self.truth[~self.decided].sum())
        return best_offset(self.scores[self.decided], self.truth[self.decided], beta, missed=missed)


def figures(test: Explained, dev: Explained | None, *, within: bool) -> dict[str, Any]:
    """All figures of a method, as fractions of one.

    Parameters
    ----------
    test
        What is measured.
    dev
        What boundaries are tuned on, each for its own measure; None: nothing is tuned.
    within
        Whether words of documents that were decided negative are negative.

    Returns
    -------
    dict
        `ap` of the scores as they are, and `ap_ranked`, where documents that were decided negative come last;
        `natural` with `precision`, `recall`, `f1` and `f0.5`; `tuned` with `f1` and `f0.5`, or None, and its
        `boundaries`.
    """
    natural = test.counts(0.0, within=within)
    found: dict[str, Any] = {
        "ap": average_precision(test.scores, test.truth),
        "ap_ranked": average_precision(test.ranked(), test.truth),
        "natural": {
            "precision": natural.precision,
            "recall": natural.recall,
            "f1": natural.f(),
            "f0.5": natural.f(0.5),
        },
        "tuned": None,
        "boundaries": None,
    }
    if dev is not None:
        boundaries = {
            name: dev.best_boundary(beta, within=within) for name, beta in (("f1", 1.0), ("f0.5", 0.5))
        }
        found["boundaries"] = boundaries
        found["tuned"] = {
            name: test.counts(boundaries[name], within=within).f(beta)
            for name, beta in (("f1", 1.0), ("f0.5", 0.5))
        }
    return found
