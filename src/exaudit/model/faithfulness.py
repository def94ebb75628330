"""Whether the flagged words can be trusted, as far as document labels tell.

The measures of faithfulness of ERASER (DeYoung et al., 2020), as shares of documents. Necessity (their
comprehensiveness): how many decisions change once the flagged words are erased, against as many random words.
Sufficiency: how many decisions stand by the flagged words alone. No token label is asked for, so all of this says
whether the words are those of the model's decision, not whether people would choose the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.training import scored
from exaudit.model.erasure import Eraser, Flags
from exaudit.model.model import Model

__all__ = ["Faithfulness", "faithfulness", "words_record"]

# Documents that are read without some of their words, all classes together: a share of 200 is known to some 3%, and
# long documents would take as long as the training that went before.
DOCUMENTS, WORDS = 200, 40_000
FEWEST = 20  # of a class, however many classes there are


@dataclass(frozen=True)
class Faithfulness:
    """The flagged words of one class in dev documents, or of several classes added up. All are numbers of documents or
    words; the shares are their quotients, and nan where there is nothing to divide by."""

    documents: int = 0  # labelled as of the class
    words: int = 0  # in these
    flagged: int = 0
    other_documents: int = 0
    other_words: int = 0
    other_flagged: int = 0
    decided: int = 0  # rightly, to be of the class; as many as are tried
    bare: int = 0  # of `decided`, without a flagged word
    changed: int = 0  # of `decided`, no longer decided so without the flagged words
    changed_by_chance: int = 0  # nor without as many random words
    standing: int = 0  # of `decided`, still decided so by the flagged words alone
    passed: int = 0  # of other documents, rightly decided not to be of the class; as many as are tried
    alarmed: int = 0  # of `passed`, decided to be of the class once a single random word is erased

    @property
    def necessity(self) -> float:
        return _share(self.changed, self.decided)

    @property
    def sufficiency(self) -> float:
        return _share(self.standing, self.decided)

    @property
    def chance(self) -> float:
        """What necessity is for random words."""
        return _share(self.changed_by_chance, self.decided)

    @property
    def alarm(self) -> float:
        """How often an erased word is taken for a sign of the class itself: then erasing tells nothing."""
        return _share(self.alarmed, self.passed)

    @property
    def rate(self) -> float:
        """The share of flagged words in documents of the class."""
        return _share(self.flagged, self.words)

    @property
    def other_rate(self) -> float:
        return _share(self.other_flagged, self.other_words)

    def __add__(self, other: Faithfulness) -> Faithfulness:
        return Faithfulness(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(**{field.name: int(value.get(field.name, 0)) for field in fields(cls)})


def words_record(
    model: Model, documents: Sequence[Document], data: LabelledFeatures | None = None
) -> dict[str, Any]:
    """What `model.record["words"]` keeps: the same for every class, and the boundaries for which it holds."""
    found = faithfulness(model, documents, data)
    return {"boundaries": list(model.word_boundaries), "classes": [asdict(own) for own in found]}


def faithfulness(
    model: Model, documents: Sequence[Document], data: LabelledFeatures | None = None
) -> list[Faithfulness]:
    """Of the flagged words of each class that is decided, on labelled documents.

    data : the documents as the encoder reads them, if that is known already.
    """
    targets = [model.labels.view_targets(document) for document in documents]
    known = [own for own in targets if own is not None]
    if not documents or len(known) < len(documents):
        raise DataError("words are tried on documents with labels, and here are none, or some without")
    eraser = Eraser(model.head, model.encoder, model.vocabulary)
    nothing = [np.zeros(len(document.tokens), np.bool_) for document in documents]
    read = eraser.scored(documents, nothing, desc="read words") if data is None else scored(model.head, data)
    boundaries = np.array(model.word_boundaries, np.float32)  # (K,)
    outputs, flags = [], []  # (K,) and (N, K) of every document
    for raw, words in read:
        outputs.append(model.output_of(raw, words))
        flags.append(words - np.float32(model.doubts(outputs[-1])) - boundaries > 0)
    draws = np.random.default_rng([model.settings.seed, 11])
    found = []
    for k, truth in enumerate(np.array(known).T == 1):  # (D,)
        own = [some[:, k] for some in flags]  # (N,) each
        decided = np.flatnonzero(truth & (np.array(outputs)[:, k] > 0))
        tried = _some(decided, documents, len(boundaries), draws)
        texts, erased = [documents[i] for i in tried], [own[i] for i in tried]
        lots = [draws.permutation(some) for some in erased]  # as many words, drawn by lot
        passed = np.flatnonzero(~truth & (np.array(outputs)[:, k] <= 0))
        others = [documents[i] for i in _some(passed, documents, 2 * len(boundaries), draws)]
        single = [draws.permutation(np.arange(len(d.tokens)) == 0) for d in others]
        counts = np.array([[1, len(some), some.sum()] for some in own])  # (D, 3)
        numbers: list[int] = [
            *counts[truth].sum(0).tolist(),
            *counts[~truth].sum(0).tolist(),
            len(tried),
            sum(not some.any() for some in erased),
            len(tried) - _standing(model, k, texts, erased),
            len(tried) - _standing(model, k, texts, lots),
            _standing(model, k, texts, [~some for some in erased]),
            len(others),
            _standing(model, k, others, single),
        ]
        found.append(Faithfulness(*numbers))
    return found


def _some(
    decided: NDArray[np.int64], documents: Sequence[Document], classes: int, draws: np.random.Generator
) -> list[int]:
    """Documents of one class, no more than its share of all that are tried, but one at least."""
    order: list[int] = draws.permutation(decided).tolist()
    words = np.cumsum([len(documents[i].tokens) for i in order])
    fit = int(np.searchsorted(words, WORDS // classes, side="right"))
    return order[: max(1, min(fit, max(FEWEST, DOCUMENTS // classes)))]


def _standing(model: Model, k: int, documents: list[Document], erased: list[Flags]) -> int:
    """How many of the documents are decided to be of class k without the erased words."""
    eraser, count = Eraser(model.head, model.encoder, model.vocabulary), 0
    read = eraser.scored(documents, erased, desc="erase words")
    for gone, (output, words) in zip(erased, read, strict=True):
        left = words if gone.all() else words[~gone]  # where words decide, a mask is none of them
        count += int(model.output_of(output, left)[k] > 0)
    return count


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
