"""The promise about documents, or about words: how far each answer is trusted, and from where on it is let through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.audit.signals import Signals, name_of
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import apart
from exaudit.decide.risk import Answers, Goal, Level, Risk, capped, control
from exaudit.decide.trust import Trust

__all__ = ["ALL", "Bools", "Part", "Verdict", "percent"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
ALL = -1  # the kind of answers that a threshold is for, where it is for all of them


@dataclass(frozen=True)
class Part:
    """The promise about documents, or about words."""

    level: str  # documents or words
    trust: Trust
    risks: dict[int, Risk]  # by the kind of answer (2 c + yes), or under -1 for all kinds
    kinds: dict[int, tuple[int, int, int]]  # answers, answers let through, and wrong ones among these

    @classmethod
    def fit(
        cls,
        level: str,
        signals: Sequence[Signals],
        first: Bools,
        goal: Goal,
        names: tuple[str, ...],
        kinds: int,
    ) -> Part:
        """The trust from the documents marked in `first`, the threshold from the others."""
        values, said, document, right, positive = _columns(level, signals)
        mine = first[document]  # (N,)
        trust = Trust.fit(names, values[mine], said[mine], right[mine], kinds)
        answers = _answers(goal, document, trust(values, said), said, right, positive, len(signals))
        groups = {ALL: np.ones(len(said), bool)}
        if goal.by_class:
            groups = {int(kind): said == kind for kind in np.unique(said[mine])}
        elif goal.aim == "precision":
            groups = {ALL: said % 2 == 1}
        risks = {
            kind: control(*answers[chosen].split(first), goal, tests=len(groups))
            for kind, chosen in groups.items()
        }
        part = cls(level, trust, risks, {})
        through = part.through(goal, trust(values, said), said, document)
        kept = ~mine
        table = {}
        for kind in np.unique(said).tolist():
            own = kept & (said == kind)
            table[int(kind)] = int(own.sum()), int((own & through).sum()), int((own & through & ~right).sum())
        return replace(part, kinds=table)

    @property
    def met(self) -> bool:
        return any(risk.threshold is not None for risk in self.risks.values())

    @property
    def coverage(self) -> float:
        """The share of answers that were let through where the risk was bounded."""
        answers, through, _ = map(sum, zip(*self.kinds.values(), strict=True))
        return through / max(1, answers)

    def risk_of(self, said: int) -> Risk | None:
        return self.risks.get(ALL, self.risks.get(said))

    def through(self, goal: Goal, trust: Floats, said: Ints, document: Ints) -> Bools:
        """Which answers are let through."""
        found = np.zeros(len(said), bool)
        for kind, risk in self.risks.items():
            if risk.threshold is None:
                continue
            chosen = np.ones(len(said), bool) if kind == ALL else said == kind
            if goal.aim == "precision":
                chosen = chosen & (said % 2 == 1)
            own = trust if goal.aim != "recall" else np.where(said % 2 == 1, np.inf, trust)
            found[chosen] = capped(own[chosen], document[chosen], risk.most) >= risk.threshold
        return found

    def verdict(self, goal: Goal, values: Floats, said: Ints, labels: LabelSet) -> Verdict:
        """Admit or refuse the answers on one document."""
        trust = self.trust(values, said)
        through = self.through(goal, trust, said, np.zeros(len(said), np.int64))
        return Verdict(through, self, goal, values, said, trust, labels)

    def to_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "trust": self.trust.to_json(),
            "risks": {str(kind): asdict(risk) for kind, risk in self.risks.items()},
            "kinds": {str(kind): list(counts) for kind, counts in self.kinds.items()},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Part:
        return cls(
            str(value["level"]),
            Trust.from_json(value["trust"]),
            {int(kind): _risk(each) for kind, each in value["risks"].items()},
            {int(kind): (int(n), int(m), int(w)) for kind, (n, m, w) in value["kinds"].items()},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Which answers on one document are let through; `reason(i)` says why answer i is not."""

    admitted: Bools  # (N,)
    part: Part
    goal: Goal
    values: Floats  # (N, S)
    said: Ints  # (N,)
    trust: Floats  # (N,)
    labels: LabelSet
    withdrawal: str | None = None

    def reason(self, i: int, *, names: tuple[str, str] | None = None) -> str | None:
        """Why answer `i` is refused, in words and numbers; None where it is admitted."""
        if self.admitted[i]:
            return None
        if self.withdrawal is not None:
            return f"the promise is withdrawn: {self.withdrawal}"
        said = int(self.said[i])
        name, what = name_of(said, self.labels), self.part.level
        if self.goal.aim == "precision" and said % 2 == 0:
            return f"the promise is about {what} that are {name_of(said + 1, self.labels)}; this is {name}"
        risk = self.part.risk_of(said)
        if risk is None:
            return f"no answer said {name} where the promise was fitted"
        if risk.threshold is None:
            return f"a risk of {percent(self.goal.risk)} could not be promised for {what} that are {name}"
        if self.trust[i] >= risk.threshold:
            return (
                f"{risk.most} {what} of the document with more trust are admitted already, which is the most"
            )
        found, needed = apart(100 * _chance(self.trust[i]), 100 * _chance(risk.threshold), 1)
        return f"trust {found}%, needs {needed}%; {self._weakest(i, name)}"

    def _weakest(self, i: int, name: str) -> str:
        """Of the signals that count, the one that is weakest beside those of other answers."""
        trust = self.part.trust
        shares = trust.quantiles(self.values[i : i + 1], self.said[i : i + 1])[0]  # (S,)
        count = len(trust.signals)
        weights = np.array(trust.weights[int(self.said[i])])  # (2 S,)
        counts = weights[:count] + weights[count:] > 0
        s = int(np.where(counts, shares, np.inf).argmin()) if counts.any() else 0
        signal, value = trust.signals[s], float(self.values[i, s])
        told = (
            f"distance to the nearest exemplar {-value:.1f}"
            if signal == "distance"
            else f"{signal} {value:.2f}"
        )
        side = "a larger one than" if signal == "distance" else "a smaller one than"
        whose = f"the answers {name}" if signal == "distance" else "all answers"
        return f"{told}, {side} {100 * (1 - shares[s]):.0f}% of {whose}"


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _columns(level: str, signals: Sequence[Signals]) -> tuple[Floats, Ints, Ints, Bools, Bools]:
    """All answers in a row: signals, kinds, documents, whether they are right, and whether they truly are positive."""
    if level == "documents":
        return (
            np.stack([each.document for each in signals]),
            np.array([each.said for each in signals]),
            np.arange(len(signals)),
            np.array([bool(each.right) for each in signals]),
            np.array([bool(each.positive) for each in signals]),
        )
    return (
        np.concatenate([each.words for each in signals]),
        np.concatenate([each.words_said for each in signals]),
        np.repeat(np.arange(len(signals)), [len(each.words) for each in signals]),
        np.concatenate([each.words_right for each in signals if each.words_right is not None]),
        np.concatenate([each.words_positive for each in signals if each.words_positive is not None]),
    )


def _answers(
    goal: Goal, document: Ints, trust: Floats, said: Ints, right: Bools, positive: Bools, documents: int
) -> Answers:
    if goal.aim != "recall":
        return Answers(document, trust, ~right, documents)
    yes = said % 2 == 1
    return Answers(document, np.where(yes, np.inf, trust), positive & ~yes, documents, positive)


def _risk(value: dict[str, Any]) -> Risk:
    threshold, more = value["threshold"], value["more"]
    return Risk(
        None if threshold is None else float(threshold),
        tuple(Level(**{name: float(each) for name, each in level.items()}) for level in value["levels"]),
        int(value["answers"]),
        int(value["documents"]),
        int(value["most"]),
        None if more is None else int(more),
    )


def _chance(trust: float) -> float:
    return 0.5 * (1 + math.tanh(float(trust) / 2))
