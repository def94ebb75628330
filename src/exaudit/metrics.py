"""How well decisions agree with the truth, for documents and tokens, with baselines and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Counts",
    "Difference",
    "averaged",
    "best_offset",
    "bootstrap",
    "columns",
    "document_metrics",
    "f_beta",
    "labelled_share",
    "likely_offset",
    "newcombe",
    "paired_bootstrap",
    "rising_rates",
    "stable_offset",
    "token_metrics",
    "wilson",
]


@dataclass(frozen=True)
class Counts:
    """A two-by-two table of decisions against the truth. A ratio without a denominator is 0."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @classmethod
    def of(cls, decided: NDArray[np.generic], truth: NDArray[np.generic]) -> Counts:
        decided, truth = np.asarray(decided) > 0, np.asarray(truth) > 0
        if decided.shape != truth.shape:
            raise ValueError(f"{decided.size} decisions but {truth.size} true labels")
        both = int((decided & truth).sum())
        said, true = int(decided.sum()), int(truth.sum())
        return cls(both, said - both, true - both, decided.size - said - true + both)

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def accuracy(self) -> float:
        return _ratio(self.true_positive + self.true_negative, self.total)

    @property
    def total(self) -> int:
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative

    @property
    def precision(self) -> float:
        return _ratio(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        return _ratio(self.true_positive, self.true_positive + self.false_negative)

    def f(self, beta: float = 1.0) -> float:
        """F_beta; below 1, precision weighs more than recall."""
        wrong = beta**2 * self.false_negative + self.false_positive
        return _ratio((1 + beta**2) * self.true_positive, (1 + beta**2) * self.true_positive + wrong)

    @property
    def mcc(self) -> float:
        """Matthews correlation: 0 for a coin, 1 for the truth, whatever the balance of classes."""
        tp, fp, fn, tn = self.true_positive, self.false_positive, self.false_negative, self.true_negative
        product = float(tp + fp) * float(tp + fn) * float(tn + fp) * float(tn + fn)
        return 0.0 if product == 0 else (tp * tn - fp * fn) / product**0.5


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def f_beta(decided: NDArray[np.generic], truth: NDArray[np.generic], beta: float = 1.0) -> float:
    return Counts.of(decided, truth).f(beta)


def document_metrics(counts: Counts) -> dict[str, float]:
    c = counts
    return {"accuracy": c.accuracy, "precision": c.precision, "recall": c.recall, "f1": c.f(), "mcc": c.mcc}


def token_metrics(counts: Counts) -> dict[str, float]:
    c = counts
    return {"precision": c.precision, "recall": c.recall, "f1": c.f(), "f0.5": c.f(0.5), "mcc": c.mcc}


def columns(decided: NDArray[np.generic], truth: NDArray[np.generic]) -> list[Counts]:
    """A table of counts for each class, of decisions (n, K) and truth (n, K)."""
    return [Counts.of(said, true) for said, true in zip(decided.T, truth.T, strict=True)]


def averaged(classes: Sequence[Counts], measure: Callable[[Counts], dict[str, float]]) -> dict[str, float]:
    """A measure for one class as it is; for several their mean (macro), over classes that occur, and micro F1."""
    if len(classes) == 1:
        return measure(classes[0])
    occurring = [c for c in classes if c.true_positive + c.false_positive + c.false_negative] or list(classes)
    each = [measure(counts) for counts in occurring]
    macro = {name: float(np.mean([values[name] for values in each])) for name in each[0]}
    return macro | {"micro_f1": sum(classes, Counts(0, 0, 0, 0)).f()}


def best_offset(
    scores: NDArray[np.floating], truth: NDArray[np.generic], beta: float = 0.5, *, missed: int = 0
) -> float:
    """The decision boundary (positive where score > offset) with the highest F_beta; 0 where nothing beats it.

    missed : true ones besides these, which no boundary can reach.
    """
    order = np.argsort(-scores, kind="stable")
    scores, hits = np.asarray(scores, dtype=np.float64)[order], np.asarray(truth)[order] > 0
    said = np.arange(1, len(scores) + 1)
    right = np.cumsum(hits)
    f = (1 + beta**2) * right / (beta**2 * max(int(hits.sum()) + missed, 1) + said)
    below = np.append(scores[1:], scores[-1] - 2.0)
    f[below == scores] = -1  # a boundary cannot stand between equal scores
    best = int(f.argmax())
    if f[best] <= (Counts.of(scores > 0, hits) + Counts(0, 0, missed, 0)).f(beta):
        return 0.0
    middle = (scores[best] + below[best]) / 2
    return float(middle if middle < scores[best] else below[best])  # neighbouring floats have no middle


def likely_offset(
    scores: NDArray[np.floating], guesses: Iterable[NDArray[np.floating]], beta: float = 1.0
) -> float:
    """The decision boundary with the highest F_beta to be expected: the chances of those above it are the hits to be
    expected, and those of all are the true ones.

    guesses : how likely each one is to be true; where that is not known, several guesses, each as good as the others.
        The geometric mean over them counts: to lose half of what one guess promises weighs as much as with any other,
        however much that is.
    """
    order = np.argsort(-scores, kind="stable")
    scores = np.asarray(scores, np.float64)[order]
    log_f, said, told = np.zeros(len(scores)), np.arange(1, len(scores) + 1), False
    for chances in guesses:
        hits = np.cumsum(np.asarray(chances, np.float64)[order])
        if hits[-1] > 0:  # else there is nothing to be found, wherever the boundary is
            told = True
            with np.errstate(divide="ignore"):  # no hits up to here
                log_f += np.log(hits / (beta**2 * hits[-1] + said))
    if not told:
        return float(scores[0])  # none is above it
    below = np.append(scores[1:], scores[-1] - 2.0)
    log_f[below == scores] = -np.inf  # a boundary cannot stand between equal scores
    best = int(log_f.argmax())
    middle = (scores[best] + below[best]) / 2
    return float(middle if middle < scores[best] else below[best])


def rising_rates(parts: NDArray[np.floating], wholes: NDArray[np.floating]) -> NDArray[np.float64]:
    """The ratios of parts to wholes, were none to be below the one before: where some are, their parts and wholes are
    taken together (isotonic regression, by pooling adjacent violators)."""
    blocks: list[list[float]] = []  # part, whole and how many of them
    for part, whole in zip(parts, wholes, strict=True):
        blocks.append([part, whole, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return np.repeat([_ratio(part, whole) for part, whole, _ in blocks], [int(n) for *_, n in blocks])


def labelled_share(chances: NDArray[np.floating]) -> float:
    """The part of the true ones that were labelled, by what was learnt from the labels: the mean probability of those
    that were (Elkan and Noto, 2008), which is the mean of all probabilities weighed by themselves where they are right.
    """
    chances = np.asarray(chances, np.float64)
    total = chances.sum()
    return float((chances @ chances) / total) if total else 1.0


def stable_offset(
    scores: NDArray[np.floating], truth: NDArray[np.generic], beta: float = 1.0, *, draws: int = 50
) -> float:
    """The median of the best offsets of resampled documents: on a few hundred, the single best one is mostly luck."""
    generator = np.random.default_rng(0)
    scores, truth = np.asarray(scores), np.asarray(truth)
    samples = generator.integers(0, len(scores), (draws, len(scores)))
    return float(np.median([best_offset(scores[rows], truth[rows], beta) for rows in samples]))


def bootstrap(
    measure: Callable[[Counts], dict[str, float]],
    documents: Sequence[Counts],
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """Percentile intervals, drawing whole documents: the tokens of one document are not independent."""
    tables = np.array([astuple(c) for c in documents])  # (documents, 4)
    generator = np.random.default_rng(seed)
    values: dict[str, list[float]] = {}
    for _ in range(draws):
        drawn = tables[generator.integers(0, len(tables), len(tables))].sum(0)
        for name, value in measure(Counts(*drawn.tolist())).items():
            values.setdefault(name, []).append(value)
    edges = np.array([(1 - level) / 2, (1 + level) / 2])
    quantiles = {name: np.quantile(drawn, edges) for name, drawn in values.items()}
    return {name: (float(low), float(high)) for name, (low, high) in quantiles.items()}


def wilson(share: float, n: int, *, z: float = 1.96) -> tuple[float, float]:
    """The 95% interval of a share of n: honest where n is small, and where all or none were right."""
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(share: float, n: int, other: float, m: int) -> tuple[float, float]:
    """The 95% interval of the difference of two shares of n and of m, by Wilson's of each (Newcombe, 1998)."""
    (low, high), (other_low, other_high) = wilson(share, n), wilson(other, m)
    below = ((share - low) ** 2 + (other_high - other) ** 2) ** 0.5
    above = ((high - share) ** 2 + (other - other_low) ** 2) ** 0.5
    return share - other - below, share - other + above


@dataclass(frozen=True)
class Difference:
    """How much better one way of deciding is than another, with a 95% interval."""

    value: float
    low: float
    high: float


def paired_bootstrap(
    measure: Callable[[Counts], float],
    ours: Sequence[Counts],
    others: Sequence[Counts],
    *,
    factor: float = 1.0,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """measure(ours) - factor * measure(others) over the same documents: each draw takes the same ones on both sides."""
    if len(ours) != len(others) or not ours:
        raise ValueError(f"{len(ours)} and {len(others)} documents cannot be compared pair by pair")
    sides = [np.array([astuple(c) for c in counts]) for counts in (ours, others)]  # (documents, 4) each
    generator = np.random.default_rng(seed)

    def difference(rows: NDArray[np.integer] | slice) -> float:
        a, b = (measure(Counts(*side[rows].sum(0).tolist())) for side in sides)
        return a - factor * b

    drawn = [difference(generator.integers(0, len(ours), len(ours))) for _ in range(draws)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Difference(difference(slice(None)), float(low), float(high))
