"""What a model says of one document: the decision, and a score for every word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet

__all__ = ["MultiScores", "Scores", "TokenScores", "running_mean"]


@dataclass(frozen=True)
class TokenScores:
    """A document with its score and the contribution scores of its N words, for one class against the strongest other.

    `output` decides the document: the logit difference less the documents' boundary, or, where the model was
    fine-tuned on tokens, the largest token score less theirs. Positive means the positive class; zero does not. A
    word is positive where s+- exceeds `offset`, and speaks for the negative class where -s+- exceeds
    `negative_offset`; None: words that do are not told.

    `doubt` is how much less the document looks like the positive class than such documents usually do, in -log P, where
    that is taken into account (else 0): a word is as good a sign as its score, times the chance that there is something
    to be a sign of. `negative_doubt` is the same for the negative class.

    `smoothing` is the number of words, itself in the middle, over which a word's score is averaged before it is
    decided, more than 1 where a person marks phrases. What speaks for the negative class is not smoothed.
    """

    document: Document
    output: float
    negative: NDArray[np.float32]  # (N,) s-
    positive: NDArray[np.float32]  # (N,) s+
    offset: float = 0.0
    exemplars: NDArray[np.float32] | None = None  # (N, M) r_n
    negative_offset: float | None = None
    doubt: float = 0.0
    negative_doubt: float = 0.0
    smoothing: int = 1

    @property
    def views(self) -> tuple[TokenScores, ...]:
        """One for each class that is decided: of two classes, the positive one."""
        return (self,)

    @property
    def scores(self) -> NDArray[np.float32]:
        """s+- = s+ - s-."""
        return self.positive - self.negative

    @property
    def weighed(self) -> NDArray[np.float32]:
        """The scores, smoothed where marked words ask for it, less the doubt about the document."""
        return running_mean(self.scores, self.smoothing) - np.float32(self.doubt)

    @property
    def margins(self) -> NDArray[np.float32]:
        """How far each weighed score lies above the decision boundary: positive where the word is decided positive."""
        return self.weighed - np.float32(self.offset)

    @property
    def decisions(self) -> NDArray[np.bool_]:
        return self.margins > 0

    @property
    def opposite(self) -> TokenScores | None:
        """The same document seen from the negative class: its decisions are the words that speak for that one."""
        if self.negative_offset is None:
            return None
        return TokenScores(
            self.document,
            -self.output,
            self.positive,
            self.negative,
            self.negative_offset,
            self.exemplars,
            self.offset,
            self.negative_doubt,
            self.doubt,
        )

    @property
    def evidence(self) -> NDArray[np.int8]:
        """What each word speaks for (N,): 1 where it is decided positive, else -1 where it passes the boundary of the
        negative class, else 0."""
        opposite = self.opposite
        negative = np.zeros(len(self.negative), np.bool_) if opposite is None else opposite.decisions
        return np.where(self.decisions, 1, -negative.astype(np.int8)).astype(np.int8)

    @property
    def decision(self) -> int:
        """1 if the document is of the positive class, else 0."""
        return int(self.output > 0)

    @property
    def decided(self) -> tuple[int, ...]:
        """The classes of the document, counted as in `LabelSet.names`."""
        return (self.decision,)

    def to_json(self, labels: LabelSet) -> dict[str, Any]:
        """The line that `exaudit label` writes."""
        negative, positive = labels.names
        told = {1: positive, 0: None, -1: negative}
        rows = zip(
            self.document.tokens,
            self.document.spans(),
            self.margins.tolist(),
            self.evidence.tolist(),
            strict=True,
        )
        return {
            "id": self.document.id,
            "label": labels.values[self.decision],
            "score": float(self.output),
            "scores": {negative: -float(self.output), positive: float(self.output)},
            "tokens": [
                {
                    "text": text,
                    "start": start,
                    "end": end,
                    "score": score,
                    "scores": {negative: -score, positive: score},
                    "label": int(score > 0),
                    "evidence": told[side],
                }
                for text, (start, end), score, side in rows
            ],
        }


@dataclass(frozen=True)
class MultiScores:
    """The same for more than two classes, or documents with several labels: every class seen by itself.

    `one_of` tells the two apart: of classes that exclude each other, the one with the largest output is the document's.
    """

    document: Document
    views: tuple[TokenScores, ...]  # one for each class
    one_of: bool
    exemplars: NDArray[np.float32] | None = None  # (N, M) r_n

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The document's score for every class (C,)."""
        return np.array([view.output for view in self.views])

    @property
    def margins(self) -> NDArray[np.float32]:
        """How far the score of each word lies above the boundary of each class (N, C)."""
        return np.stack([view.margins for view in self.views], 1)

    @property
    def strengths(self) -> NDArray[Any]:
        """What tells which of its classes a word carries most (N, C)."""
        return self.margins

    @property
    def decisions(self) -> NDArray[np.bool_]:
        """Which classes each word is decided to carry (N, C)."""
        return np.stack([view.decisions for view in self.views], 1)

    @property
    def decided(self) -> tuple[int, ...]:
        """The classes of the document."""
        if self.one_of:
            return (int(self.outputs.argmax()),)
        return tuple(c for c, view in enumerate(self.views) if view.decision)

    @property
    def word_classes(self) -> list[tuple[int, ...]]:
        """The classes that each word carries, the strongest first; of classes that exclude each other, at most one."""
        decisions = self.decisions
        order = np.argsort(-self.strengths, axis=1, kind="stable")  # (N, C)
        found = [tuple(c for c in row if own[c]) for row, own in zip(order.tolist(), decisions, strict=True)]
        return [classes[:1] for classes in found] if self.one_of else found

    def to_json(self, labels: LabelSet) -> dict[str, Any]:
        """The line that `exaudit label` writes."""
        names, values = labels.names, labels.values

        def told(classes: tuple[int, ...]) -> Any:
            if self.one_of:
                return values[classes[0]] if classes else None
            return [values[c] for c in sorted(classes)]

        outputs, margins = self.outputs, self.margins
        rows = zip(self.document.tokens, self.document.spans(), margins, self.word_classes, strict=True)
        return {
            "id": self.document.id,
            "label": told(self.decided),
            "score": float(outputs.max()),
            "scores": dict(zip(names, outputs.tolist(), strict=True)),
            "tokens": [
                {
                    "text": text,
                    "start": start,
                    "end": end,
                    "score": float(own.max()),
                    "scores": dict(zip(names, own.tolist(), strict=True)),
                    "label": told(classes),
                }
                for text, (start, end), own, classes in rows
            ],
        }


Scores = TokenScores | MultiScores


def running_mean(scores: NDArray[Any], width: int) -> NDArray[Any]:
    """The mean of each score and those next to it (N,), `width` of them, or as many as there are at the ends."""
    if width == 1 or not len(scores):
        return scores
    sums = np.concatenate([[0.0], np.cumsum(scores, dtype=np.float64)])  # (N + 1,)
    places = np.arange(len(scores))
    first, last = np.maximum(places - width // 2, 0), np.minimum(places + width // 2 + 1, len(scores))
    return np.asarray((sums[last] - sums[first]) / (last - first), scores.dtype)
