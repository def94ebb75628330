"""How much more common words of a score are in documents of a class: the boundary of the words, from document labels.

Words that carry a label are found in documents of the class, and other words in all documents alike. So of the words of
one score in documents of the class, those are there on account of it that exceed what other documents have of them
(`Excess`). Words that no filter chose say nothing: they are what "alike" is measured by.

These are the words that show. People may count more words than show: all of a phrase, say. How many is nowhere to be
seen in the labels of documents, so all shares up to a given one are held equally possible, and the boundary goes where
the F-score is highest on average over these; on geometric average, which loses sight of none of them. Where the scores
tell the words apart, that is just below the words that show; where they tell little, F1 is best served by many words
of a document of the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from exaudit.metrics import likely_offset, rising_rates

__all__ = ["GUESSES", "NOTHING", "Excess", "excess_boundary", "guesses"]

BINS = 200  # of scores, with as many words in each
ALIKE = 1e-4  # scores that differ by less are the same
GUESSES = 20  # shares that are tried


@dataclass(frozen=True)
class Excess:
    """Of the words of a score, in documents of a class, the part that is there on account of the class."""

    scores: NDArray[np.float64]  # (B,) the least of each bin, rising
    parts: NDArray[np.float64]  # (B,) never falling

    @classmethod
    def of(
        cls, scores: NDArray[np.floating], of_class: NDArray[np.bool_], *, idle: float, documents: int
    ) -> Self:
        """From words of documents of the class, and of others.

        Parameters
        ----------
        scores, of_class
            Of every word (W,): its score, and whether it is of a document of the class.
        idle
            The score of a word that says nothing.
        documents
            How many there are. Both kinds count as one document more, of average words: of few documents little is
            known.
        """
        scores = np.asarray(scores, np.float64)
        edges = np.unique(np.quantile(scores, np.arange(BINS) / BINS, method="lower"))
        edges = np.unique(
            [*edges[abs(edges - idle) > ALIKE], idle - ALIKE, idle + ALIKE]
        )  # idle words by themselves
        bins = np.maximum(np.searchsorted(edges, scores, side="right") - 1, 0)  # (W,)
        mine, others = (
            np.bincount(bins[kind], minlength=len(edges)) for kind in (of_class, ~of_class)
        )  # (B,)
        there = mine + others > 0
        edges, mine, others = edges[there], mine[there], others[there]
        average = (mine + others) / documents  # (B,) of a document
        mine, others = (
            (kind + average) / (kind.sum() + average.sum()) for kind in (mine, others)
        )  # the distributions
        rates = rising_rates(mine, mine + others)  # (B,)
        odds = rates / (1 - rates)  # how many times as common they are in documents of the class
        usual = odds[max(int(np.searchsorted(edges, idle, side="right")) - 1, 0)]
        return cls(edges, np.maximum(1 - usual / odds, 0.0))

    @classmethod
    def along(cls, scores: NDArray[np.floating], parts: NDArray[np.floating]) -> Excess:
        """By other scores of the words (W,), as those of another model: the mean part of the words of a score, were
        none to be below that of a lower score. Of no words nothing is known."""
        if not len(scores):
            return NOTHING
        alike, which, counts = np.unique(
            np.asarray(scores, np.float64), return_inverse=True, return_counts=True
        )
        sums = np.bincount(which, parts).astype(np.float64)  # (B,)
        rates = rising_rates(sums, counts.astype(np.float64))
        first = np.append(True, rates[1:] > rates[:-1])
        return cls(alike[first], rates[first])

    def to_json(self) -> dict[str, list[float]]:
        return {"scores": self.scores.tolist(), "parts": self.parts.tolist()}

    @classmethod
    def from_json(cls, value: dict[str, list[float]]) -> Self:
        return cls(np.array(value["scores"], np.float64), np.array(value["parts"], np.float64))

    def part(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """For words of these scores, each."""
        bins = np.searchsorted(self.scores, np.asarray(scores, np.float64), side="right") - 1
        return np.asarray(self.parts[np.maximum(bins, 0)])


NOTHING = Excess(np.zeros(1), np.zeros(1))  # is there on account of the class


def excess_boundary(
    weighed: NDArray[np.floating],
    shown: NDArray[np.float64],
    of_class: NDArray[np.bool_],
    beta: float,
    most: float,
) -> float:
    """The boundary of words (W,), by what they are decided by, with the highest F_beta to be expected: of `guesses`,
    which has the other parameters, and `exaudit.metrics.likely_offset`."""
    return likely_offset(weighed, guesses(shown, of_class, most), beta)


def guesses(
    shown: NDArray[np.float64], of_class: NDArray[np.bool_], most: float
) -> Iterator[NDArray[np.float64]]:
    """How likely each word (W,) is to carry the label, for several shares of words that carry it without showing it.

    Parameters
    ----------
    shown
        How likely a word is to be there on account of the class; 0 in documents of others.
    of_class
        Whether it is of a document of the class.
    most
        The largest share of words of documents of the class that may carry the label without showing it.
    """
    for guess in range(GUESSES):
        yield shown + (of_class - shown) * most * (guess + 0.5) / GUESSES
