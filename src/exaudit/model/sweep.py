"""How much of a document's evidence goes with its strongest words: the boundary of the words, from document labels.

Documents of a class are read again without their strongest words, ever more of them, and without as many random ones
(`exaudit.model.erasure`). At first their outputs fall with the strongest words alone. Once the words that carry the
label are gone, what is erased next does no more than any word does: the gain over random words has reached its peak,
and the boundary belongs just before it. That is early where one word decides, and late where many say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.model.erasure import Eraser

__all__ = ["ALL", "EFFECTS", "Sweep"]

# The part of the peak that a boundary is to reach. Words that add little to it are worth flagging where misses count as
# much as false alarms (f1), and less so where false alarms count more (f0.5). In a long document, the last of the peak
# takes more words than it is worth.
EFFECTS = {"f1": 0.95, "f0.5": 0.85}
ALL = 0.98  # of the peak: the rest is chance
SHARES = tuple(np.geomspace(0.0005, 0.6, 18).tolist())  # of the words of the documents, erased
DOCUMENTS, WORDS = 120, 12_000  # read twice at every step, at most
PAST = 0.8  # of the peak: where the gain falls below, the peak is behind
# Of the way to documents without the class, by which words beat random ones:
LEAST = 0.1  # less, and they tell nothing
MOST = 1.5  # more, and they speak for something else
FEW = 20  # words of a document that have all the effect: more, and others say the same


@dataclass(frozen=True)
class Sweep:
    """The effect of erasing a share of the words of documents of a class, the strongest first, beyond random ones."""

    boundaries: NDArray[np.float64]  # (S, K) above which that share of words lies, for each class
    effects: NDArray[np.float64]  # (S,) as parts of the peak, rising up to it
    erased: NDArray[np.float64]  # (S,) words of a document, on average
    peak: float  # of the way to documents without the class, by which outputs fall further than for random words

    @classmethod
    def over(
        cls,
        eraser: Eraser,
        documents: Sequence[Document],
        scores: Sequence[NDArray[np.floating]],
        outputs: NDArray[np.floating],
        truth: NDArray[np.generic],
        *,
        sign: int = 1,
        times: int = 1,
    ) -> Sweep | None:
        """None where no document has a class, or none lacks it, or where outputs do not tell the ones from the others.

        Parameters
        ----------
        documents, scores, outputs, truth
            Documents, the scores of their words (N, K), their outputs (D, K) and which classes they have (D, K).
        sign
            -1 where scores, outputs and truth are those of the negative class, against the one that is decided.
        times
            Read so many times the usual number of documents, where much rests on what they say.
        """
        of_class = np.asarray(truth) > 0  # (D, K)
        filled = np.array([len(own) > 0 for own in scores], np.bool_)  # (D,)
        classes = [k for k in range(of_class.shape[1]) if (of_class[:, k] & filled).any()]
        if not classes or of_class.all():
            return None
        boundaries = np.zeros((len(SHARES), of_class.shape[1]))  # (S, K)
        for k in classes:
            words = np.concatenate([scores[i][:, k] for i in np.flatnonzero(of_class[:, k]).tolist()])
            boundaries[:, k] = np.quantile(words.astype(np.float64), 1 - np.array(SHARES))
        absent = [k for k in range(of_class.shape[1]) if k not in classes]
        boundaries[:, absent] = np.median(boundaries[:, classes], 1, keepdims=True)
        pairs = _drawn(of_class & filled[:, None], [len(own) for own in scores], times)
        mine = [documents[i] for i, _ in pairs]
        with_class, without = np.array([outputs[i, k] for i, k in pairs]), outputs[~of_class]
        way = float(with_class.mean() - without.mean())
        if way <= 2 * np.sqrt(sum(own.var() / len(own) for own in (with_class, without))):  # standard errors
            return None
        draws = np.random.default_rng(0)
        orders = [draws.permutation(len(scores[i])) for i, _ in pairs]  # in which random words go
        strongest = [
            [scores[i][:, k] > step[k] for i, k in pairs] for step in boundaries
        ]  # S times (N,) each
        random = [[order < own.sum() for order, own in zip(orders, step, strict=True)] for step in strongest]
        read = _outputs(eraser, mine, [*strongest, *random])  # 2 S times (K,) each
        left, control = np.reshape(
            [np.mean([own[k] for own, (_, k) in zip(step, pairs, strict=True)]) for step in read], (2, -1)
        )  # (S,) each
        gained = sign * (control - left)  # (S,)
        top = np.maximum.accumulate(gained)
        behind = np.flatnonzero((gained < PAST * top) & (top >= LEAST * way))  # less is no peak, but chance
        if len(behind):
            gained = gained[: behind[0] + 1]
        gained = np.maximum.accumulate(np.maximum(gained, 0.0))  # (S,)
        peak = float(gained[-1])
        erased = np.array([np.mean([own.sum() for own in step]) for step in strongest])  # (S,)
        some = slice(len(gained))
        return cls(boundaries[some], gained / max(peak, 1e-6), erased[some], peak / way)

    @property
    def tells(self) -> bool:
        """Whether erasing words had an effect to speak of."""
        return self.peak >= LEAST

    @property
    def left(self) -> float:
        """Of the way to documents without the class, the part that they do not go without these words."""
        return max(0.0, 1.0 - self.peak)

    @property
    def few(self) -> bool:
        """Whether few words of a document have all the effect that words have, be it decided without them or not. Where
        it takes dozens, others say the same, and erasing does not tell which."""
        return self.tells and self.peak <= MOST and self.needed <= FEW

    @property
    def needed(self) -> float:
        """Words of a document, on average, that have all the effect."""
        return float(np.interp(ALL, self.effects, self.erased))

    def boundary(self, effect: float) -> tuple[float, ...]:
        """Where erasing the words above first has this effect, for each class."""
        after = int(np.argmax(self.effects >= effect))
        if after == 0:
            return tuple(self.boundaries[0].tolist())
        low, high = self.effects[after - 1], self.effects[after]
        part = (effect - low) / (high - low)
        step = self.boundaries[after - 1] * (1 - part) + self.boundaries[after] * part  # (K,)
        return tuple(step.tolist())

    def to_json(self) -> dict[str, Any]:
        """What the model folder keeps."""
        return {
            "shares": list(SHARES[: len(self.effects)]),
            "effects": self.effects.tolist(),
            "peak": self.peak,
        }


def _outputs(
    eraser: Eraser, documents: Sequence[Document], steps: Sequence[Sequence[NDArray[np.bool_]]]
) -> list[list[NDArray[np.floating]]]:
    """What every document comes to (K,) without its flagged words, at every step. Short ones lose the same words in
    several steps, or none: what is to be read once is not read again."""
    keys = [[(i, flags.tobytes()) for i, flags in enumerate(step)] for step in steps]
    new = {
        key: flags
        for step, own in zip(steps, keys, strict=True)
        for key, flags in zip(own, step, strict=True)
    }
    found = eraser.outputs([documents[i] for i, _ in new], list(new.values()), desc="boundary")
    known = dict(zip(new, found, strict=True))
    return [[known[key] for key in own] for own in keys]


def _drawn(chosen: NDArray[np.bool_], lengths: Sequence[int], times: int) -> list[tuple[int, int]]:
    """Some of the documents of each class, and the class: all, or as many as are read in good time."""
    pairs = np.argwhere(chosen)
    drawn: list[tuple[int, int]] = []
    words = 0
    for i, k in np.random.default_rng(0).permutation(pairs).tolist():
        if drawn and (len(drawn) == times * DOCUMENTS or words + lengths[i] > times * WORDS):
            break
        drawn.append((i, k))
        words += lengths[i]
    return drawn
