"""Thresholds that keep a promise: of the answers let through, at most a stated share is wrong, with stated confidence.

Selective classification under risk control. Thresholds are tested from strict to lenient, each for "the risk is above
the limit", and the last one whose hypothesis is rejected before the first that is not becomes the threshold. By
fixed-sequence testing (Bauer, 1991; Learn then Test, Angelopoulos et al., 2021) the chance that the risk of the chosen
threshold is above the limit is at most 1 - confidence, as long as thresholds and their order come from other documents
than those tested on, and new documents are exchangeable with these. Each test is exact in finite samples:

    one answer a document     the tail of the binomial distribution (Clopper and Pearson, 1934)
    many (words)              documents are the units, because words of one document are not independent: with Z the
                              wrong answers of a document less risk x answers, the product of 1 - bet x Z over
                              documents has expectation of at most 1 where the risk is above the limit, so one over it
                              is a p-value (betting; Waudby-Smith and Ramdas, 2024). Z has to be bounded: so many words
                              of a document, the most trusted ones, are let through at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from exaudit.errors import SettingError
from exaudit.metrics import rising_rates

__all__ = ["Aim", "Answers", "Goal", "Level", "Risk", "binomial_tail", "capped", "control", "upper_bound"]

Aim = Literal["accuracy", "precision", "recall"]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
LEVELS = 100  # thresholds tried
MOST = 10_000_000  # documents that anyone could be asked for


@dataclass(frozen=True, slots=True)
class Goal:
    """What is promised: at most this share of errors, with this confidence.

    accuracy    of the answers let through, at most `risk` are wrong
    precision   the same of those that say positive
    recall      of all that is truly positive, at most `risk` is let through as negative
    """

    risk: float
    confidence: float = 0.95
    aim: Aim = "accuracy"
    by_class: bool = False  # the same for the answers of each predicted class

    def __post_init__(self) -> None:
        if not 0.0 < self.risk < 1.0:
            raise SettingError(f"`risk` is {self.risk:g}; it is a share above 0 and below 1, as in 0.05")
        if not 0.5 <= self.confidence < 1.0:
            raise SettingError(
                f"`confidence` is {self.confidence:g}; it is a share of 0.5 or more and below 1, as in 0.95"
            )
        if self.aim not in get_args(Aim):
            raise SettingError(f"`promise` is {self.aim!r}; choose one of {', '.join(get_args(Aim))}")
        if self.by_class and self.aim != "accuracy":
            raise SettingError(f"`by_class` is about accuracy; {self.aim} is of one class already")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers that may be let through: one a document, or one a word.

    Of all that is true (`pool`, where the goal is recall) the share of errors is a share of what there is; otherwise
    it is a share of what is let through.
    """

    document: npt.NDArray[np.int64]  # (N,) from 0
    trust: Floats  # (N,) higher is safer; -inf is never let through
    wrong: Bools  # (N,) an error, if let through
    documents: int
    pool: Bools | None = None  # (N,) what the errors are a share of

    def __getitem__(self, chosen: Bools) -> Answers:
        """Some of the answers; the documents stay as many."""
        pool = None if self.pool is None else self.pool[chosen]
        return replace(
            self,
            document=self.document[chosen],
            trust=self.trust[chosen],
            wrong=self.wrong[chosen],
            pool=pool,
        )

    def within(self, chosen: Bools) -> Answers:
        """Those of the documents that are chosen (D,), which are counted anew."""
        number = np.cumsum(chosen) - 1  # (D,)
        part = self[chosen[self.document]]
        return replace(part, document=number[part.document], documents=int(chosen.sum()))

    def counts(self, threshold: float) -> tuple[Floats, Floats]:
        """Errors, and what they are a share of, of each document."""
        through = self.trust >= threshold
        whole = through if self.pool is None else self.pool
        return (
            np.bincount(self.document[through & self.wrong], minlength=self.documents).astype(np.float64),
            np.bincount(self.document[whole], minlength=self.documents).astype(np.float64),
        )

    def coverage(self, threshold: float) -> float:
        return float((self.trust >= threshold).mean()) if len(self.trust) else 0.0

    def at_most(self, most: int) -> Answers:
        """The same, with no more than the `most` most trusted answers of a document ever let through, besides those
        that always are (a trust of +inf)."""
        return replace(self, trust=capped(self.trust, self.document, most))


@dataclass(frozen=True, slots=True)
class Level:
    """A point of the risk-coverage curve."""

    threshold: float
    coverage: float  # share of answers let through
    error: float  # share of errors found
    bound: float  # which the risk is below, with the goal's confidence, at this threshold alone


@dataclass(frozen=True, slots=True)
class Risk:
    """A threshold for some answers (None: the promise cannot be made), and the curve that it was chosen on."""

    threshold: float | None
    levels: tuple[Level, ...]
    answers: int  # that it was bounded on
    documents: int
    most: int  # answers of one document that are let through, at most
    more: int | None = (
        None  # documents that it would take, where there is no threshold; None: no number would do
    )

    @property
    def level(self) -> Level | None:
        """The point of the curve that the threshold is at."""
        return next((level for level in self.levels if level.threshold == self.threshold), None)


def capped(trust: Floats, document: npt.NDArray[np.int64], most: int) -> Floats:
    """Trust in answers, -inf for all but the `most` most trusted ones of each document; +inf stays, uncounted."""
    order = np.lexsort((-trust, document))  # by document, the most trusted first
    first = np.searchsorted(document[order], document)  # (N,) where the document of each begins
    always = np.bincount(document, weights=np.isposinf(trust))[document] if len(document) else 0
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.where(np.isposinf(trust) | (rank - first - always < most), trust, -np.inf)


def binomial_tail(errors: float, n: float, risk: float) -> float:
    """P(at most `errors` of `n` are wrong), where each is with chance `risk`."""
    return 1.0 if errors >= n else float(_tails(int(errors), int(n), risk)[-1])


def _tails(most: int, n: int, risk: float) -> Floats:
    """P(at most k of n are wrong) for every k up to `most`."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # their logarithms
    k = np.arange(most + 1)
    ways = factorials[n] - factorials[k] - factorials[n - k]  # (most + 1,)
    return np.asarray(
        np.minimum(1.0, np.cumsum(np.exp(ways + k * math.log(risk) + (n - k) * math.log1p(-risk))))
    )


def upper_bound(errors: float, n: float, confidence: float) -> float:
    """The risk that is not exceeded, with `confidence`: exact, after Clopper and Pearson."""
    if errors >= n:
        return 1.0
    low, high = errors / n, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(errors, n, middle) > 1 - confidence else (low, middle)
    return high


def control(fit: Answers, bound: Answers, goal: Goal, *, tests: int = 1, curve: bool = True) -> Risk:
    """The most lenient threshold that keeps the promise.

    fit : answers that the thresholds, their order and the bets are taken from; the trust may have been fitted on them.
    bound : answers of other documents, that the thresholds are tested on.
    tests : how many promises of this kind are made together, all to be kept with the goal's confidence.
    curve : also bound the risk at every threshold, to be shown.
    """
    least = (1 - goal.confidence) / tests
    if not np.isfinite(fit.trust).any():
        return Risk(None, (), len(bound.trust), bound.documents, 1)
    plan = max(
        (_plan(fit, most, goal.risk, least, bound.documents) for most in _caps(fit)), key=lambda p: p.hoped
    )
    tested, found = bound.at_most(plan.most), None
    for threshold, bet in plan.steps[plan.first :]:
        if _log_p(*tested.counts(threshold), goal.risk, bet) > math.log(least):
            break
        found = threshold
    shown = plan.steps if curve else ()
    levels = tuple(_level(tested, threshold, 1 - least, plan.most) for threshold, _ in shown)
    more = None if found is not None else _more(tested, plan, goal.risk, least)
    return Risk(found, levels, len(bound.trust), bound.documents, plan.most, more)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is tested, settled before the documents to be tested on are looked at."""

    most: int  # answers of a document
    steps: tuple[tuple[float, float | None], ...]  # thresholds from strict to lenient, with their bets
    first: int  # step to start with: the one that is surest to pass
    hoped: float  # coverage that may be reached


def _plan(fit: Answers, most: int, risk: float, least: float, documents: int) -> _Plan:
    capped = fit.at_most(most)
    thresholds = _thresholds(capped).tolist()
    counted = [capped.counts(threshold) for threshold in thresholds]
    bets = [_bet(*each, risk, most) for each in counted]
    steps = tuple(zip(thresholds, bets, strict=True))
    scale = documents / max(1, fit.documents)  # what so many documents would show, were they like these
    if most == 1:
        errors, answers = np.array(
            [[each.sum() for each in capped.counts(t)] for t in thresholds]
        ).T  # (J,) each
        hopes = [
            _chance_to_pass(scale * n, (wrong + 0.5) / (n + 1), risk, least)
            for wrong, n in zip(_smooth(errors, answers), answers, strict=True)
        ]
        passed = [hope >= 0.5 for hope in hopes]
    else:
        hopes = [-scale * _log_p(*each, risk, bet) for each, bet in zip(counted, bets, strict=True)]
        passed = [hope >= -math.log(least) for hope in hopes]
    first = int(np.argmax(hopes))
    reached = [t for t, good in zip(thresholds[first:], passed[first:], strict=True) if good]
    return _Plan(most, steps, first, capped.coverage(reached[-1]) if reached else (hopes[first] - 1e6) / 1e9)


def _smooth(errors: Floats, answers: Floats) -> Floats:
    """Errors above each threshold, were the share of errors never to fall towards more lenient ones: of a hundred
    thresholds, the one that looks best was mostly lucky."""
    more = np.diff(answers, prepend=0)
    return np.asarray(np.cumsum(rising_rates(np.diff(errors, prepend=0), more) * more))


def _chance_to_pass(n: float, rate: float, risk: float, least: float) -> float:
    """How likely so many answers, of which so many are wrong, show that the risk is kept."""
    n, most = int(n), int(n * risk)  # with more errors than that, nothing is shown
    allowed = int(np.searchsorted(_tails(most, n, risk), least, side="right")) - 1
    return binomial_tail(allowed, n, min(rate, 0.999)) if allowed >= 0 else 0.0


def _caps(answers: Answers) -> list[int]:
    """How many answers of a document may be let through at most: some numbers to choose from. With few, one document
    can be all wrong without much harm, so that fewer documents show as much."""
    lengths = np.bincount(answers.document, minlength=1)
    common = np.quantile(lengths[lengths > 0], (0.5, 0.9, 1.0), method="higher").tolist()
    return sorted({int(cap) for cap in (1, 2, 4, 8, *common) if cap <= lengths.max()})


def _thresholds(answers: Answers) -> Floats:
    """From strict to lenient, at equal shares of the answers."""
    values = np.sort(answers.trust[np.isfinite(answers.trust)])[::-1]
    if not len(values):
        return values
    ends = np.unique(np.linspace(0, len(values), LEVELS + 1).round().astype(int)[1:]) - 1
    return np.unique(values[ends])[::-1]


def _log_p(errors: Floats, answers: Floats, risk: float, bet: float | None) -> float:
    """The logarithm of the p-value of "the risk is above `risk`"."""
    if bet is None:
        return math.log(max(binomial_tail(errors.sum(), answers.sum(), risk), 1e-300))
    return min(0.0, -float(np.log1p(-bet * (errors - risk * answers)).sum()))


def _bet(errors: Floats, answers: Floats, risk: float, most: int) -> float | None:
    """How much to bet on fewer errors: what would have grown fastest on these documents. None of one answer each."""
    if most == 1:
        return None
    ruin = 1 / ((1 - risk) * most)  # all of a document wrong, and all is lost
    tried = ruin * np.geomspace(1e-3, 0.9, 40)
    growth = np.log1p(-np.outer(tried, errors - risk * answers)).sum(1)
    return float(tried[growth.argmax()])


def _level(answers: Answers, threshold: float, confidence: float, most: int) -> Level:
    errors, whole = answers.counts(threshold)
    error = float(errors.sum() / max(1.0, whole.sum()))
    if most == 1:
        bound = upper_bound(errors.sum(), whole.sum(), confidence)
    else:
        low, bound = (
            error,
            1.0,
        )  # the risk that a test would just reject; its bet is the best for these documents
        for _ in range(12):
            middle = (low + bound) / 2
            kept = _log_p(errors, whole, middle, _bet(errors, whole, middle, most)) > math.log(1 - confidence)
            low, bound = (middle, bound) if kept else (low, middle)
    return Level(threshold, answers.coverage(threshold), error, bound)


def _more(answers: Answers, plan: _Plan, risk: float, least: float) -> int | None:
    """How many documents it would take, were more of them like these; None where no number would do.

    Half as many again as there are at least: a test that failed on these was not far from passing, but it failed.
    """
    found = MOST + 1
    for threshold, bet in plan.steps:
        errors, whole = answers.counts(threshold)
        n, wrong = whole.sum(), errors.sum()
        if not n or (wrong + 1) / (n + 2) >= risk:
            continue
        if bet is None:
            needed = _needed(wrong / n, risk, least) / n * answers.documents
        else:
            growth = float(np.log1p(-bet * (errors - risk * whole)).mean())
            needed = math.inf if growth <= 0 else -math.log(least) / growth
        found = min(found, math.ceil(min(needed, MOST + 1)))
    return max(found, math.ceil(1.5 * answers.documents)) if found <= MOST else None


def _needed(rate: float, risk: float, least: float) -> float:
    """The smallest number of answers with which this rate of errors shows that the risk is kept."""
    low, high = 1, 1
    while binomial_tail(math.ceil(rate * high), high, risk) > least:
        low, high = high, 2 * high
        if high > MOST:
            return math.inf
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (middle + 1, high)
            if binomial_tail(math.ceil(rate * middle), middle, risk) > least
            else (low, middle)
        )
    return high
