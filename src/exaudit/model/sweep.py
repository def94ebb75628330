"""How much of a document's evidence goes with its strongest words: the boundary of the words, from document labels.

Documents of a class are read again without their strongest words, ever more of them (`exaudit.model.erasure`). At
first their outputs fall; once the words that carry the label are gone, nothing more is lost, and the outputs are those
of documents without the class, or as close to them as they come. Where the fall is nearly over, there the boundary
belongs: just below the words that are needed. It is early where one word decides, and late where many say the same.

The `effect` of a boundary is that fall, as a part of the whole one: from the documents as they are (0) down to
documents of other classes, or to where the outputs stay if that is higher (1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.model.erasure import Eraser

__all__ = ["EFFECTS", "Sweep"]

# The effect that a boundary is to have. Words of little effect are worth flagging where misses count as much as false
# alarms (f1), and not where false alarms count more (f0.5).
EFFECTS = {"f1": 0.93, "f0.5": 0.87}
SHARES = tuple(np.geomspace(0.004, 0.6, 13).tolist())  # of the words of the documents, erased
DOCUMENTS, WORDS = 120, 25_000  # read at every step, at most
LEAST = 0.2  # of the way to documents without the class: else erasing words tells nothing


@dataclass(frozen=True)
class Sweep:
    """The effect of erasing a share of the words of documents of a class, the strongest first."""

    boundaries: NDArray[np.float64]  # (S, K) above which that share of words lies, for each class
    effects: NDArray[np.float64]  # (S,) rising
    way: float  # of the way to documents without the class that erasing went at most

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
    ) -> Sweep | None:
        """None where no document has a class, or none lacks it.

        Parameters
        ----------
        documents, scores, outputs, truth
            Documents, the scores of their words (N, K), their outputs (D, K) and which classes they have (D, K).
        sign
            -1 where scores, outputs and truth are those of the negative class, against the one that is decided.
        """
        of_class = np.asarray(truth) > 0  # (D, K)
        filled = np.array([len(own) > 0 for own in scores], np.bool_)  # (D,)
        classes = [k for k in range(of_class.shape[1]) if (of_class[:, k] & filled).any()]
        if not classes or of_class.all():
            return None
        boundaries = np.full((len(SHARES), of_class.shape[1]), np.inf)  # (S, K)
        for k in classes:
            words = np.concatenate([scores[i][:, k] for i in np.flatnonzero(of_class[:, k]).tolist()])
            boundaries[:, k] = np.quantile(words.astype(np.float64), 1 - np.array(SHARES))
        pairs = _drawn(of_class & filled[:, None], [len(own) for own in scores])
        mine = [documents[i] for i, _ in pairs]
        whole = float(np.mean([outputs[i, k] for i, k in pairs]))
        without = float(outputs[~of_class].mean())
        fallen = []
        for step in boundaries:
            flags = [scores[i][:, k] > step[k] for i, k in pairs]
            left = sign * eraser.outputs(mine, flags)  # (P, K)
            fallen.append(whole - float(np.mean([left[p, k] for p, (_, k) in enumerate(pairs)])))
        way = np.maximum.accumulate(np.maximum(fallen, 0.0)) / max(whole - without, 1e-6)  # (S,)
        most = float(min(way[-1], 1.0))
        return cls(boundaries, np.minimum(way / max(most, 1e-6), 1.0), most)

    @property
    def tells(self) -> bool:
        """Whether erasing words had an effect to speak of."""
        return self.way >= LEAST

    def boundary(self, effect: float) -> tuple[float, ...]:
        """Where erasing the words above has this effect, for each class."""
        after = int(np.argmax(self.effects >= effect))
        if after == 0:
            return tuple(self.boundaries[0].tolist())
        low, high = self.effects[after - 1], self.effects[after]
        part = (effect - low) / (high - low)
        step = self.boundaries[after - 1] * (1 - part) + self.boundaries[after] * part  # (K,)
        return tuple(np.where(np.isfinite(step), step, _middle(step)).tolist())

    def to_json(self) -> dict[str, Any]:
        """What the model folder keeps."""
        return {"shares": list(SHARES), "effects": self.effects.tolist(), "way": self.way}


def _drawn(chosen: NDArray[np.bool_], lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Some of the documents of each class, and the class: all, or as many as are read in good time."""
    pairs = np.argwhere(chosen)
    drawn: list[tuple[int, int]] = []
    words = 0
    for i, k in np.random.default_rng(0).permutation(pairs).tolist():
        if drawn and (len(drawn) == DOCUMENTS or words + lengths[i] > WORDS):
            break
        drawn.append((i, k))
        words += lengths[i]
    return drawn


def _middle(values: NDArray[np.float64]) -> float:
    """For a class that no document has."""
    return float(np.median(values[np.isfinite(values)]))
