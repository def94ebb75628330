"""What the paper says of its figures, and whether ours say so too.

A claim comes with several differences (a case for each model, support set or seed), each in percentage points
with a 95% interval over documents. A rule turns each interval into a verdict, and the verdicts of all cases into one:
it holds if all do, and does not hold if most refute it. Cases beside the claim are shown and do not count: other
metrics than the paper's, and comparisons that the paper does not make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["CLAIMS", "Case", "Claim", "Finding", "Rule", "Verdict"]

Verdict = Literal["holds", "in part", "does not hold", "cannot be told", "no figures"]
AS_GOOD = 1.0  # point: what the paper calls the same effectiveness for all practical purposes


@dataclass(frozen=True)
class Case:
    """One difference that bears on a claim, in percentage points."""

    name: str
    value: float
    low: float
    high: float
    seed: int | None = None  # None: the run's first
    note: str = ""
    beside: bool = False  # shown, not counted


@dataclass(frozen=True)
class Rule:
    """How an interval is read. With `any_case`, one case that holds is enough: the claim is that something is
    not always so."""

    text: str
    decide: Callable[[Case], Verdict]
    any_case: bool = False

    def verdict(self, cases: Sequence[Case]) -> Verdict:
        """Of the claim as a whole."""
        found = [self.decide(case) for case in cases]
        if not found:
            return "no figures"
        refuted = found.count("does not hold")
        if all(one == "holds" for one in found) or (self.any_case and "holds" in found):
            return "holds"
        if refuted == len(found) or (not self.any_case and refuted > len(found) / 2):
            return "does not hold"
        if "holds" in found:
            return "in part"
        return "cannot be told"


def _above(limit: float) -> Callable[[Case], Verdict]:
    def decide(case: Case) -> Verdict:
        return "holds" if case.low > limit else "does not hold" if case.high < limit else "cannot be told"

    return decide


def _below(case: Case) -> Verdict:
    return "holds" if case.high < 0 else "does not hold" if case.low > 0 else "cannot be told"


BETTER = Rule("holds if the interval lies above 0, does not hold if it lies below", _above(0.0))
AT_LEAST_AS_GOOD = Rule(
    f"at least as good: holds if the interval lies above -{AS_GOOD:g} (the paper's own margin), "
    "does not hold if it lies below",
    _above(-AS_GOOD),
)
MORE_THAN_HALF = Rule(
    "most of the gain is kept: holds if the interval of accuracy over halfway between the two lies above 0, does not "
    "hold if it lies below",
    _above(0.0),
)
HALF_THE_SIZE = Rule(
    "at least half of the paper's relative gain: holds if the interval of what it is above that lies above 0, does not "
    "hold if it lies below",
    _above(0.0),
)
NOT_ALWAYS = Rule(
    "no consistent gain: holds if the interval of any case lies below 0, does not hold if those of all lie above",
    _below,
    any_case=True,
)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, in our words. `printed` is what its tables say; `place` names them."""

    id: str
    experiment: str
    text: str
    place: str
    printed: str
    rule: Rule = BETTER
    metric: str = (
        ""  # in the names of the cases that count, where results of earlier versions have others too
    )


@dataclass(frozen=True)
class Finding:
    """A claim with our evidence."""

    claim: Claim
    cases: tuple[Case, ...]

    def counts(self, case: Case) -> bool:
        """Whether the verdict rests on it."""
        return not case.beside and self.claim.metric in case.name

    @property
    def counted(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if self.counts(case))

    @property
    def verdict(self) -> Verdict:
        return self.claim.rule.verdict(self.counted)

    @property
    def held(self) -> int:
        """How many of the cases that count hold."""
        return sum(self.claim.rule.decide(case) == "holds" for case in self.counted)

    def to_json(self) -> dict[str, Any]:
        claim = self.claim
        return {
            "id": claim.id,
            "claim": claim.text,
            "place": claim.place,
            "printed": claim.printed,
            "rule": claim.rule.text,
            "verdict": self.verdict,
            "cases": [
                {
                    "name": case.name,
                    "seed": case.seed,
                    "value": case.value,
                    "low": case.low,
                    "high": case.high,
                    "verdict": claim.rule.decide(case),
                    "note": case.note,
                    "counts": self.counts(case),
                }
                for case in self.cases
            ],
        }


_CLAIMS = (
    Claim(
        "zero-shot",
        "fce",
        "Sentence labels alone teach a model to find the wrong words far better than chance.",
        "section 4.2, table 1",
        "F1 41.5; Random 23.4, MajorityClass 26.4",
    ),
    Claim(
        "width-one",
        "fce",
        "Filters of width one find the words better than wider filters with the same sentence scores.",
        "section 4.2, table 1",
        "F1 41.5 against 37.4, precision 47.7 against 26.8, sentence F1 86.3 against 86.4",
        metric=", F1",
    ),
    Claim(
        "min-max",
        "fce",
        "Fine-tuning with the min-max loss raises precision and lowers recall.",
        "section 4.2, table 2",
        "precision 47.7 to 54.9, recall 36.7 to 29.1",
    ),
    Claim(
        "supervised",
        "fce",
        "Token labels make the same head a strong supervised labeller.",
        "section 4.2, table 2",
        "F0.5 58.7 against 45.0 with sentence labels",
    ),
    Claim(
        "exag",
        "fce",
        "The ExAG rule raises precision in the model's own domain.",
        "section 4.2, tables 2 and 3",
        "precision 47.7 to 56.8 (uniCNN), 54.9 to 63.9 (+mm), 75.0 to 85.2 (+S*)",
    ),
    Claim(
        "knn",
        "fce",
        "A K-NN over the support set is at least as good as the model whose place it takes.",
        "section 4.2, tables 2 and 3",
        "F0.5 47.0 for 45.0 (uniCNN), 48.1 for 46.6 (+mm), 57.7 for 58.7 (+S*)",
        AT_LEAST_AS_GOOD,
    ),
    Claim(
        "approximation",
        "fce",
        "Where the K-NN and the model disagree, predictions are more often wrong.",
        "section 4.2, figure 2",
        "shown as curves only",
    ),
    Claim(
        "magnitude",
        "fce",
        "The larger the K-NN's output, the more reliable the prediction, even in another domain.",
        "section 4.2, figure 3; appendix B, table 22",
        "F0.5 32.1 on all, 56.3 on the quarter with the largest outputs (+mm, positive class)",
    ),
    Claim(
        "magnitude-tracks",
        "fce",
        "The magnitude of the K-NN's output tracks reliability at least as well as that of the model's.",
        "section 4.2, figure 3; appendix B, table 22",
        "F0.5 of the quarter with the largest outputs 56.3 by the K-NN, 48.7 by the model (+mm, positive class)",
        AT_LEAST_AS_GOOD,
    ),
    Claim(
        "update",
        "fce",
        "Adding the new domain to the support set repairs decisions there without training again.",
        "section 4.2, table 5",
        "F0.5 of ExAG 28.7 to 44.1, of the K-NN 26.3 to 40.3 (uniCNN)",
    ),
    Claim(
        "update-size",
        "fce",
        "It raises the K-NN's F0.5 there by a quarter to two thirds.",
        "section 4.2, table 5",
        "F0.5 26.3 to 40.3 (uniCNN), 27.0 to 46.3 (+mm), 41.0 to 52.6 (+S*)",
        HALF_THE_SIZE,
    ),
    Claim(
        "constraints",
        "fce",
        "Limits on distance and magnitude, set without token labels, pick out a reliable part of the predictions.",
        "section 4.2, table 6",
        "F0.5 26.3 on all, 46.5, 42.6 and 67.4 where admitted (uniCNN)",
    ),
    Claim(
        "re-edits-help",
        "sentiment",
        "Training on originals with their revisions helps on revised reviews.",
        "section 5.2, table 7",
        "accuracy on Rev. 88.7 to 96.5",
    ),
    Claim(
        "disjoint",
        "sentiment",
        "Part of what revisions bring is their language: beside them, originals other than the revised ones do "
        "nearly as well.",
        "section 5.2, table 7",
        "accuracy on Rev. 88.7, 96.5 and 95.7 (1.7k+1.7k), 87.9, 94.3 and 90.2 (19k)",
        MORE_THAN_HALF,
        metric="over halfway",
    ),
    Claim(
        "sentiment-update",
        "sentiment",
        "Revised reviews in the support set help to find sentiment words in revised reviews, without training.",
        "section 5.2, table 10",
        "F0.5 of ExAG on Rev. 15.8 to 18.3, model trained on Orig. (3.4k)",
    ),
    Claim(
        "sentiment-exat",
        "sentiment",
        "With token labels in the support set, the ExAT rule finds sentiment words better than the model alone.",
        "section 5.2, tables 10 and 12",
        "F0.5 10.5 to 34.7 on Orig., 11.2 to 28.2 on Rev. (S=Orig.)",
    ),
    Claim(
        "sentiment-knn",
        "sentiment",
        "The K-NN finds sentiment words at least as well as the model.",
        "section 5.2, table 9",
        "F0.5 29.5 for 26.2 on Orig., 23.5 for 22.5 on Rev.",
        AT_LEAST_AS_GOOD,
    ),
    Claim(
        "document-constraints",
        "sentiment",
        "Limits on admitted tokens pick out the reviews, and even tweets, whose sentiment is decided reliably.",
        "section 5.2, table 8",
        "accuracy 92.8 to 96.2 (Orig.), 88.7 to 98.1 (Rev.), 77.8 to 81.4 (SemEval-2017)",
    ),
    Claim(
        "out-of-domain",
        "sentiment",
        "Training on revisions does not consistently help out of domain.",
        "section 5.2; appendix C, table 25",
        "accuracy 77.8 to 64.2 (3.4k), 72.0 to 66.9 (19k)",
        NOT_ALWAYS,
    ),
    Claim(
        "re-edits-detectable",
        "annotation",
        "Revised reviews can be told from original ones.",
        "section 6.2, tables 13 and 17",
        "accuracy 79.6 (Rev.), 77.8 (Contrast), where a coin has 50",
    ),
    Claim(
        "negative-distinct",
        "annotation",
        "Negative reviews are easier to tell apart than positive ones.",
        "section 6.2, tables 13 and 17",
        "accuracy 84.0 against 75.2 (Rev.), 78.7 against 76.8 (Contrast)",
    ),
)
CLAIMS = {claim.id: claim for claim in _CLAIMS}
