"""What a support set adds to a model of reviews: tables 8 to 12 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exaudit.decide.admission import Admission
from exaudit.decide.fitting import KNNReport
from exaudit.experiments.controls import NOBODY, admitted_gain, coin_note, share_gain
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, Scored, TokenEvaluation, score
from exaudit.experiments.sentiment_data import (
    CONTRAST,
    ORIG,
    ORIGINALS,
    REVISIONS,
    TWEETS,
    SentimentData,
    sentiment_model,
)
from exaudit.experiments.step_result import StepResult
from exaudit.experiments.supported_model import Searched, SupportedModel
from exaudit.metrics import best_offset
from exaudit.model.model import Model

__all__ = ["SentimentSupport"]

S_ORIG, S_REV, S_BOTH, S_DEV = "S=Orig.", "S=Rev.", "S=Orig.+Rev.", "S=Orig. dev+Rev. dev"  # support sets
DIST = "K8NN dist."


@dataclass
class SentimentSupport:
    """One model with each support set. Test reviews are labelled once, and searched for in all of them.

    A row of the rules' tables has a column for each support set, so all of them are one step.
    """

    run: Run
    data: SentimentData
    name: str

    @cached_property
    def model(self) -> Model:
        return sentiment_model(self.run, self.data, self.name)

    @cached_property
    def tests(self) -> dict[str, Scored]:
        tests = self.data.tests
        return {
            test: score(self.model, tests[test], exemplars=True) for test in (ORIGINALS, REVISIONS, CONTRAST)
        }

    @cached_property
    def supported(self) -> SupportedModel:
        return SupportedModel(self.model, self.data.reviews.orig.train)

    @cached_property
    def over_originals(self) -> dict[str, Searched]:
        """The test reviews with the originals as the support set."""
        return self._search(self.supported)

    def _search(self, supported: SupportedModel) -> dict[str, Searched]:
        return {test: supported.search(scored) for test, scored in self.tests.items()}

    def rules(self) -> StepResult:
        """ExAG and ExAT with each support set."""
        orig, rev = self.data.reviews.orig, self.data.reviews.rev
        evaluated = {S_ORIG: _with_rules(self.over_originals)}
        self.supported.add(rev.train)
        evaluated[S_BOTH] = _with_rules(self._search(self.supported))
        del self.supported  # large; and no longer what it was
        evaluated[S_REV] = _with_rules(self._search(SupportedModel(self.model, rev.train)))
        few = SupportedModel(self.model, [*orig.dev, *rev.dev])
        evaluated[S_DEV] = _with_rules({CONTRAST: few.search(self.tests[CONTRAST])})

        result = StepResult()
        for rule in ("", "+ExAG", "+ExAT"):
            values = [
                evaluated[s][test][rule].f05
                for s in (S_ORIG, S_REV, S_BOTH)
                for test in (ORIGINALS, REVISIONS)
            ]
            result.add_row("sentiment-rules", f"{self.name}{rule}", *values)
            values = [evaluated[s][CONTRAST][rule].f05 for s in (S_ORIG, S_REV, S_BOTH, S_DEV)]
            result.add_row("contrast-rules", f"{self.name}{rule}", *values)
        for test, by_rule in evaluated[S_BOTH].items():
            case = f"{self.name}, {S_BOTH} on {test}, F0.5"
            note = coin_note(self.tests[test], by_rule[""])
            result.add_claim("sentiment-exat", case, by_rule["+ExAT"].gain_over(by_rule[""]), note=note)
        if self.name == ORIG:
            for test in (REVISIONS, CONTRAST):
                after, before = evaluated[S_REV][test]["+ExAG"], evaluated[S_ORIG][test]["+ExAG"]
                case = f"{ORIG}+ExAG, {S_REV} over {S_ORIG} on {test}, F0.5"
                note = coin_note(self.tests[test], before)
                result.add_claim("sentiment-update", case, after.gain_over(before), note=note)
        return result

    def knn(self) -> StepResult:
        """The K-NN in the place of the model, and the reviews it admits."""
        result = StepResult()
        dev = self.supported.search(self.data.reviews.orig.dev)
        report = dev.fit_knn(self.run.recipe, "reviews", "dist")
        result.add_knn("sentiment-knn-parameters", f"{self.name}+{DIST}", report)
        self._words(result, dev, report)
        self._constraints(result, dev, report)
        return result

    def _words(self, result: StepResult, dev: Searched, report: KNNReport) -> None:
        """Both boundaries, the K-NN's and the model's, are tuned with the token labels of dev."""
        knn = report.knn
        knn_boundary = best_offset(knn.output(dev.neighbours), dev.truth)
        model_boundary = best_offset(dev.margins, dev.truth)
        values = []
        for test in (ORIGINALS, REVISIONS):
            searched = self.over_originals[test]
            with_knn = searched.evaluate(knn.output(searched.neighbours) > knn_boundary)
            alone = searched.evaluate(searched.margins > model_boundary)
            values.append(with_knn.f05)
            case = f"{self.name}+{DIST} over {self.name} on {test}, F0.5"
            note = coin_note(searched, alone)
            result.add_claim("sentiment-knn", case, with_knn.gain_over(alone), note=note)
        result.add_row("sentiment-tokens", f"{self.name}+{DIST}", *values)

    def _constraints(self, result: StepResult, dev: Searched, report: KNNReport) -> None:
        """Limits for words from K-NN dev, for reviews from all of dev; then who is admitted, and how often right."""
        knn, knn_dev = report.knn, dev.subset(report.dev_documents)
        token_limits = Admission.fit(
            knn,
            knn_dev.neighbours,
            knn_dev.margins,
            support_version="",
            kind="both",
            recipe=self.run.recipe.name,
        )
        limits = {
            name: token_limits.fit_documents(
                knn, dev.neighbours, dev.document_of_token, dev.correct, use_count=count
            )
            for name, count in (("share", False), ("share and count", True))
        }
        tests = {
            ORIGINALS: self.over_originals[ORIGINALS],
            REVISIONS: self.over_originals[REVISIONS],
            TWEETS: self.supported.search(self.data.tweets),
        }
        for test, searched in tests.items():
            right, size = searched.correct, len(searched.scores)
            result.add_row("sentiment-constraints", f"{test} | none", 100 * searched.accuracy, size, 1.0)
            tokens = token_limits.tokens(knn, searched.neighbours).admitted
            for name, limit in limits.items():
                chosen = limit.documents(tokens, searched.document_of_token, size).admitted
                count = int(chosen.sum())
                accuracy = 100 * float(right[chosen].mean()) if count else None
                result.add_row("sentiment-constraints", f"{test} | {name}", accuracy, count, count / size)
                note = "" if count else NOBODY
                # Over all is over as many at random: on average, those are right as often as all.
                gain = admitted_gain(right, chosen)
                result.add_claim("document-constraints", f"{test}, {name}, accuracy", gain, note=note)
                case = f"{test}, {name}, accuracy over as many by the model's own output"
                gain = share_gain(right, chosen, _surest(searched, count))
                result.add_claim("document-constraints", case, gain, note=note, beside=True)


def _surest(scored: Scored, count: int) -> Bools:
    """The documents with the largest outputs, either way."""
    chosen = np.zeros(len(scored.scores), bool)
    outputs = np.array([one.output for one in scored.scores])
    chosen[np.argsort(-np.abs(outputs), kind="stable")[:count]] = True
    return chosen


def _with_rules(tests: dict[str, Searched]) -> dict[str, dict[str, TokenEvaluation]]:
    """Decisions of the model and of both rules, evaluated, for each test set."""
    return {
        test: {"": s.evaluate(), "+ExAG": s.evaluate(s.exag()), "+ExAT": s.evaluate(s.exat())}
        for test, s in tests.items()
    }
