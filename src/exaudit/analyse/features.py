"""Aggregate, comparative feature extraction (section 3.5): which n-grams and documents speak for a class.

    ngram-_{n:n+z-1} = sum_i (s-_i - b_1)        ngram+_{n:n+z-1} = sum_i (s+_i - b_2)

Scores of a class come from the documents that the model predicts as that class, summed or averaged over the
occurrences of the n-gram. Split by the true label, they also show what misled the model.

What is kept of a document is a number and a score for each of its words, some 12 bytes, so large files stream
through. Scores are whole multiples of 2^-20, which is finer than float32 arithmetic can be trusted: sums are then
exact, do not depend on the order of the documents, and equal scores compare equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from exaudit.data.labels import LabelNames
from exaudit.errors import SettingError
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores

__all__ = ["By", "Features", "Ngram", "RankedDocument"]

By = Literal["total", "mean"]
UNIT = 2.0**-20
UNKNOWN = -1  # the true label of a document that has none

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ngram:
    """An n-gram with its score for one class."""

    tokens: tuple[str, ...]
    total: float  # over its occurrences in documents predicted as the class
    occurrences: int
    frequency: int  # total frequency: in all documents of the split, whatever was predicted

    @property
    def text(self) -> str:
        return " ".join(self.tokens)

    @property
    def mean(self) -> float:
        return self.total / self.occurrences

    def score(self, by: By) -> float:
        return self.total if by == "total" else self.mean


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document with its score for the class it was predicted as."""

    id: str
    text: str
    score: float  # the sum of its unigram scores
    length: int
    predicted: int
    truth: int | None

    @property
    def normalised(self) -> float:
        return self.score / self.length


@dataclass
class Features:
    """The n-grams and documents of a dataset under a model: add labelled documents, then ask.

    bias : (b_1, b_2) of the final layer, which the scores are taken without.
    """

    names: LabelNames
    bias: tuple[float, float]
    _words: dict[str, int] = field(default_factory=dict)
    _tokens: array[int] = field(default_factory=lambda: array("i"))
    _scores: array[int] = field(default_factory=lambda: array("q"))  # in UNITs, for the predicted class
    _ids: list[str] = field(default_factory=list)
    _lengths: array[int] = field(default_factory=lambda: array("i"))
    _predicted: array[int] = field(default_factory=lambda: array("b"))
    _truth: array[int] = field(default_factory=lambda: array("b"))
    _tables: dict[int, _Table] = field(default_factory=dict)

    @classmethod
    def of(cls, labelled: Iterable[TokenScores], labeler: Labeler) -> Features:
        """All documents of a labelled file; any kind of model will do."""
        negative, positive = labeler.head_.bias.detach().cpu().tolist()
        features = cls(labeler.names_, (negative, positive))
        for scores in labelled:
            features.add(scores)
        return features

    def add(self, scores: TokenScores) -> None:
        document, predicted = scores.document, scores.decision
        own = scores.positive if predicted else scores.negative
        truth = self.names.document_target(document)
        contributions = np.rint((own.astype(np.float64) - self.bias[predicted]) / UNIT).astype(
            np.int64
        )  # (N,)
        self._scores.frombytes(contributions.tobytes())
        self._tokens.extend(self._words.setdefault(token, len(self._words)) for token in document.tokens)
        self._ids.append(document.id)
        self._lengths.append(len(document.tokens))
        self._predicted.append(predicted)
        self._truth.append(UNKNOWN if truth is None else truth)
        self._tables.clear()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def has_truth(self) -> bool:
        """Whether the true label of any document is known."""
        return any(truth != UNKNOWN for truth in self._truth)

    def count(self, target: int, truth: int | None = None) -> int:
        """Documents predicted as the class `target`, and truly of class `truth` where given."""
        rows = zip(self._predicted, self._truth, strict=True)
        return sum(p == target and (truth is None or t == truth) for p, t in rows)

    # -- n-grams --------------------------------------------------------------------------------------

    def ngrams(
        self,
        size: int,
        target: int,
        *,
        truth: int | None = None,
        by: By = "mean",
        top: int = 20,
        lowest: bool = False,
        minimum: int = 1,
    ) -> list[Ngram]:
        """The n-grams of a size with the highest scores for the class `target` (or the lowest, lowest first).

        truth : take only documents truly of this class; the other one than `target` gives the n-grams of errors.
        minimum : leave out n-grams with fewer occurrences.
        Of n-grams with equal score that overlap, only the first in the alphabet is shown: they mostly differ by a
        word that does not matter. Ties stand in the order of the alphabet.
        """
        if size < 1:
            raise SettingError(f"the size of an n-gram is 1 or more, not {size}")
        if by not in get_args(By):
            raise SettingError(f"n-grams are ranked by total or mean, not {by!r}")
        table = self._tables.get(size)
        if table is None:
            table = self._tables[size] = self._count(size)
        totals, occurrences, frequency = table.of(target, truth)
        chosen = np.flatnonzero(occurrences >= max(1, minimum))
        score = totals[chosen] / (1 if by == "total" else occurrences[chosen])
        order = np.argsort(score if lowest else -score, kind="stable")
        words = list(self._words)
        tokens = np.frombuffer(self._tokens, dtype=np.int32)

        def ranked() -> Iterator[tuple[float, tuple[str, ...], int]]:
            for value, group in groupby(order.tolist(), key=lambda i: score[i]):
                ties = [
                    (tuple(words[t] for t in tokens[p : p + size]), row)
                    for row in chosen[list(group)].tolist()
                    for p in (int(table.first[row]),)
                ]
                yield from ((value, gram, row) for gram, row in sorted(ties))

        shown: list[Ngram] = []
        same: list[tuple[str, ...]] = []  # n-grams of the present score that are shown
        last = None
        for value, gram, row in ranked():
            if len(shown) == top:
                break
            if value != last:
                same, last = [], value
            if not any(_overlap(gram, other) for other in same):
                same.append(gram)
                total, times = float(totals[row] * UNIT), int(occurrences[row])
                shown.append(Ngram(gram, total, times, int(frequency[row])))
        return shown

    def _count(self, size: int) -> _Table:
        """Every n-gram of a size, by sorting: the number of an n-gram comes from its (n-1)-gram and last word."""
        tokens = np.frombuffer(self._tokens, dtype=np.int32).astype(np.int64)  # (T,)
        scores = np.frombuffer(self._scores, dtype=np.int64)
        lengths = np.frombuffer(self._lengths, dtype=np.int32).astype(np.int64)
        ends = np.repeat(np.cumsum(lengths), lengths)  # (T,) where the token's document ends
        starts = np.flatnonzero(np.arange(len(tokens)) + size <= ends)  # (G,) an n-gram stays in its document
        number = tokens[starts]
        for offset in range(1, size):
            pairs = number << 32 | tokens[starts + offset]
            number = np.unique(pairs, return_inverse=True)[1]
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
        sums = np.concatenate([[0], np.cumsum(scores)])
        values = sums[starts + size] - sums[starts]  # (G,)
        document = np.repeat(np.arange(len(lengths)), lengths)[starts]  # (G,)
        predicted = np.frombuffer(self._predicted, dtype=np.int8).astype(np.int64)[document]
        truth = np.frombuffer(self._truth, dtype=np.int8).astype(np.int64)[document]
        cell = 3 * predicted + truth + 1  # (G,) predicted by truth, unknown first
        totals = np.zeros((6, len(first)), dtype=np.int64)
        counts = np.zeros((6, len(first)), dtype=np.int64)
        np.add.at(totals, (cell, number), values)
        np.add.at(counts, (cell, number), 1)
        return _Table(starts[first], totals.reshape(2, 3, -1), counts.reshape(2, 3, -1))

    # -- documents ------------------------------------------------------------------------------------

    def documents(
        self,
        target: int,
        *,
        truth: int | None = None,
        normalise: bool = True,
        top: int = 10,
        lowest: bool = False,
    ) -> list[RankedDocument]:
        """The documents predicted as `target` with the highest scores (or the lowest), per word or in all."""
        scores = np.frombuffer(self._scores, dtype=np.int64)
        lengths = np.frombuffer(self._lengths, dtype=np.int32).astype(np.int64)
        ends = np.cumsum(lengths)
        sums = np.concatenate([[0], np.cumsum(scores)])
        totals = sums[ends] - sums[ends - lengths]  # (D,)
        mine = np.frombuffer(self._predicted, dtype=np.int8) == target
        if truth is not None:
            mine &= np.frombuffer(self._truth, dtype=np.int8) == truth
        score = totals / (lengths if normalise else 1)
        sign = 1 if lowest else -1
        order = sorted(np.flatnonzero(mine).tolist(), key=lambda d: (sign * score[d], self._ids[d]))[:top]
        words = list(self._words)
        return [
            RankedDocument(
                self._ids[d],
                " ".join(words[t] for t in self._tokens[ends[d] - lengths[d] : ends[d]]),
                float(totals[d] * UNIT),
                int(lengths[d]),
                target,
                None if self._truth[d] == UNKNOWN else self._truth[d],
            )
            for d in order
        ]


@dataclass(frozen=True)
class _Table:
    """All n-grams of one size: where each first stands, and its scores and counts by predicted and true class."""

    first: Ints  # (G,)
    totals: Ints  # (2, 3, G), true class unknown, negative, positive
    counts: Ints  # (2, 3, G)

    def of(self, target: int, truth: int | None) -> tuple[Ints, Ints, Ints]:
        """Total score, occurrences in documents predicted as `target`, and total frequency, within a true class."""
        split = slice(None) if truth is None else slice(truth + 1, truth + 2)
        totals, occurrences = self.totals[target, split].sum(0), self.counts[target, split].sum(0)
        return totals, occurrences, self.counts[:, split].sum((0, 1))


def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether the end of one is the start of the other, so that both can be windows on the same words."""
    return any(a[k:] == b[: len(b) - k] or b[k:] == a[: len(a) - k] for k in range(1, len(a)))
