"""What speaks for an answer being right, as numbers where larger is safer: of a document, and of each of its words.

Every answer is about one class and says yes or no to it: of a document, the class it was given (of several labels, the
one that is nearest to being otherwise); of a word, the one that it comes nearest to carrying. That makes two kinds of
answers for each class, numbered 2 c + yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.data.labels import LabelSet
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.model.scores import MultiScores, Scores

__all__ = ["Signals", "name_of", "signal_names", "signals_of"]

Floats = npt.NDArray[np.float64]
MODEL = {"documents": ("margin", "words"), "words": ("margin", "document")}
NEAR = ("distance", "agreement")  # where there is a support set
OUTPUT = ("K-NN",)  # where a K-NN was fitted


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Of one document: its answer's signals and kind, the same of its words, and which of them are right, if known."""

    document: Floats  # (S,)
    said: int
    words: Floats  # (N, T)
    words_said: npt.NDArray[np.int64]  # (N,)
    right: bool | None = None
    positive: bool | None = None  # whether it truly is of the class that its answer is about
    words_right: npt.NDArray[np.bool_] | None = None  # (N,)
    words_positive: npt.NDArray[np.bool_] | None = None  # (N,)


def signal_names(*, near: bool, knn: bool) -> dict[str, tuple[str, ...]]:
    """The signals that there are, of documents and of words."""
    more = (*(NEAR if near else ()), *(OUTPUT if knn else ()))
    return {level: (*names, *more) for level, names in MODEL.items()}


def signals_of(
    scores: Scores,
    neighbours: Sequence[Neighbours],
    knns: Sequence[KNN],
    labels: LabelSet,
    *,
    truth: bool = True,
) -> Signals:
    """The signals of a document; `neighbours` (of each class) and `knns` are empty where there are none.

    truth : also whether the answers are right, where the document is labelled.
    """
    outputs = [knn.output(near) - knn.offset for knn, near in zip(knns, neighbours, strict=False)]
    document, said = _document(scores, neighbours, outputs)
    words, words_said = _words(scores, neighbours, outputs)
    if not truth:
        return Signals(document, said, words, words_said)
    classes, targets = labels.document_classes(scores.document), labels.view_targets(scores.document)
    of_words = labels.token_targets(scores.document)
    return Signals(
        document,
        said,
        words,
        words_said,
        None if classes is None else scores.decided == classes,
        None if targets is None else bool(targets[said // 2]),
        None if of_words is None else (_carried(scores) == of_words).all(1),
        None if of_words is None else of_words[np.arange(len(of_words)), words_said // 2] > 0,
    )


def name_of(said: int, labels: LabelSet) -> str:
    """What a kind of answer says."""
    return labels.views[said // 2].name(said % 2)


def _document(
    scores: Scores, neighbours: Sequence[Neighbours], outputs: Sequence[npt.NDArray[Any]]
) -> tuple[Floats, int]:
    if isinstance(scores, MultiScores):
        c = scores.decided[0] if scores.one_of else int(np.abs(scores.outputs).argmin())
    else:
        c = 0
    view = scores.views[c]
    yes = view.decision > 0 or (isinstance(scores, MultiScores) and scores.one_of)
    sign = 1 if yes else -1
    found = [sign * view.output, _mean(sign * np.tanh(view.margins))]
    if neighbours:
        near = neighbours[c]
        found += [-_mean(near.distances[:, 0]), _mean(near.labels == sign)]
    if outputs:
        found.append(_mean(sign * outputs[c]))
    return np.array(found, np.float64), 2 * c + int(yes)


def _words(
    scores: Scores, neighbours: Sequence[Neighbours], outputs: Sequence[npt.NDArray[Any]]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    margins = np.stack([view.margins for view in scores.views], 1).astype(np.float64)  # (N, C)
    several = isinstance(scores, MultiScores) and not scores.one_of
    about = np.abs(margins).argmin(1) if several else margins.argmax(1)  # (N,)
    rows = np.arange(len(margins))
    own = margins[rows, about]
    sign = np.where(own > 0, 1, -1)  # (N,)
    found = [sign * own, sign * np.array([view.output for view in scores.views])[about]]
    if neighbours:
        distances = np.stack([near.distances[:, 0] for near in neighbours], 1)[rows, about]
        agree = np.stack([((near.scores > 0) * 2 - 1 == sign[:, None]).mean(1) for near in neighbours], 1)
        found += [-distances, agree[rows, about]]
    if outputs:
        found.append(sign * np.stack(outputs, 1)[rows, about])
    return np.stack(found, 1).astype(np.float64), 2 * about + (own > 0)


def _carried(scores: Scores) -> npt.NDArray[np.int8]:
    """Which classes each word is told to carry (N, C)."""
    table = np.zeros((len(scores.document.tokens), len(scores.views)), np.int8)
    if isinstance(scores, MultiScores):
        for row, classes in zip(table, scores.word_classes, strict=True):
            row[list(classes)] = 1
    else:
        table[:, 0] = scores.decisions
    return table


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if values.size else 0.0
