"""What differs between documents and a reference, in words and numbers: a measure that shifted, a document far out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exaudit.audit.profile import Floats, Profile
from exaudit.decide.two_sample import largest_gap

__all__ = ["CONTENT", "WORDING", "FarDocument", "Shift", "far_documents"]

CONTENT = "content"


@dataclass(frozen=True)
class _Wording:
    """How a measure is spoken of: what it means that there is more of it, or less, and what is counted."""

    more: str
    less: str
    median: str  # with the number in the place of {}
    axis: str
    percent: bool = False

    def number(self, value: float) -> str:
        return f"{100 * value:.0f}%" if self.percent else f"{value:,.4g}"


WORDING = {
    "length": _Wording("documents are longer", "documents are shorter", "{} words", "words"),
    "unknown": _Wording(
        "more words are unknown to the model",
        "fewer words are unknown to the model",
        "{} of the words",
        "share of the words",
        percent=True,
    ),
    "pieces": _Wording(
        "words are rarer", "words are more common", "{} word pieces a word", "word pieces a word"
    ),
    "distance": _Wording(
        "words are farther from the support set",
        "words are nearer to the support set",
        "distance {}",
        "distance of the median word to its nearest exemplar",
    ),
    "far": _Wording(
        "the farthest words are farther from every exemplar",
        "the farthest words are nearer to an exemplar",
        "distance {}",
        "distance that a tenth of the words exceeds",
    ),
    "score": _Wording("document scores are higher", "document scores are lower", "score {}", "score"),
    "margin": _Wording(
        "documents are decided more clearly",
        "documents are decided less clearly",
        "{} from the boundary",
        "distance of the score from the boundary",
    ),
    "flagged": _Wording(
        "more words are flagged",
        "fewer words are flagged",
        "{} of the words",
        "share of the words",
        percent=True,
    ),
}


@dataclass(frozen=True)
class Shift:
    """One measure in a file and in the reference. `p` is corrected for the other measures that were looked at."""

    measure: str
    p: float
    sentence: str
    new: float  # median; of the content, the energy distance between the two
    reference: float  # median; of the content, 0

    @classmethod
    def of(cls, measure: str, p: float, old: Floats, new: Floats) -> Shift:
        """In words and numbers: the medians, and the value at which the two differ most."""
        words = WORDING[measure]
        value, share_old, share_new = largest_gap(old, new)
        medians = float(np.median(new)), float(np.median(old))
        sentence = (
            f"{words.more if share_new > share_old else words.less}: median "
            f"{words.median.format(words.number(medians[0]))} against {words.number(medians[1])}; "
            f"{100 * share_new:.0f}% of the documents have more than {words.number(value)}, against "
            f"{100 * share_old:.0f}%"
        )
        return cls(measure, p, sentence, *medians)

    def to_json(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "p": self.p,
            "new": self.new,
            "reference": self.reference,
            "told": self.sentence,
        }


@dataclass(frozen=True)
class FarDocument:
    """A document that is unlike the reference, and the measure by which it is most so."""

    id: str
    text: str  # how it begins
    measure: str
    value: float
    usual: tuple[float, float]  # nine in ten documents of the reference lie between

    @property
    def sentence(self) -> str:
        words = WORDING[self.measure]
        low, high = (words.number(end) for end in self.usual)
        return f"{self.measure} {words.number(self.value)}, usually {low} to {high}"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "text": self.text,
            "measure": self.measure,
            "value": self.value,
            "usual": list(self.usual),
        }


def far_documents(old: Profile, new: Profile, count: int) -> tuple[FarDocument, ...]:
    """The documents that are farthest from the middle of the reference, over all columns by their usual spread."""
    low, middle, high = np.quantile(old.values, (0.05, 0.5, 0.95), axis=0)  # (K,) each
    spread = np.where(high > low, high - low, 1.0)
    away = np.abs(new.values - middle) / spread  # (D, K)
    order: Sequence[int] = np.argsort(-(away**2).sum(1), kind="stable")[:count].tolist()
    return tuple(
        FarDocument(
            new.ids[n],
            new.texts[n] if new.texts else "",
            new.names[k],
            float(new.values[n, k]),
            (float(low[k]), float(high[k])),
        )
        for n in order
        for k in [int(away[n].argmax())]
    )
