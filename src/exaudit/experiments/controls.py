"""What limits on predictions must be held against: as many predictions chosen otherwise, and intervals for few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exaudit.experiments.scoring import Bools, Scored, TokenEvaluation
from exaudit.metrics import Difference, newcombe

__all__ = ["COIN_LEVEL", "NOBODY", "UNKNOWN", "admitted_gain", "as_many", "coin_note", "share_gain"]

NOBODY = "nobody is admitted"
COIN_LEVEL = "the model compared against is at coin level"
UNKNOWN = Difference(0.0, -1.0, 1.0)


def as_many(decided: Bools, admitted: Bools, by: Bools, merit: NDArray[np.floating]) -> Bools:
    """Tokens chosen by merit: as many of each decision as were admitted by the decisions `by` of another.

    Without the same shares of both decisions, an F-score would tell how many are positive, not how good they are.
    """
    chosen = np.zeros(len(decided), bool)
    for side in (False, True):
        own = np.flatnonzero(decided == side)
        best = own[np.argsort(-merit[own], kind="stable")]
        chosen[best[: int((admitted & (by == side)).sum())]] = True
    return chosen


def admitted_gain(right: Bools, chosen: Bools) -> Difference:
    """How much more often the chosen are right than all, of whom they are some; they are few: Wilson's intervals."""
    count, rest = int(chosen.sum()), int((~chosen).sum())
    if count == 0 or rest == 0:
        return UNKNOWN
    inside, outside = float(right[chosen].mean()), float(right[~chosen].mean())
    low, high = newcombe(inside, count, outside, rest)
    left_out = rest / len(right)  # of the difference from the others, the share that is one from all
    return Difference(left_out * (inside - outside), left_out * low, left_out * high)


def share_gain(right: Bools, chosen: Bools, others: Bools) -> Difference:
    """How much more often the chosen are right than others: Wilson's intervals, as if none were both."""
    count, other_count = int(chosen.sum()), int(others.sum())
    if not count or not other_count:
        return UNKNOWN
    inside, outside = float(right[chosen].mean()), float(right[others].mean())
    return Difference(inside - outside, *newcombe(inside, count, outside, other_count))


def coin_note(scored: Scored, alone: TokenEvaluation) -> str:
    """A note where a model's own decisions are no better than a coin's: to be better than those is nothing."""
    return COIN_LEVEL if alone.gain_over(scored.evaluate(scored.coin())).low <= 0 else ""
