"""What a support set adds to a model of FCE: tables 3 to 6, figures 2 and 3, and the sentences of appendix B."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from exaudit.decide.admission import Admission, AdmissionKind
from exaudit.decide.fitting import KNNReport
from exaudit.decide.knn import KNN, Kind
from exaudit.experiments.controls import NOBODY, UNKNOWN, as_many
from exaudit.experiments.corpora import News, Splits
from exaudit.experiments.examples import examples_markdown, write_examples
from exaudit.experiments.grammar_models import (
    MIN_MAX,
    SENTENCES,
    SUPERVISED,
    example_sentences,
    fce_model,
    file_name,
)
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, Scored, TokenEvaluation, accuracy_gain
from exaudit.experiments.step_result import StepResult
from exaudit.experiments.supported_model import Searched, SupportedModel
from exaudit.metrics import Difference

__all__ = ["GrammarSupport"]

TOKEN_METRICS = ("precision", "recall", "f0.5")
KNNS: dict[str, tuple[Kind, int]] = {
    "K1NN equal": ("equal", 1),
    "K8NN equal": ("equal", 8),
    "K8NN const.": ("const", 8),
    "K8NN dist.": ("dist", 8),
}
SEARCHED = (1, 3, 5, 8, 25)  # section 4.1.5: K, by delta with the min-max model
ADMISSION_KINDS: tuple[AdmissionKind, ...] = ("magnitude", "distance", "both")
DIST = "K8NN dist."


@dataclass
class GrammarSupport:
    """One model with the training set as its support set, then with news added to it."""

    run: Run
    fce: Splits
    news: News
    name: str
    seed: int
    result: StepResult = field(default_factory=StepResult)

    @property
    def supervised(self) -> bool:
        return self.name == SUPERVISED

    def _fit(self, dev: Searched, name: str) -> KNNReport:
        """A K-NN of that name; its parameters go to the page."""
        report = dev.fit_knn(self.run.recipe, "sentences", *KNNS[name], supervised=self.supervised)
        self.result.add_knn("fce-knn-parameters", f"{self.name}+{name}", report)
        return report

    def _at_zero(self, report: KNNReport) -> KNN:
        """The K-NN as it decides on K-NN dev and within limits: in the paper, at zero."""
        return replace(report.knn, offset=0.0) if self.run.recipe.supervised_at_zero else report.knn

    def rules(self) -> StepResult:
        """Another seed: the decisions alone."""
        self.result.seed = self.seed
        supported = SupportedModel(fce_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = supported.search(self.fce.dev), supported.search(self.fce.test)
        knns = {name: self._fit(dev, name) for name in ("K1NN equal", DIST)}
        self._rules(test, knns)
        return self.result

    def tables(self) -> StepResult:
        """All tables, before and after news were added to the support set."""
        supported = SupportedModel(fce_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = supported.search(self.fce.dev), supported.search(self.fce.test)
        knns = {name: self._fit(dev, name) for name in KNNS}
        self._rules(test, knns)
        self._examples(supported, test)
        if self.name == MIN_MAX:
            self._search_for_k(supported.search(dev.alone(), max(SEARCHED)))
        self._knn_dev(dev, knns)
        shifted = supported.search([*self.fce.test, *self.news.test])
        self._constraints(dev, shifted, knns[DIST])
        self._reliability(shifted, knns[DIST])
        before = self._shifted(shifted, knns[DIST], before=True)
        supported.add(self.news.support)
        after = self._shifted(supported.search(shifted.alone()), knns[DIST], before=False)
        for rule in before:
            if rule != "model":
                self.result.add_claim(
                    "update", f"{self.name}, {rule}, F0.5", after[rule].gain_over(before[rule])
                )
        half = 1 + self._printed_gain() / 2
        self.result.add_claim(
            "update-size",
            f"{self.name}+{DIST}, F0.5 over {half:.3f} times what it was",
            after[DIST].gain_over(before[DIST], factor=half),
        )
        return self.result

    def _printed_gain(self) -> float:
        """By how much news in the support set raise the F0.5 of the paper's K-NN (table 5)."""
        mark = "*" if self.supervised else ""
        name, table = f"{self.name}+{DIST} | F{mark}", paper_tables()["fce-news"]
        rows = (table.row(f"{name} | {support}") for support in (f"F{mark}", f"F{mark}+50k{mark}"))
        before, after = (row.values[-1] or 0.0 for row in rows if row is not None)
        return after / before - 1

    def _search_for_k(self, dev: Searched) -> None:
        """Section 4.1.5: how often the K-NN differs from the model on K-NN dev, by K."""
        for k in SEARCHED:
            report = dev.fit_knn(self.run.recipe, "sentences", "dist", k, supervised=self.supervised)
            row = (report.delta, 100 * report.agreement)
            self.result.add_row("fce-knn-search", f"{self.name}+K{k}NN dist.", *row)

    def _rules(self, test: Searched, knns: dict[str, KNNReport]) -> None:
        alone, with_exag = test.evaluate(), test.evaluate(test.exag())
        self.result.add_row("fce-rules", f"{self.name}+ExAG", *with_exag.percent(*TOKEN_METRICS))
        self.result.add_claim("exag", f"{self.name}, precision", with_exag.gain_over(alone, "precision"))
        with_knn = {name: test.evaluate(test.knn(knns[name].knn)) for name in ("K1NN equal", DIST)}
        for name, evaluated in with_knn.items():
            self.result.add_row("fce-rules", f"{self.name}+{name}", *evaluated.percent(*TOKEN_METRICS))
        if not self.supervised:
            row = (None, *with_knn[DIST].percent("precision", "recall", "f1", "f0.5"))
            self.result.add_row("fce-headline", f"{self.name}+{DIST}", *row)
        gain = with_knn[DIST].gain_over(alone)
        self.result.add_claim("knn", f"{self.name}+{DIST} over {self.name}, F0.5", gain)
        agree = test.knn(self._at_zero(knns[DIST])) == (test.margins > 0)
        right = (test.margins > 0) == (test.truth > 0)
        self.result.add_claim(
            "approximation", f"{self.name}, accuracy where the K-NN agrees", _accuracy_gap(test, right, agree)
        )

    def _examples(self, supported: SupportedModel, test: Searched) -> None:
        """Appendix B: the paper's five sentences (of other data, the first five) with their words' exemplars."""
        known = not self.run.settings.fast and len(self.fce.test) > max(SENTENCES)
        chosen = example_sentences(self.run, self.fce)
        page = examples_markdown(f"{self.name}: example sentences", supported.examples(chosen))
        write_examples(self.run, file_name(self.name), page)
        for row in paper_tables()["fce-exemplars"].rows:
            model, sentence, place = row.name.split(" | ")
            if model == self.name and known:
                token = int(test.ends[int(sentence)]) + int(place.strip("[]"))
                self.result.add_row("fce-exemplars", row.name, float(test.neighbours.distances[token, 0]))
            elif model == self.name:
                self.result.add_missing(
                    "fce-exemplars", row.name, "the paper's sentences are not in this data"
                )

    def _knn_dev(self, dev: Searched, knns: dict[str, KNNReport]) -> None:
        """All weightings on K-NN dev, the half of the dev sentences that chose the epoch."""
        knn_dev = dev.subset(knns[DIST].dev_documents)
        for name, report in knns.items():
            decided = knn_dev.knn(self._at_zero(report))
            f05 = knn_dev.evaluate(decided).f05
            against_model = knn_dev.evaluate(decided, truth=knn_dev.margins > 0)
            agreement = 100 * against_model.total.accuracy
            values = (f05, agreement, against_model.f05)
            self.result.add_row("fce-knn-dev", f"{self.name}+{name}", *values)
        self.result.add_row("fce-knn-dev", self.name, knn_dev.evaluate().f05, None, None)
        knn = self._at_zero(knns[DIST])
        output = knn.output(knn_dev.neighbours) - knn.offset
        for target in (1, 0):
            for what, right in (("truth", knn_dev.truth), ("approximation", knn_dev.margins > 0)):
                bins = knn_dev.measured(output, np.asarray(right, np.int8), what).of_class(target).bins()
                row = f"{self.name} | {target} | {what}"
                self.result.add_row(
                    "fce-figure-2", row, *(100 * (b.f05 if target else b.accuracy) for b in bins)
                )

    def _shifted(self, test: Searched, report: KNNReport, *, before: bool) -> dict[str, TokenEvaluation]:
        """FCE+news2k with the support set as it stands."""
        mark = "*" if self.supervised else ""
        support = f"F{mark}" if before else f"F{mark}+50k{mark}"
        evaluated = {"model": test.evaluate(), DIST: test.evaluate(test.knn(report.knn))}
        if self.supervised or not before:
            evaluated["ExAT"] = test.evaluate(test.exat())
        if not self.supervised:
            evaluated["ExAG"] = test.evaluate(test.exag())
        if before:
            count, genuine = len(self.news.support), self.news.genuine
            note = f"{count:,} news sentences, {genuine:,} of them of the One Billion Word Benchmark, the rest BBC news"
            self.result.add_missing("fce-news", "50k", note)
            self.result.add_row(
                "fce-news", f"{self.name} | F{mark} | -", *evaluated["model"].percent(*TOKEN_METRICS)
            )
        for rule, one in evaluated.items():
            if rule != "model":
                support_set = "F*+50k*" if rule == "ExAT" and not before else support
                row = f"{self.name}+{rule} | F{mark} | {support_set}"
                self.result.add_row("fce-news", row, *one.percent(*TOKEN_METRICS))
        if not self.supervised:
            evaluated.pop("ExAT", None)  # no row of it before news were added: nothing to compare with
        return evaluated

    def _constraints(self, dev: Searched, test: Searched, report: KNNReport) -> None:
        knn_dev = dev.subset(report.dev_documents)
        knn = self._at_zero(report)
        decided = test.knn(knn)
        everything = test.evaluate(decided)
        count = len(test.margins)
        row = f"{self.name}+{DIST}"
        self.result.add_row(
            "fce-constraints", f"{row} | none", everything.f05, None, None, None, None, count, 1.0
        )
        for kind in ADMISSION_KINDS:
            limits = Admission.fit(
                knn,
                knn_dev.neighbours,
                knn_dev.margins,
                support_version="",
                kind=kind,
                recipe=self.run.recipe.name,
            )
            admitted = limits.tokens(knn, test.neighbours).admitted
            evaluated = test.evaluate(decided, only=admitted)
            distance = limits.token_limits.distance if kind != "magnitude" else (None, None)
            output = limits.token_limits.output if kind != "distance" else (None, None)
            share = (int(admitted.sum()), float(admitted.mean()))
            self.result.add_row(
                "fce-constraints", f"{row} | {kind}", evaluated.f05, *distance, *output, *share
            )
            self._limits_against_others(test, decided, admitted, kind)

    def _limits_against_others(self, test: Searched, decided: Bools, admitted: Bools, kind: str) -> None:
        """What the limits admit against everything, and against as many tokens chosen otherwise."""
        limited = test.evaluate(decided, only=admitted)
        alone = test.margins > 0
        draws = np.random.default_rng(0).random(len(decided))
        at_random = as_many(decided, admitted, decided, draws)
        by_margin = as_many(alone, admitted, decided, np.abs(test.margins))
        others = {
            "": test.evaluate(decided),
            " over as many at random": test.evaluate(decided, only=at_random),
            " over as many by the model's own output": test.evaluate(alone, only=by_margin),
        }
        for over, other in others.items():
            case = f"{self.name}, {kind}, F0.5{over}"
            if not admitted.any():
                self.result.add_claim("constraints", case, UNKNOWN, note=NOBODY)
                continue
            beside = (
                "own output" in over
            )  # a comparison of ours: the paper does not say that its limits win it
            self.result.add_claim("constraints", case, limited.gain_over(other), beside=beside)

    def _reliability(self, test: Searched, report: KNNReport) -> None:
        """Figure 3, and for the min-max model the table of quantiles."""
        knn = self._at_zero(report)
        outputs = {DIST: knn.output(test.neighbours) - knn.offset, "model": test.margins.astype(np.float64)}
        for name, output in outputs.items():
            measured = test.measured(output, test.truth, name)
            bins = measured.bins()
            self.result.add_row("fce-figure-3", f"{self.name} | {name}", *(100 * b.f05 for b in bins))
            if self.name != MIN_MAX:
                continue
            for target in (1, 0):
                quantiles = measured.of_class(target).quantiles()
                self.result.add_row(
                    "fce-quantiles", f"{name} | {target} | threshold", *(b.threshold for b in quantiles)
                )
                if target:
                    self.result.add_row(
                        "fce-quantiles", f"{name} | 1 | F0.5", *(100 * b.f05 for b in quantiles)
                    )
                self.result.add_row(
                    "fce-quantiles", f"{name} | {target} | accuracy", *(100 * b.accuracy for b in quantiles)
                )
                self.result.add_row("fce-quantiles", f"{name} | {target} | N", *(b.n for b in quantiles))
        larger = {name: _larger_half(output) for name, output in outputs.items()}
        right = (outputs[DIST] > 0) == (test.truth > 0)
        self.result.add_claim(
            "magnitude", f"{self.name}, accuracy of the larger half", _accuracy_gap(test, right, larger[DIST])
        )
        # Figure 3 is in F0.5: of the half with the larger outputs, by the K-NN's and by the model's.
        halves = {name: test.evaluate(outputs[name] > 0, only=larger[name]) for name in outputs}
        self.result.add_claim(
            "magnitude-tracks", f"{self.name}, larger half, F0.5", halves[DIST].gain_over(halves["model"])
        )


def _larger_half(output: NDArray[np.float64]) -> Bools:
    """Half of the tokens, whatever is equal."""
    chosen = np.zeros(len(output), bool)
    chosen[np.argsort(-np.abs(output), kind="stable")[: len(output) // 2]] = True
    return chosen


def _accuracy_gap(scored: Scored, right: Bools, chosen: Bools) -> Difference:
    """How much more often the chosen tokens are right than the others, drawing over documents."""
    documents = [slice(start, end) for start, end in pairwise(scored.ends.tolist())]
    inside, outside = ([right[d][mask[d]] for d in documents] for mask in (chosen, ~chosen))
    return accuracy_gain(inside, outside)
