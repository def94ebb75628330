"""Grammatical error detection on FCE: section 4 of the paper and appendix B."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np

from exaudit._files import replace_file
from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.features import Features
from exaudit.decide.admission import Admission, AdmissionKind
from exaudit.decide.knn import Kind
from exaudit.decide.training import KNNReport
from exaudit.experiments.corpora import News, Splits, read_fce, read_news
from exaudit.experiments.examples import examples_markdown
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, Scored, TokenEvaluation, score
from exaudit.experiments.step_result import StepResult, percent
from exaudit.experiments.supported_model import Searched, SupportedModel
from exaudit.metrics import Counts, Difference, best_offset, paired_bootstrap, stable_offset
from exaudit.model.labeler import Labeler

__all__ = ["grammar"]

UNICNN, MIN_MAX, SUPERVISED = "uniCNN", "uniCNN+mm", "uniCNN+S*"
TOKEN_METRICS = ("precision", "recall", "f0.5")
KNNS: dict[str, tuple[Kind, int]] = {
    "K1NN equal": ("equal", 1),
    "K8NN equal": ("equal", 8),
    "K8NN const.": ("const", 8),
    "K8NN dist.": ("dist", 8),
}
ADMISSION_KINDS: tuple[AdmissionKind, ...] = ("magnitude", "distance", "both")
SENTENCES = (174, 223, 250, 1302, 1551)  # of FCE test, counted from 0: those of appendix B
DIST = "K8NN dist."
TUNED_ONCE = "trained with the frozen encoder only: see those results"


def grammar(run: Run) -> Iterator[StepResult]:
    """All tables and figures of section 4, step by step."""
    fce = read_fce(run.data, fast=run.settings.fast)
    news = read_news(run.data, fast=run.settings.fast)
    for seed in run.settings.seeds:
        yield run.step(f"fce-uniCNN-{seed}", partial(_zero_shot, run, fce, seed))
    # What needs no model of another step comes first, the longest before all: several processes may share the work.
    yield run.step("fce-news-trained", partial(_trained_on_news, run, fce, news))
    yield run.step("fce-cnn", partial(_cnn, run, fce))
    yield run.step("fce-two-filters", partial(_two_filters, run, fce))
    yield run.step("fce-widths", partial(_wide, run, fce))
    for seed in run.settings.seeds:
        yield run.step(f"fce-mm-{seed}", partial(_min_max, run, fce, seed))
        yield run.step(f"fce-supervised-{seed}", partial(_supervised, run, fce, seed))
    for name in (UNICNN, MIN_MAX, SUPERVISED):
        yield run.step(f"fce-evidence-{_file_name(name)}", _Audit(run, fce, news, name, run.seed).tables)
    for seed in run.settings.seeds[1:]:
        yield run.step(f"fce-rules-{seed}", _Audit(run, fce, news, UNICNN, seed).rules)
    yield run.step("fce-unigrams", partial(_unigrams, run, fce))


# -- models -------------------------------------------------------------------------------------------------


def _model(run: Run, fce: Splits, name: str, seed: int) -> Labeler:
    """uniCNN, or uniCNN fine-tuned from it; a tuned encoder is tuned for words anew where words are labelled."""
    tuned = run.settings.tune_encoder
    file_name = f"fce-{_file_name(name)}-{seed}"
    if name == UNICNN:
        return run.model(file_name, fce.train, fce.dev, seed=seed, tune_encoder=tuned)
    if name == SUPERVISED and tuned:
        return run.model(file_name, fce.train, fce.dev, loss="token", seed=seed, tune_encoder=True)
    _model(run, fce, UNICNN, seed)
    loss = "min-max" if name == MIN_MAX else "token"
    return run.model(
        file_name, fce.train, fce.dev, init=f"fce-{_file_name(UNICNN)}-{seed}", loss=loss, seed=seed
    )


def _file_name(name: str) -> str:
    return {UNICNN: "uniCNN", MIN_MAX: "mm", SUPERVISED: "supervised"}[name]


# -- tables 1 and 2: zero-shot and supervised -------------------------------------------------------------


def _zero_shot(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    labeler = _model(run, fce, UNICNN, seed)
    test, dev = score(labeler, fce.test), score(labeler, fce.dev)
    model = test.evaluate()
    result.add_row(
        "fce-zero-shot", UNICNN, 100 * test.document_f1(), *model.percent("precision", "recall", "f1")
    )
    result.add_row(
        "fce-online",
        "uniCNN, M=1000",
        100 * test.document_f1(),
        *model.percent(*TOKEN_METRICS[:2], "f1", "f0.5"),
    )
    result.add_row("fce-supervised", UNICNN, *model.percent(*TOKEN_METRICS))
    result.add_row("fce-supervised", "uniCNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN_METRICS))
    headline = ("precision", "recall", "f1", "f0.5")
    result.add_row("fce-headline", UNICNN, 100 * test.document_f1(), *model.percent(*headline))
    for beta, name in ((1.0, "F1"), (0.5, "F0.5")):  # no token label is needed for this
        evaluated = test.evaluate(test.margins > stable_offset(dev.largest, dev.targets, beta))
        row = f"uniCNN, boundary by the dev documents' {name}"
        result.add_row("fce-headline", row, 100 * test.document_f1(), *evaluated.percent(*headline))
    if seed != run.seed:  # a coin needs no second model
        return result
    whole = Evaluation.of(test.scores, labeler.names_)
    for name, baseline in (("Random", whole.random()), ("MajorityClass", whole.majority())):
        tokens = baseline.token_metrics() or {}
        values = percent(tokens, "precision", "recall", "f1")
        result.add_row("fce-zero-shot", name, 100 * baseline.document_metrics()["f1"], *values)
        decided = np.concatenate(baseline.tokens or []) > 0
        result.add_claim(
            "zero-shot", f"uniCNN over {name}, F1", model.gain_over(test.evaluate(decided), "f1")
        )
    return result


def _with_boundary(test: Scored, dev: Scored, count: int) -> TokenEvaluation:
    """The boundary tuned with the token labels of the first `count` dev sentences."""
    known = slice(0, int(dev.ends[min(count, len(dev.scores))]))
    return test.evaluate(test.margins > best_offset(dev.margins[known], dev.truth[known]))


def _min_max(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    model = score(_model(run, fce, MIN_MAX, seed), fce.test).evaluate()
    base = score(_model(run, fce, UNICNN, seed), fce.test).evaluate()
    result.add_row("fce-supervised", MIN_MAX, *model.percent(*TOKEN_METRICS))
    result.add_claim("min-max", "precision over uniCNN's", model.gain_over(base, "precision"))
    result.add_claim("min-max", "recall under uniCNN's", base.gain_over(model, "recall"))
    return result


def _supervised(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    model = score(_model(run, fce, SUPERVISED, seed), fce.test).evaluate()
    base = score(_model(run, fce, UNICNN, seed), fce.test).evaluate()
    result.add_row("fce-supervised", SUPERVISED, *model.percent(*TOKEN_METRICS))
    result.add_claim("supervised", "uniCNN+S* over uniCNN, F0.5", model.gain_over(base))
    return result


def _cnn(run: Run, fce: Splits) -> StepResult:
    """The baseline over word vectors alone: widths 3, 4 and 5, a hundred filters each."""
    labeler = run.model(
        "fce-cnn", fce.train, fce.dev,
        encoder="none", widths=(3, 4, 5), filters=min(100, run.settings.filters),
        word_vectors=run.settings.word_vectors,
    )  # fmt: skip
    test = score(labeler, fce.test)
    result = StepResult()
    values = test.evaluate().percent("precision", "recall", "f1")
    result.add_row("fce-zero-shot", "cnn", 100 * test.document_f1(), *values)
    return result


def _wide(run: Run, fce: Splits) -> StepResult:
    """The same over the encoder, with which the inductive bias of width one is compared."""
    result = StepResult()
    if run.settings.tune_encoder:
        result.add_missing("fce-zero-shot", "CNN", TUNED_ONCE)
        result.add_missing("fce-supervised", "CNN+1k", TUNED_ONCE)
        return result
    labeler = run.model(
        "fce-widths", fce.train, fce.dev, widths=(3, 4, 5), filters=min(100, run.settings.filters)
    )
    test, dev = score(labeler, fce.test), score(labeler, fce.dev)
    model = test.evaluate()
    result.add_row(
        "fce-zero-shot", "CNN", 100 * test.document_f1(), *model.percent("precision", "recall", "f1")
    )
    result.add_row("fce-supervised", "CNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN_METRICS))
    unicnn = score(_model(run, fce, UNICNN, run.seed), fce.test).evaluate()
    result.add_claim("width-one", "uniCNN over CNN, F0.5", unicnn.gain_over(model))
    result.add_claim("width-one", "uniCNN over CNN, precision", unicnn.gain_over(model, "precision"))
    return result


def _two_filters(run: Run, fce: Splits) -> StepResult:
    result = StepResult()
    if run.settings.tune_encoder:
        result.add_missing("fce-online", "uniCNN, M=2", TUNED_ONCE)
        return result
    labeler = run.model("fce-two-filters", fce.train, fce.dev, filters=2)
    test = score(labeler, fce.test)
    values = test.evaluate().percent("precision", "recall", "f1", "f0.5")
    result.add_row("fce-online", "uniCNN, M=2", 100 * test.document_f1(), *values)
    return result


# -- tables 3 to 6, figures 3 and 4: what the support set adds ------------------------------------------------


@dataclass
class _Audit:
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

    def rules(self) -> StepResult:
        """Another seed: the decisions alone."""
        self.result.seed = self.seed
        supported = SupportedModel(_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = supported.search(self.fce.dev), supported.search(self.fce.test)
        knns = {name: dev.fit_knn(*KNNS[name], supervised=self.supervised) for name in ("K1NN equal", DIST)}
        self._rules(test, knns)
        return self.result

    def tables(self) -> StepResult:
        """All tables, before and after news were added to the support set."""
        supported = SupportedModel(_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = supported.search(self.fce.dev), supported.search(self.fce.test)
        knns = {name: dev.fit_knn(kind, k, supervised=self.supervised) for name, (kind, k) in KNNS.items()}
        self._rules(test, knns)
        self._examples(supported, test)
        self._knn_dev(dev, knns)
        shifted = supported.search([*self.fce.test, *self.news.test])
        self._constraints(dev, shifted, knns[DIST])
        self._reliability(shifted, knns[DIST])
        before = self._shifted(shifted, knns[DIST], before=True)
        supported.add(self.news.support)
        after = self._shifted(supported.search(_without_neighbours(shifted)), knns[DIST], before=False)
        for rule in before:
            if rule != "model":
                self.result.add_claim(
                    "update", f"{self.name}, {rule}, F0.5", after[rule].gain_over(before[rule])
                )
        return self.result

    def _rules(self, test: Searched, knns: dict[str, KNNReport]) -> None:
        model, with_exag = test.evaluate(), test.evaluate(test.exag())
        self.result.add_row("fce-rules", f"{self.name}+ExAG", *with_exag.percent(*TOKEN_METRICS))
        self.result.add_claim("exag", f"{self.name}, precision", with_exag.gain_over(model, "precision"))
        with_knn = {name: test.evaluate(test.knn(knns[name].knn)) for name in ("K1NN equal", DIST)}
        for name, evaluated in with_knn.items():
            self.result.add_row("fce-rules", f"{self.name}+{name}", *evaluated.percent(*TOKEN_METRICS))
        if not self.supervised:
            row = (None, *with_knn[DIST].percent("precision", "recall", "f1", "f0.5"))
            self.result.add_row("fce-headline", f"{self.name}+{DIST}", *row)
        gain = with_knn[DIST].gain_over(model)
        self.result.add_claim("knn", f"{self.name}+{DIST} over {self.name}, F0.5", gain)
        agree = test.knn(knns[DIST].knn) == (test.margins > 0)
        right = (test.margins > 0) == (test.truth > 0)
        self.result.add_claim(
            "approximation", f"{self.name}, accuracy where the K-NN agrees", _gap(test, right, agree)
        )

    def _examples(self, supported: SupportedModel, test: Searched) -> None:
        """Appendix B: the paper's five sentences (of other data, the first five) with their words' exemplars."""
        known = not self.run.settings.fast and len(self.fce.test) > max(SENTENCES)
        chosen = [self.fce.test[n] for n in (SENTENCES if known else range(5))]
        page = examples_markdown(f"{self.name}: example sentences", supported.examples(chosen))
        path = self.run.folder / "examples" / f"{_file_name(self.name)}.md"  # whole sentences: not to pass on
        path.parent.mkdir(exist_ok=True)
        with replace_file(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
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
            decided = knn_dev.knn(report.knn)
            f05 = knn_dev.evaluate(decided).percent("f0.5")
            against_model = knn_dev.evaluate(decided, truth=knn_dev.margins > 0)
            agreement = 100 * against_model.total.accuracy
            values = (*f05, agreement, *against_model.percent("f0.5"))
            self.result.add_row("fce-knn-dev", f"{self.name}+{name}", *values)
        self.result.add_row("fce-knn-dev", self.name, *knn_dev.evaluate().percent("f0.5"), None, None)
        knn = knns[DIST].knn
        output = knn.output(knn_dev.neighbours) - knn.offset
        for target in (1, 0):
            for what, right in (("truth", knn_dev.truth), ("approximation", knn_dev.margins > 0)):
                bins = knn_dev.measured(output, np.asarray(right, np.int8), what).of_class(target).bins()
                row = f"{self.name} | {target} | {what}"
                self.result.add_row(
                    "fce-figure-3", row, *(100 * (b.f05 if target else b.accuracy) for b in bins)
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
        everything = test.evaluate(test.knn(report.knn))
        count = len(test.margins)
        self.result.add_row("fce-constraints", f"{self.name}+{DIST} | none",
                       *everything.percent("f0.5"), None, None, None, None, count, 1.0)  # fmt: skip
        for kind in ADMISSION_KINDS:
            limits = Admission.fit(
                report.knn, knn_dev.neighbours, knn_dev.margins, support_version="", kind=kind
            )
            admitted = limits.tokens(report.knn, test.neighbours).admitted
            evaluated = test.evaluate(test.knn(report.knn), only=admitted)
            distance = limits.token_limits.distance if kind != "magnitude" else (None, None)
            output = limits.token_limits.output if kind != "distance" else (None, None)
            self.result.add_row("fce-constraints", f"{self.name}+{DIST} | {kind}", *evaluated.percent("f0.5"),
                           *distance, *output, int(admitted.sum()), float(admitted.mean()))  # fmt: skip
            self.result.add_claim(
                "constraints", f"{self.name}, {kind}, F0.5", evaluated.gain_over(everything)
            )

    def _reliability(self, test: Searched, report: KNNReport) -> None:
        """Figure 4, and for the min-max model the table of quantiles."""
        knn = report.knn
        outputs = {DIST: knn.output(test.neighbours) - knn.offset, "model": test.margins.astype(np.float64)}
        for name, output in outputs.items():
            measured = test.measured(output, test.truth, name)
            bins = measured.bins()
            self.result.add_row("fce-figure-4", f"{self.name} | {name}", *(100 * b.f05 for b in bins))
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
        output = outputs[DIST]
        right = (output > 0) == (test.truth > 0)
        strong = np.abs(output) >= np.median(np.abs(output))
        self.result.add_claim(
            "magnitude", f"{self.name}, accuracy of the larger half", _gap(test, right, strong)
        )


def _without_neighbours(searched: Searched) -> Scored:
    """The same documents, to be searched for in another support set."""
    return Scored(searched.scores, searched.truth, searched.targets)


def _gap(scored: Scored, right: Bools, chosen: Bools) -> Difference:
    """How much more often the chosen tokens are right than the others, drawing over documents."""
    documents = [slice(start, end) for start, end in pairwise(scored.ends.tolist())]
    inside, outside = (
        [Counts(int((right[d] & mask[d]).sum()), int((~right[d] & mask[d]).sum()), 0, 0) for d in documents]
        for mask in (chosen, ~chosen)
    )
    return paired_bootstrap(lambda c: c.precision, inside, outside)


# -- training with news, and what the model looks at -----------------------------------------------------


def _trained_on_news(run: Run, fce: Splits, news: News) -> StepResult:
    """The alternative to an updated support set: news among the training sentences."""
    result = StepResult()
    if run.settings.tune_encoder:
        for row in ("news50k | F+50k | -", "news50k+ExAG | F+50k | F+50k"):
            result.add_missing("fce-news", f"uniCNN+{row}", TUNED_ONCE)
            result.add_missing("fce-news", f"uniCNN+mm+{row}", TUNED_ONCE)
        return result
    train = [*fce.train, *news.support]
    # As many steps as on FCE alone: more documents, fewer epochs.
    epochs = run.settings.epochs or max(2, math.ceil(12 * len(fce.train) / len(train)))
    test = [*fce.test, *news.test]
    for name, init, loss in (("uniCNN", None, "document"), ("uniCNN+mm", "fce-news-uniCNN", "min-max")):
        labeler = run.model(f"fce-news-{name}", train, fce.dev, init=init, loss=loss, epochs=epochs)
        searched = SupportedModel(labeler, train).search(test)
        model, with_exag = searched.evaluate(), searched.evaluate(searched.exag())
        result.add_row("fce-news", f"{name}+news50k | F+50k | -", *model.percent(*TOKEN_METRICS))
        result.add_row("fce-news", f"{name}+news50k+ExAG | F+50k | F+50k", *with_exag.percent(*TOKEN_METRICS))
    return result


def _unigrams(run: Run, fce: Splits) -> StepResult:
    """Appendix B: the words with the highest and the lowest scores in the wrong sentences of the training set."""
    labeler = _model(run, fce, UNICNN, run.seed)
    features = Features.of(labeler.iter_label(fce.train, total=len(fce.train)), labeler)
    result = StepResult()
    for end, lowest, top in (("top", False, 23), ("lowest", True, 13)):
        result.add_ngrams(
            "fce-unigrams", None, end, features.ngrams(1, 1, truth=1, top=top, lowest=lowest), "mean"
        )
    return result
