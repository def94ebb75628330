"""What is promised about the answers that are admitted, and whether it stands: in general, and for the open file."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from exaudit.audit import Auditor
from exaudit.audit.drift import MOST, Drift, DriftReference, find_drift
from exaudit.audit.profile import Profile, figures
from exaudit.audit.promise import Made
from exaudit.data.labels import LabelSet
from exaudit.errors import ExauditError
from exaudit.serve.opened import OpenFile

__all__ = ["PromiseView", "Promised", "drift_of", "profile_of"]

BEGINNING = 24  # words of a document that are shown
Standing = Literal["holds", "unchecked", "void"]


class PromiseView(BaseModel):
    """What is promised about the answers that are admitted."""

    status: Literal["holds", "unchecked", "void", "withdrawn"] = Field(
        description="unchecked: not yet since the last edit; void: not for the model as it is; withdrawn: not for the "
        "open file, which has drifted"
    )
    sentences: list[str]
    documents: int = Field(description="that it rests on")
    why: str | None = Field(description="why it does not stand, or what is in doubt")


class Promised:
    """The promise of an auditor. After an edit it is checked again, which takes a while: meanwhile it is not used."""

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor
        self._broken: tuple[Made, str] | None = None  # what it could not be kept for, and why

    @property
    def standing(self) -> Standing | None:
        """None: nothing was promised."""
        promise = self._auditor.promise
        if promise is None:
            return None
        now = self._auditor._made()
        if promise.made == now:
            return "holds"
        broken = self._broken is not None and self._broken[0] == now
        return "void" if broken or promise.made.model != now.model else "unchecked"

    def check(self) -> None:
        """Check it again, unless that was done for the support set and the K-NN as they are."""
        if self.standing != "unchecked":
            return
        now = self._auditor._made()
        self._auditor._promise = None  # who made the edit elsewhere may have checked it there
        try:
            self._auditor.check_promise()
        except ExauditError as error:
            self._broken = now, str(error)

    def view(self, labels: LabelSet, file: OpenFile | None = None) -> PromiseView | None:
        """As it stands for texts like the calibration documents, or for a file."""
        promise, standing = self._auditor.promise, self.standing
        if promise is None or standing is None:
            return None
        sentences = [f"{line[0].upper()}{line[1:]}." for line in promise.sentences(labels)]
        status: Literal["holds", "unchecked", "void", "withdrawn"] = standing
        why = None if file is None else file.doubt
        if standing == "void":
            why = self._why_void()
        elif standing == "unchecked":
            why = "the support set or the K-NN has changed, and the promise is being checked again"
        elif file is not None and file.withdrawal is not None:
            status, why = "withdrawn", file.withdrawal
        return PromiseView(status=status, sentences=sentences, documents=len(promise.calibration), why=why)

    def _why_void(self) -> str:
        if self._broken is not None and self._broken[0] == self._auditor._made():
            return self._broken[1]
        return "the model or the boundary of its words is another since it was made: make it again"


def profile_of(file: OpenFile) -> Profile:
    """The figures of the documents of a file as it was looked up; of at most so many as are compared anyway."""
    places = file.drawn(MOST)
    ids, texts, rows = [], [], []
    for place in places.tolist():
        look = file.look(place)
        document = look.scores.document
        ids.append(document.id)
        texts.append(" ".join(document.tokens[:BEGINNING]))
        rows.append(figures(look.scores, file.model, look.distances[:, 0] if file.k else None))
    names = tuple(rows[0]) if rows else ()
    values = np.array([list(row.values()) for row in rows], np.float64).reshape(len(rows), len(names))
    content = file.content[places] if file.content.shape[1] else None
    return Profile(tuple(ids), names, values, content, tuple(texts))


def drift_of(file: OpenFile, auditor: Auditor, other: OpenFile | None = None) -> Drift:
    """Whether the documents of a file are like those that the model was calibrated on, or like another file's."""
    if other is None:
        return find_drift(auditor.drift_reference(), profile_of(file))
    return find_drift(DriftReference.of(profile_of(other), auditor.model, None), profile_of(file))
