"""Do documents still come from where the reference came from? A test that may be looked at after every document.

The rank of each new figure among the reference and all figures before it is as good as a throw of dice if nothing has
changed (a conformal p-value; ties are broken at random). A gambler bets on the ranks, with odds learnt from the last
fifty or so, and cannot expect to win. To win K / rate times the stake on any of K measures has at most the chance
`rate`, ever (Ville's inequality, for conformal test martingales: Vovk, Gammerman and Shafer, 2022). Of the stake, a
part is set aside for bets that begin later, so that a long quiet time costs little.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

import numpy as np

__all__ = ["Gambler"]

BINS = 10  # of the p-values
FADE = 0.98  # of what was learnt, with each document: about the last fifty count
PRIOR = 1.0  # documents that each bin starts with


class Gambler:
    """Bets against one measure; `capital` starts at 1 and is a martingale while nothing changes."""

    def __init__(self, reference: Iterable[float], *, seed: int = 0) -> None:
        self._known = sorted(reference)
        self._random = np.random.default_rng(seed)
        self._counts = np.zeros(BINS)
        self._steps = 0
        self._at_stake = 0.0
        self.capital = 1.0

    def p_value(self, value: float) -> float:
        """The share of larger figures; among equal ones, this one has a random place. It joins the others."""
        low, high = bisect_left(self._known, value), bisect_right(self._known, value)
        insort(self._known, value)
        size = len(self._known)
        larger, equal = size - 1 - high, high - low + 1
        return float((larger + self._random.random() * equal) / size)

    def see(self, value: float) -> float:
        """The capital after one more document."""
        place = min(int(self.p_value(value) * BINS), BINS - 1)
        odds = BINS * (self._counts[place] + PRIOR) / (self._counts.sum() + BINS * PRIOR)
        self._steps += 1
        joining = 1 / (
            self._steps * (self._steps + 1)
        )  # they add up to 1; what has not joined yet is 1 / (t + 1)
        self._at_stake = (self._at_stake + joining) * odds
        self._counts *= FADE
        self._counts[place] += 1
        self.capital = self._at_stake + 1 / (self._steps + 1)
        return self.capital
