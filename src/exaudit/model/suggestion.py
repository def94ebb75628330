"""Which documents a person should mark the words of: those that tell most about the boundary, drawn fairly.

A document is drawn the more often, the more of its words would be flagged if the boundary lay a little lower or higher,
and no document is left out altogether. Each one tells how many documents of the pool it stands for (one over the
chance to be drawn), so that the boundary and its interval are those of the pool, not of the documents that are dense
with words. Documents are drawn at equal steps along the strongest word of each, so they spread over all scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document, Label
from exaudit.data.labelled import MARKED
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError
from exaudit.model.marked import STANDS_FOR
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores, Scores

__all__ = ["Suggestion", "choose", "suggest"]

STEPS = (0.5, 1.0, 2.0, 4.0)  # boundaries to be prepared for: so many times the words that are flagged now
ANY = 0.2  # of the chances, what all documents have alike
ALIKE = 0.8  # of the different words of two documents; those that share more are marked only once
TRIES = 100  # documents looked at in the place of one that is like another


@dataclass(frozen=True)
class Suggestion:
    """A document to be marked.

    Parameters
    ----------
    labels
        The classes of the model.
    scores
        What the model says of it.
    stands_for
        How many documents of the pool it was drawn for.
    flagged
        How many of its words are flagged now, for any class.
    near
        How many would change if half as many words were flagged, or four times as many.
    """

    labels: LabelSet
    scores: Scores
    stands_for: float
    flagged: int
    near: int

    @property
    def document(self) -> Document:
        """The document with the present decisions as its token labels, to be corrected."""
        meta = {**self.scores.document.meta, STANDS_FOR: f"{self.stands_for:.4g}", MARKED: "false"}
        return replace(self.scores.document, token_labels=self._decisions(), meta=meta)

    @property
    def why(self) -> str:
        """For the person who is to mark it."""
        decided = " + ".join(self.labels.names[c] for c in self.scores.decided) or "none"
        length = len(self.scores.document.tokens)
        return (
            f"decided {decided}, {_count(self.flagged, 'word')} of {length:,} flagged, {self.near:,} near the "
            f"boundary; stands for {_count(round(self.stands_for), 'document')}"
        )

    def to_json(self) -> dict[str, Any]:
        """The line that `exaudit suggest` writes."""
        own = self.document
        given = {} if own.label is None else {"label": own.label}
        marks = [int(mark) if mark in ("0", "1") else mark for mark in own.token_labels or ()]
        rest = {name: value for name, value in own.meta.items() if name not in (STANDS_FOR, MARKED)}
        return {
            "id": own.id,
            **given,
            MARKED: False,
            STANDS_FOR: float(own.meta[STANDS_FOR]),
            "tokens": own.tokens,
            "token_labels": marks,
            "text": own.text,
            **rest,
        }

    def to_conll(self) -> str:
        """The same with a word and its label on each line; several labels of a word stand with | between them."""
        own = self.document
        told = {"id": own.id, STANDS_FOR: own.meta[STANDS_FOR], MARKED: own.meta[MARKED]}
        lines = [f"# {name} = {_one_line(value)}" for name, value in told.items()]
        for token, mark in zip(own.tokens, own.token_labels or (), strict=True):
            lines.append(f"{_one_line(token)}\t{mark if isinstance(mark, str) else '|'.join(mark)}")
        return "\n".join(lines) + "\n"

    def _decisions(self) -> tuple[Label, ...]:
        """The present decision of each word as a label: 0 or 1 of two classes, else the names of classes, or O."""
        if not isinstance(self.scores, MultiScores):
            return tuple(str(int(decided)) for decided in self.scores.decisions)
        names = [tuple(self.labels.names[c] for c in own) for own in self.scores.word_classes]
        return tuple(own if len(own) > 1 else own[0] if own else "O" for own in names)


def suggest(model: Model, documents: Iterable[Any], count: int = 20, *, seed: int = 0) -> list[Suggestion]:
    """Documents of a pool whose words are worth marking, in the order of the pool.

    Parameters
    ----------
    model
        The model whose boundary is to be set.
    documents
        The pool: texts, lists of tokens or Documents, with or without labels. It should be like what is labelled later.
    count
        How many to draw. There are fewer where the pool has fewer that are not alike.
    seed
        Another one draws others.
    """
    return choose(model.iter_label(documents), model.labels, count, seed=seed)


def choose(scored: Iterable[Scores], labels: LabelSet, count: int, *, seed: int = 0) -> list[Suggestion]:
    """The same of documents that have been labelled."""
    if count < 1:
        raise SettingError(f"`count` is {count}; it must be 1 or more")
    if not 0 <= seed < 2**63:
        raise SettingError(f"`seed` is {seed}; it must be 0 or more")
    labelled, copies = _different(scored)
    if not labelled:
        raise SettingError("there are no documents to choose from")
    tables = [np.stack([view.margins for view in own.views], 1) for own in labelled]  # (N, K) each
    above = _above(tables)  # (S, D, K)
    shares = (above / np.maximum(above.sum(1, keepdims=True), 1)).mean((0, 2))  # (D,)
    chances = _chances(copies * (ANY / copies.sum() + (1 - ANY) * shares), count)
    strongest = np.array([own.max() for own in tables])
    chosen = _draw(chances, np.argsort(strongest, kind="stable"), count, seed, labelled)
    return [
        Suggestion(
            labels,
            labelled[i],
            float(copies[i] / chances[i]),
            int((tables[i] > 0).any(1).sum()),
            int((above[-1, i] - above[0, i]).sum()),
        )
        for i in sorted(chosen)
    ]


def _different(scored: Iterable[Scores]) -> tuple[list[Scores], NDArray[np.float64]]:
    """The documents without those that have the words of an earlier one, and how often each is there (D,)."""
    first: dict[tuple[str, ...], Scores] = {}
    copies: Counter[tuple[str, ...]] = Counter()
    for own in scored:
        words = tuple(token.casefold() for token in own.document.tokens)
        first.setdefault(words, replace(own, document=own.document.without_token_labels()))
        copies[words] += 1
    return list(first.values()), np.array([copies[words] for words in first], np.float64)


def _above(tables: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """How many words of each document and class are flagged at each of the steps (S, D, K)."""
    words = -np.sort(-np.concatenate(tables), axis=0)  # (W, K), the highest first
    flagged = np.maximum((words > 0).sum(0), 1)  # (K,)
    ranks = np.minimum(np.outer(STEPS, flagged).round().astype(np.int64), len(words) - 1)  # (S, K)
    lines = np.take_along_axis(
        words, ranks, 0
    )  # (S, K); so many words lie above, or fewer, where words are equal
    return np.array([[(own > line).sum(0) for own in tables] for line in lines], np.float64)


def _chances(sizes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The chance of each document to be drawn: like its size, at most 1, and `count` together."""
    chances = np.ones(len(sizes))
    free = np.ones(len(sizes), np.bool_)
    while count > (~free).sum() and free.any():
        chances[free] = sizes[free] / sizes[free].sum() * (count - (~free).sum())
        if not (full := free & (chances >= 1)).any():
            break
        chances[full] = 1.0
        free &= ~full
    return chances


def _draw(
    chances: NDArray[np.float64], order: NDArray[np.intp], count: int, seed: int, scored: Sequence[Scores]
) -> list[int]:
    """Documents at equal steps along the order, each as wide as its chance; of one that is much like another that was
    drawn, the next in order is taken."""
    ends = chances[order].cumsum()
    steps = np.random.default_rng(seed).random() + np.arange(round(float(ends[-1])))
    places = np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)
    chosen: dict[int, frozenset[str]] = {}
    for place in places.tolist():
        for i in order[place : place + TRIES].tolist():
            words = frozenset(token.casefold() for token in scored[i].document.tokens)
            if i not in chosen and not any(_alike(words, other) for other in chosen.values()):
                chosen[i] = words
                break
    return list(chosen)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) > ALIKE * len(one | other)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
