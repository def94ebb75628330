"""Aggregate, comparative feature extraction (section 3.5): which n-grams and documents speak for a class.

    ngram-_{n:n+z-1} = sum_i (s-_i - b_1)        ngram+_{n:n+z-1} = sum_i (s+_i - b_2)

and so on for any number of classes. Scores of a class come from the documents that the model predicts as that class
(as one of theirs, where documents have several), summed or averaged over the occurrences of the n-gram. Split by the
true label, they also show what misled the model.

What is kept of a document is a number for each of its words, and a score for each class that was decided, some 12
bytes a word for one class, so large files stream through. Scores are whole multiples of 2^-20, which is finer than
float32 arithmetic can be trusted: sums are then exact, do not depend on the order of the documents, and equal scores
compare equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.decisions import true_classes
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError
from exaudit.model.model import Model
from exaudit.model.scores import Scores, TokenScores

__all__ = ["By", "Features", "Ngram", "RankedDocument", "Truth"]

By = Literal["total", "mean"]
Truth = (
    int | Literal["other"] | None
)  # documents truly of this class, or of any but the predicted one; None: all
UNIT = 2.0**-20
NONE = -1  # no n-gram starts at this word: its document ends before

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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
    truth: tuple[int, ...] | None  # the classes that it truly has; None: not known

    @property
    def normalised(self) -> float:
        return self.score / self.length


@dataclass
class _Predicted:
    """The documents that were predicted as a class, and what their words contribute to it."""

    documents: array[int] = field(default_factory=lambda: array("i"))
    scores: array[int] = field(default_factory=lambda: array("q"))  # in UNITs, document after document


@dataclass
class Features:
    """The n-grams and documents of a dataset under a model: add labelled documents, then ask.

    bias : b of the final layer, one for each class, which the scores are taken without.
    """

    labels: LabelSet
    bias: tuple[float, ...]
    _words: dict[str, int] = field(default_factory=dict)
    _tokens: array[int] = field(default_factory=lambda: array("i"))
    _ids: list[str] = field(default_factory=list)
    _lengths: array[int] = field(default_factory=lambda: array("i"))
    _truth: list[tuple[int, ...] | None] = field(default_factory=list)
    _predicted: dict[int, _Predicted] = field(default_factory=dict)
    _tables: dict[int, _Table] = field(default_factory=dict)
    _masks: dict[int, Bools] = field(default_factory=dict)

    @classmethod
    def of(cls, labelled: Iterable[Scores], model: Model) -> Features:
        """All documents that a model labelled."""
        features = cls(model.labels, tuple(map(float, model.bias)))
        for scores in labelled:
            features.add(scores)
        return features

    def add(self, scores: Scores) -> None:
        document = scores.document
        truth = true_classes(document, self.labels)
        for target in scores.decided:
            own = _scores_of(scores, target).astype(np.float64) - self.bias[target]  # (N,)
            mine = self._predicted.setdefault(target, _Predicted())
            mine.documents.append(len(self._ids))
            mine.scores.frombytes(np.rint(own / UNIT).astype(np.int64).tobytes())
        self._tokens.extend(self._words.setdefault(token, len(self._words)) for token in document.tokens)
        self._ids.append(document.id)
        self._lengths.append(len(document.tokens))
        self._truth.append(truth)
        self._tables.clear()
        self._masks.clear()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def has_truth(self) -> bool:
        """Whether the true label of any document is known."""
        return any(truth is not None for truth in self._truth)

    def count(self, target: int, truth: Truth = None) -> int:
        """Documents predicted as the class `target`, and truly of class `truth` where given."""
        return len(self._documents_of(target, truth))

    def _is_truly(self, target: int, truth: Truth) -> Bools:
        """Which documents are in a split (D,)."""
        if truth is None:
            return np.ones(len(self), dtype=bool)
        wanted = target if truth == "other" else truth
        if wanted not in self._masks:
            self._masks[wanted] = np.array([t is not None and wanted in t for t in self._truth], dtype=bool)
        mask = self._masks[wanted]
        if truth == "other":
            mask = ~mask & np.array([t is not None for t in self._truth], dtype=bool)
        return mask

    def _documents_of(self, target: int, truth: Truth) -> Ints:
        mine = np.array(self._predicted.get(target, _Predicted()).documents, dtype=np.int64)
        return mine[self._is_truly(target, truth)[mine]]

    # -- n-grams --------------------------------------------------------------------------------------

    def ngrams(
        self,
        size: int,
        target: int,
        *,
        truth: Truth = None,
        by: By = "mean",
        top: int = 20,
        lowest: bool = False,
        minimum: int = 1,
    ) -> list[Ngram]:
        """The n-grams of a size with the highest scores for the class `target` (or the lowest, lowest first).

        truth : take only documents truly of this class; "other" (than `target`) gives the n-grams of errors.
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
            table = self._tables[size] = self._number(size)
        totals, occurrences = self._sums(table, target, truth)
        frequency = table.frequency(self._is_truly(target, truth))
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

    def _number(self, size: int) -> _Table:
        """Every n-gram of a size, by sorting: the number of an n-gram comes from its (n-1)-gram and last word."""
        tokens = np.frombuffer(self._tokens, dtype=np.int32).astype(np.int64)  # (T,)
        lengths = np.frombuffer(self._lengths, dtype=np.int32).astype(np.int64)
        ends = np.repeat(np.cumsum(lengths), lengths)  # (T,) where the token's document ends
        starts = np.flatnonzero(np.arange(len(tokens)) + size <= ends)  # (S,) an n-gram stays in its document
        number = tokens[starts]
        for offset in range(1, size):
            pairs = number << 32 | tokens[starts + offset]
            number = np.unique(pairs, return_inverse=True)[1]
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
        numbers = np.full(len(tokens), NONE, dtype=np.int32)
        numbers[starts] = number
        return _Table(size, starts[first], numbers, np.repeat(np.arange(len(lengths)), lengths)[starts])

    def _sums(self, table: _Table, target: int, truth: Truth) -> tuple[Ints, Ints]:
        """Total score and occurrences of every n-gram in the documents predicted as a class (G,) each."""
        places, scores, document = self._words_of(target)
        numbers = table.numbers[places]  # (P,)
        at = np.flatnonzero((numbers != NONE) & self._is_truly(target, truth)[document])
        sums = np.concatenate([[0], np.cumsum(scores)])
        values = sums[at + table.size] - sums[at]
        totals = np.zeros(len(table.first), dtype=np.int64)
        np.add.at(totals, numbers[at], values)
        return totals, np.bincount(numbers[at], minlength=len(totals))

    def _words_of(self, target: int) -> tuple[Ints, Ints, Ints]:
        """The words of the documents predicted as a class: their places among all, scores, and documents (P,) each."""
        mine = self._predicted.get(target, _Predicted())
        documents = np.array(mine.documents, dtype=np.int64)
        lengths = np.frombuffer(self._lengths, dtype=np.int32).astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        own = lengths[documents]
        shift = starts[documents] - (np.cumsum(own) - own)  # from a place among these words to one among all
        places = np.arange(own.sum()) + np.repeat(shift, own)
        return places, np.frombuffer(mine.scores, dtype=np.int64), np.repeat(documents, own)

    # -- documents ------------------------------------------------------------------------------------

    def documents(
        self,
        target: int,
        *,
        truth: Truth = None,
        normalise: bool = True,
        top: int = 10,
        lowest: bool = False,
    ) -> list[RankedDocument]:
        """The documents predicted as `target` with the highest scores (or the lowest), per word or in all."""
        _, scores, document = self._words_of(target)
        sums = np.zeros(len(self), dtype=np.int64)
        np.add.at(sums, document, scores)
        lengths = np.array(self._lengths, dtype=np.int64)
        score = sums / (lengths if normalise else 1)
        mine = self._documents_of(target, truth).tolist()
        sign = 1 if lowest else -1
        ends = np.cumsum(lengths)
        words = list(self._words)
        return [
            RankedDocument(
                self._ids[d],
                " ".join(words[t] for t in self._tokens[ends[d] - lengths[d] : ends[d]]),
                float(sums[d] * UNIT),
                int(lengths[d]),
                target,
                self._truth[d],
            )
            for d in sorted(mine, key=lambda d: (sign * score[d], self._ids[d]))[:top]
        ]


@dataclass(frozen=True)
class _Table:
    """All n-grams of one size, by number."""

    size: int
    first: Ints  # (G,) where each first stands
    numbers: NDArray[np.int32]  # (T,) of the n-gram that starts at each word
    documents: Ints  # (S,) the document of each place where one starts

    def frequency(self, split: Bools) -> Ints:
        """How often each stands in the documents of a split (G,)."""
        numbers = self.numbers[self.numbers != NONE]  # (S,)
        return np.bincount(numbers[split[self.documents]], minlength=len(self.first))


def _scores_of(scores: Scores, target: int) -> NDArray[np.float32]:
    """What each word contributes to a class (N,)."""
    if isinstance(scores, TokenScores):
        return scores.positive if target else scores.negative
    return scores.views[target].positive


def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether the end of one is the start of the other, so that both can be windows on the same words."""
    return any(a[k:] == b[: len(b) - k] or b[k:] == a[: len(a) - k] for k in range(1, len(a)))
