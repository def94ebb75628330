"""A promise about the answers that are let through, fitted on held-out documents and kept in the model folder.

promise.json holds the thresholds, the curve they were chosen on, and the calibration documents, so that the promise is
checked again whenever the support set or the K-NN changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exaudit.audit.fitted import document_from, load_fitted, plain_document, save_fitted
from exaudit.audit.part import ALL, Bools, Part, Verdict, percent
from exaudit.audit.signals import Signals, name_of, signal_names
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.decide.risk import Goal, Risk
from exaudit.errors import DataError, ModelError, SettingError, SupportError
from exaudit.model.digests import digest

__all__ = ["Calibrated", "Made", "Promise"]

Calibrated = tuple[Document, Signals]
FEWEST = 30  # documents to shape the trust and to bound the risk
FIT_ON = 3  # one document in so many shapes the trust; the others bound the risk
RISKS = (
    0.01,
    0.02,
    0.03,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.4,
)  # that may be met instead of the asked one
SCHEMA = 1


@dataclass(frozen=True)
class Made:
    """What a promise was made for: another model, boundary, K-NN or support set, and it has to be made again."""

    model: str
    knns: tuple[str, ...]
    support_version: str | None


@dataclass(frozen=True)
class Promise:
    """What is promised about documents and about words, and the documents that it rests on."""

    goal: Goal
    made: Made
    k: int  # exemplars of each word that are looked at; 0: no support set
    parts: dict[str, Part]  # documents, words
    calibration: tuple[Document, ...]
    limits: tuple[float, float] | None = (
        None  # what the mean limits admitted of the same documents, and got wrong
    )
    withdrawal: str | None = None  # why it no longer holds, where it does not

    @classmethod
    def fit(
        cls,
        calibrated: Sequence[Calibrated],
        labels: LabelSet,
        goal: Goal,
        *,
        made: Made,
        k: int,
        by_limits: Sequence[bool | None] = (),
    ) -> Promise:
        """Make the promise where it can be made: about documents and, where their words are labelled, about words.

        by_limits : what the mean limits would admit of the documents, to be shown beside it.
        """
        documents, signals = [each for each, _ in calibrated], [each for _, each in calibrated]
        _check(documents, signals, labels, goal)
        first = np.array([int(digest(document), 16) % FIT_ON == 0 for document in documents])
        names = signal_names(near=k > 0, knn=bool(made.knns))
        levels = ["documents"]
        if all(each.words_right is not None for each in signals):
            levels.append("words")
        kinds = 2 * len(labels.views)
        parts = {level: Part.fit(level, signals, first, goal, names[level], kinds) for level in levels}
        if not any(part.met for part in parts.values()):
            raise SupportError(_unmet(parts, signals, first, goal))
        return cls(goal, made, k, parts, tuple(documents), _beside(by_limits, signals, first))

    def withdrawn(self, reason: str) -> Promise:
        """The same promise, which no longer holds: nothing is admitted any more, and every answer says why."""
        return replace(self, withdrawal=reason)

    def verdicts(self, signals: Signals, labels: LabelSet) -> tuple[Verdict, Verdict | None]:
        """What is let through of one document: its answer and, where something is promised about words, theirs."""
        document, words = self.parts["documents"], self.parts.get("words")
        found = [document.verdict(self.goal, signals.document[None], np.array([signals.said]), labels)]
        if words is not None:
            found.append(words.verdict(self.goal, signals.words, signals.words_said, labels))
        if self.withdrawal is not None:
            found = [
                replace(each, admitted=np.zeros_like(each.admitted), withdrawal=self.withdrawal)
                for each in found
            ]
        return found[0], found[1] if len(found) > 1 else None

    def told(self) -> dict[str, Any]:
        """What every line of the output says about it."""
        return asdict(self.goal) | {"withdrawn": self.withdrawal}

    def sentences(self, labels: LabelSet) -> list[str]:
        """The promise in words."""
        if self.withdrawal is not None:
            return [f"the promise is withdrawn: {self.withdrawal}"]
        return [line for part in self.parts.values() for line in self._told(part, labels)]

    def change_since(self, old: Promise) -> str:
        """What became of a promise that was checked again."""
        told = []
        for level, part in self.parts.items():
            before, after = (old.parts[level].coverage if level in old.parts else 0.0), part.coverage
            if not part.met:
                told.append(f"{level}: can no longer be promised, and none is admitted")
            else:
                told.append(f"{level}: admits {percent(after)} instead of {percent(before)} at the same risk")
        kept = len(self.calibration)
        return f"the promise was checked again on the {kept} calibration documents; " + "; ".join(told)

    def _told(self, part: Part, labels: LabelSet) -> list[str]:
        goal, lines = self.goal, []
        for kind, risk in part.risks.items():
            which = {"accuracy": "", "precision": f" that are {_positive(labels)}", "recall": ""}[goal.aim]
            which = which if kind == ALL else f" that are {name_of(kind, labels)}"
            what = f"of the admitted {part.level}{which}, at most {percent(goal.risk)} are wrong"
            if goal.aim == "recall":
                true = f"of the {part.level} that are truly {_positive(labels)}"
                what = f"{true}, at most {percent(goal.risk)} are missed"
            if risk.level is None:
                lines.append(f"no promise for {part.level}{which}: {_needed(risk, goal)}")
                continue
            lines.append(
                f"{what}, with {percent(goal.confidence)} confidence, on documents like the {len(self.calibration)} "
                f"that it was fitted on; {percent(risk.level.coverage)} are admitted, {percent(risk.level.error)} of "
                f"{'the true ones were missed' if goal.aim == 'recall' else 'them were wrong'} there"
            )
        return lines

    def save(self, folder: Path) -> None:
        value = {
            "schema": SCHEMA,
            "goal": asdict(self.goal),
            "made": asdict(self.made) | {"knns": list(self.made.knns)},
            "k": self.k,
            "parts": [part.to_json() for part in self.parts.values()],
            "limits": None if self.limits is None else list(self.limits),
            "documents": [
                plain_document(document) | {"token_labels": _token_labels(document)}
                for document in self.calibration
            ],
        }
        save_fitted(folder / "promise.json", value)

    @classmethod
    def load(cls, folder: Path, classes: int) -> Promise | None:
        """The promise of a model folder; None where none was made."""
        return load_fitted(folder / "promise.json", cls._from_json, classes, "exaudit admission fit")

    @classmethod
    def _from_json(cls, value: dict[str, Any], classes: int) -> Promise:
        parts = [Part.from_json(each) for each in value["parts"]]
        made = value["made"]
        version = made["support_version"]
        for part in parts:
            if len(part.trust.offsets) != 2 * classes:
                raise ModelError("it is not for a model of so many classes")
        return cls(
            Goal(**value["goal"]),
            Made(
                str(made["model"]), tuple(map(str, made["knns"])), None if version is None else str(version)
            ),
            int(value["k"]),
            {part.level: part for part in parts},
            tuple(document_from(each) for each in value["documents"]),
            None if value["limits"] is None else (float(value["limits"][0]), float(value["limits"][1])),
        )


def _beside(
    by_limits: Sequence[bool | None], signals: Sequence[Signals], first: Bools
) -> tuple[float, float] | None:
    """The share of documents that the limits admitted, of those that the risk was bounded on, and that of errors."""
    if not by_limits or None in by_limits:
        return None
    admitted = np.array(by_limits, bool)[~first]
    wrong = np.array([not each.right for each in signals])[~first]
    return float(admitted.mean()), float(wrong[admitted].mean()) if admitted.any() else 0.0


def _check(documents: Sequence[Document], signals: Sequence[Signals], labels: LabelSet, goal: Goal) -> None:
    """Refuse documents that nothing can be promised on, however right the model is."""
    if goal.aim != "accuracy" and labels.kind != "binary":
        raise SettingError(
            f"`promise` {goal.aim} is about one positive class, and the model has {len(labels)}; promise accuracy"
        )
    for document, own in zip(documents, signals, strict=True):
        if own.right is None:
            raise DataError(
                f"document {document.id!r} has no label; every calibration document needs one",
                line=document.line or None,
            )
    found = {labels.document_classes(document) for document in documents}
    if len(found) == 1:
        name = " + ".join(labels.names[c] for c in next(iter(found)) or ()) or "without a class"
        raise DataError(
            f"all {len(documents)} calibration documents are {name}; give documents of all classes, as new ones will be"
        )
    bounding = math.log(1 - goal.confidence) / math.log(1 - goal.risk)  # all of them right
    least = max(FEWEST, math.ceil(math.ceil(bounding) * FIT_ON / (FIT_ON - 1)))
    if len(documents) < least:
        raise DataError(
            f"{len(documents)} documents are too few to promise a risk of {percent(goal.risk)} with "
            f"{percent(goal.confidence)} confidence: even were the model right on all of them, it would take {least}"
        )


def _unmet(parts: dict[str, Part], signals: Sequence[Signals], first: Bools, goal: Goal) -> str:
    """That nothing can be promised, what can be, and how many more documents it would take."""
    told = []
    for level, part in parts.items():
        risk = next(iter(part.risks.values()))
        told.append(f"{level}: {_needed(risk, goal)}")
        for other in RISKS:
            if other > goal.risk:
                tried = Part.fit(
                    level,
                    signals,
                    first,
                    replace(goal, risk=other),
                    part.trust.signals,
                    len(part.trust.offsets),
                )
                if tried.met:
                    told[-1] += (
                        f"; a risk of {percent(other)} can be met, with {percent(tried.coverage)} admitted"
                    )
                    break
    return (
        f"a risk of {percent(goal.risk)} with {percent(goal.confidence)} confidence cannot be promised with these "
        f"{len(signals)} documents, and nothing was kept; " + "; ".join(told)
    )


def _needed(risk: Risk, goal: Goal) -> str:
    if risk.more is None:
        best = min((level.error for level in risk.levels if level.coverage >= 0.05), default=1.0)
        return f"more documents would not help, as {percent(best)} are wrong even among the most trusted"
    total = math.ceil(risk.more * FIT_ON / (FIT_ON - 1))
    return f"it would take about {total} calibration documents, if they were like these"


def _token_labels(document: Document) -> list[Any] | None:
    if document.token_labels is None:
        return None
    return [list(label) if isinstance(label, tuple) else label for label in document.token_labels]


def _positive(labels: LabelSet) -> str:
    return labels.views[0].positive
