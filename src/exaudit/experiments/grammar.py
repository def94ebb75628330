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
from exaudit.decide.fitting import KNNReport
from exaudit.decide.knn import Kind
from exaudit.experiments.corpora import Fce, News, read_fce, read_news
from exaudit.experiments.evidence import Bools, Evidence, Judged, Scored, Searched, score
from exaudit.experiments.examples import examples_markdown
from exaudit.experiments.figures import Figures, percent
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
from exaudit.metrics import Counts, Difference, best_offset, paired_bootstrap, stable_offset
from exaudit.model.labeler import Labeler

__all__ = ["grammar"]

UNICNN, MM, S = "uniCNN", "uniCNN+mm", "uniCNN+S*"
TOKEN = ("precision", "recall", "f0.5")
KNNS: dict[str, tuple[Kind, int]] = {
    "K1NN equal": ("equal", 1),
    "K8NN equal": ("equal", 8),
    "K8NN const.": ("const", 8),
    "K8NN dist.": ("dist", 8),
}
KINDS: tuple[AdmissionKind, ...] = ("magnitude", "distance", "both")
SENTENCES = (174, 223, 250, 1302, 1551)  # of FCE test, counted from 0: those of appendix B
DIST = "K8NN dist."
TUNED_ONCE = "trained with the frozen encoder only: see those results"


def grammar(run: Run) -> Iterator[Figures]:
    """All tables and figures of section 4, step by step."""
    fce = read_fce(run.data, fast=run.settings.fast)
    news = read_news(run.data, fast=run.settings.fast)
    for seed in run.settings.seeds:
        yield run.step(f"fce-uniCNN-{seed}", partial(_zero_shot, run, fce, seed))
    # What needs no model of another step comes first, the longest before all: several processes may share the work.
    yield run.step("fce-news-trained", partial(_trained_on_news, run, fce, news))
    for seed in run.settings.seeds if run.settings.tune_encoder else ():
        yield run.step(f"fce-clean-{seed}", partial(_supervised_with_clean, run, fce, news, seed))
    yield run.step("fce-cnn", partial(_cnn, run, fce))
    yield run.step("fce-two-filters", partial(_two_filters, run, fce))
    yield run.step("fce-widths", partial(_wide, run, fce))
    for seed in run.settings.seeds:
        yield run.step(f"fce-mm-{seed}", partial(_min_max, run, fce, seed))
        yield run.step(f"fce-supervised-{seed}", partial(_supervised, run, fce, seed))
    for name in (UNICNN, MM, S):
        yield run.step(f"fce-evidence-{_plain(name)}", _Audit(run, fce, news, name, run.seed).figures)
    for seed in run.settings.seeds[1:]:
        yield run.step(f"fce-rules-{seed}", _Audit(run, fce, news, UNICNN, seed).rules)
    yield run.step("fce-unigrams", partial(_unigrams, run, fce))


# -- models -------------------------------------------------------------------------------------------------


def _model(run: Run, fce: Fce, name: str, seed: int) -> Labeler:
    """uniCNN, or uniCNN fine-tuned from it; a tuned encoder is tuned for words anew where words are labelled."""
    tuned = run.settings.tune_encoder
    own = f"fce-{_plain(name)}-{seed}"
    if name == UNICNN:
        return run.model(own, fce.train, fce.dev, seed=seed, **run.tuning)
    if name == S and tuned:
        return run.model(own, fce.train, fce.dev, loss="token", seed=seed, tune_encoder=True)
    _model(run, fce, UNICNN, seed)
    loss = "min-max" if name == MM else "token"
    return run.model(own, fce.train, fce.dev, init=f"fce-{_plain(UNICNN)}-{seed}", loss=loss, seed=seed)


def _plain(name: str) -> str:
    return {UNICNN: "uniCNN", MM: "mm", S: "supervised"}[name]


# -- tables 1 and 2: zero-shot and supervised -------------------------------------------------------------


def _zero_shot(run: Run, fce: Fce, seed: int) -> Figures:
    figures = Figures(seed=seed)
    labeler = _model(run, fce, UNICNN, seed)
    test, dev = score(labeler, fce.test), score(labeler, fce.dev)
    model = test.judge()
    figures.row(
        "fce-zero-shot", UNICNN, 100 * test.document_f1(), *model.percent("precision", "recall", "f1")
    )
    figures.row(
        "fce-online", "uniCNN, M=1000", 100 * test.document_f1(), *model.percent(*TOKEN[:2], "f1", "f0.5")
    )
    figures.row("fce-supervised", UNICNN, *model.percent(*TOKEN))
    figures.row("fce-supervised", "uniCNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN))
    headline = ("precision", "recall", "f1", "f0.5")
    figures.row("fce-headline", UNICNN, 100 * test.document_f1(), *model.percent(*headline))
    for beta, name in ((1.0, "F1"), (0.5, "F0.5")):  # no token label is needed for this
        judged = test.judge(test.margins > stable_offset(dev.largest, dev.targets, beta))
        row = f"uniCNN, boundary by the dev documents' {name}"
        figures.row("fce-headline", row, 100 * test.document_f1(), *judged.percent(*headline))
    if seed != run.seed:  # a coin needs no second model
        return figures
    whole = Evaluation.of(test.scores, labeler.names_)
    for name, baseline in (("Random", whole.random()), ("MajorityClass", whole.majority())):
        tokens = baseline.token_metrics() or {}
        values = percent(tokens, "precision", "recall", "f1")
        figures.row("fce-zero-shot", name, 100 * baseline.document_metrics()["f1"], *values)
        said = np.concatenate(baseline.tokens or []) > 0
        figures.claim("zero-shot", f"uniCNN over {name}, F1", model.over(test.judge(said), "f1"))
    return figures


def _with_boundary(test: Scored, dev: Scored, count: int) -> Judged:
    """The boundary tuned with the token labels of the first `count` dev sentences."""
    known = slice(0, int(dev.ends[min(count, len(dev.scores))]))
    return test.judge(test.margins > best_offset(dev.margins[known], dev.truth[known]))


def _min_max(run: Run, fce: Fce, seed: int) -> Figures:
    figures = Figures(seed=seed)
    model = score(_model(run, fce, MM, seed), fce.test).judge()
    base = score(_model(run, fce, UNICNN, seed), fce.test).judge()
    figures.row("fce-supervised", MM, *model.percent(*TOKEN))
    figures.claim("min-max", "precision over uniCNN's", model.over(base, "precision"))
    figures.claim("min-max", "recall under uniCNN's", base.over(model, "recall"))
    return figures


def _supervised(run: Run, fce: Fce, seed: int) -> Figures:
    figures = Figures(seed=seed)
    model = score(_model(run, fce, S, seed), fce.test).judge()
    base = score(_model(run, fce, UNICNN, seed), fce.test).judge()
    figures.row("fce-supervised", S, *model.percent(*TOKEN))
    figures.claim("supervised", "uniCNN+S* over uniCNN, F0.5", model.over(base))
    return figures


def _supervised_with_clean(run: Run, fce: Fce, news: News, seed: int) -> Figures:
    """Beyond the paper: before it learns from token labels, the encoder rehearses with correct sentences."""
    clean = [document.tokens for document in news.support]
    labeler = run.model(
        f"fce-clean-{seed}", fce.train, fce.dev, clean=clean, loss="token", seed=seed, tune_encoder=True
    )
    figures = Figures(seed=seed)
    figures.row("fce-clean", S, *score(labeler, fce.test).judge().percent(*TOKEN))
    return figures


def _cnn(run: Run, fce: Fce) -> Figures:
    """The baseline over word vectors alone: widths 3, 4 and 5, a hundred filters each."""
    labeler = run.model(
        "fce-cnn", fce.train, fce.dev,
        encoder="none", widths=(3, 4, 5), filters=min(100, run.settings.filters),
        word_vectors=run.settings.word_vectors,
    )  # fmt: skip
    test = score(labeler, fce.test)
    figures = Figures()
    values = test.judge().percent("precision", "recall", "f1")
    figures.row("fce-zero-shot", "cnn", 100 * test.document_f1(), *values)
    return figures


def _wide(run: Run, fce: Fce) -> Figures:
    """The same over the encoder, with which the inductive bias of width one is compared."""
    figures = Figures()
    if run.settings.tune_encoder:
        figures.none("fce-zero-shot", "CNN", TUNED_ONCE)
        figures.none("fce-supervised", "CNN+1k", TUNED_ONCE)
        return figures
    labeler = run.model(
        "fce-widths", fce.train, fce.dev, widths=(3, 4, 5), filters=min(100, run.settings.filters)
    )
    test, dev = score(labeler, fce.test), score(labeler, fce.dev)
    model = test.judge()
    figures.row("fce-zero-shot", "CNN", 100 * test.document_f1(), *model.percent("precision", "recall", "f1"))
    figures.row("fce-supervised", "CNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN))
    own = score(_model(run, fce, UNICNN, run.seed), fce.test).judge()
    figures.claim("width-one", "uniCNN over CNN, F0.5", own.over(model))
    figures.claim("width-one", "uniCNN over CNN, precision", own.over(model, "precision"))
    return figures


def _two_filters(run: Run, fce: Fce) -> Figures:
    figures = Figures()
    if run.settings.tune_encoder:
        figures.none("fce-online", "uniCNN, M=2", TUNED_ONCE)
        return figures
    labeler = run.model("fce-two-filters", fce.train, fce.dev, filters=2)
    test = score(labeler, fce.test)
    values = test.judge().percent("precision", "recall", "f1", "f0.5")
    figures.row("fce-online", "uniCNN, M=2", 100 * test.document_f1(), *values)
    return figures


# -- tables 3 to 6, figures 3 and 4: what the support set adds ------------------------------------------------


@dataclass
class _Audit:
    """One model with the training set as its support set, then with news added to it."""

    run: Run
    fce: Fce
    news: News
    name: str
    seed: int
    found: Figures = field(default_factory=Figures)

    @property
    def supervised(self) -> bool:
        return self.name == S

    def rules(self) -> Figures:
        """Another seed: the decisions alone."""
        self.found.seed = self.seed
        evidence = Evidence(_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = evidence.search(self.fce.dev), evidence.search(self.fce.test)
        knns = {name: dev.fit_knn(*KNNS[name], supervised=self.supervised) for name in ("K1NN equal", DIST)}
        self._rules(test, knns)
        return self.found

    def figures(self) -> Figures:
        evidence = Evidence(_model(self.run, self.fce, self.name, self.seed), self.fce.train)
        dev, test = evidence.search(self.fce.dev), evidence.search(self.fce.test)
        knns = {name: dev.fit_knn(kind, k, supervised=self.supervised) for name, (kind, k) in KNNS.items()}
        self._rules(test, knns)
        self._examples(evidence, test)
        self._knn_dev(dev, knns)
        shifted = evidence.search([*self.fce.test, *self.news.test])
        self._constraints(dev, shifted, knns[DIST])
        self._reliability(shifted, knns[DIST])
        before = self._shifted(shifted, knns[DIST], before=True)
        evidence.add(self.news.support)
        after = self._shifted(evidence.search(_again(shifted)), knns[DIST], before=False)
        for rule in before:
            if rule != "model":
                self.found.claim("update", f"{self.name}, {rule}, F0.5", after[rule].over(before[rule]))
        return self.found

    def _rules(self, test: Searched, knns: dict[str, KNNReport]) -> None:
        model, ruled = test.judge(), test.judge(test.exag())
        self.found.row("fce-rules", f"{self.name}+ExAG", *ruled.percent(*TOKEN))
        self.found.claim("exag", f"{self.name}, precision", ruled.over(model, "precision"))
        for name in ("K1NN equal", DIST):
            judged = test.judge(test.knn(knns[name].knn))
            self.found.row("fce-rules", f"{self.name}+{name}", *judged.percent(*TOKEN))
        if not self.supervised:
            row = (None, *judged.percent("precision", "recall", "f1", "f0.5"))
            self.found.row("fce-headline", f"{self.name}+{DIST}", *row)
        self.found.claim("knn", f"{self.name}+{DIST} over {self.name}, F0.5", judged.over(model))
        agree = test.knn(knns[DIST].knn) == (test.margins > 0)
        right = (test.margins > 0) == (test.truth > 0)
        self.found.claim(
            "approximation", f"{self.name}, accuracy where the K-NN agrees", _gap(test, right, agree)
        )

    def _examples(self, evidence: Evidence, test: Searched) -> None:
        """Appendix B: the paper's five sentences (of other data, the first five) with their words' exemplars."""
        known = not self.run.settings.fast and len(self.fce.test) > max(SENTENCES)
        chosen = [self.fce.test[n] for n in (SENTENCES if known else range(5))]
        page = examples_markdown(f"{self.name}: example sentences", evidence.examples(chosen))
        path = self.run.folder / "examples" / f"{_plain(self.name)}.md"  # whole sentences: not to pass on
        path.parent.mkdir(exist_ok=True)
        with replace_file(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        for row in paper_tables()["fce-exemplars"].rows:
            model, sentence, place = row.name.split(" | ")
            if model == self.name and known:
                token = int(test.ends[int(sentence)]) + int(place.strip("[]"))
                self.found.row("fce-exemplars", row.name, float(test.near.distances[token, 0]))
            elif model == self.name:
                self.found.none("fce-exemplars", row.name, "the paper's sentences are not in this data")

    def _knn_dev(self, dev: Searched, knns: dict[str, KNNReport]) -> None:
        """All weightings on K-NN dev, the half of the dev sentences that chose the epoch."""
        held = dev.part(knns[DIST].dev_documents)
        for name, report in knns.items():
            said = held.knn(report.knn)
            like = held.judge(said, right=held.margins > 0)
            agreement = 100 * like.total.accuracy
            values = (100 * held.judge(said).metrics()["f0.5"], agreement, 100 * like.metrics()["f0.5"])
            self.found.row("fce-knn-dev", f"{self.name}+{name}", *values)
        self.found.row("fce-knn-dev", self.name, 100 * held.judge().metrics()["f0.5"], None, None)
        knn = knns[DIST].knn
        output = knn.output(held.near) - knn.offset
        for target in (1, 0):
            for what, right in (("truth", held.truth), ("approximation", held.margins > 0)):
                bins = held.measured(output, np.asarray(right, np.int8), what).of_class(target).bins()
                row = f"{self.name} | {target} | {what}"
                self.found.row("fce-figure-3", row, *(100 * (b.f05 if target else b.accuracy) for b in bins))

    def _shifted(self, test: Searched, report: KNNReport, *, before: bool) -> dict[str, Judged]:
        """FCE+news2k with the support set as it stands."""
        mark = "*" if self.supervised else ""
        support = f"F{mark}" if before else f"F{mark}+50k{mark}"
        judged = {"model": test.judge(), DIST: test.judge(test.knn(report.knn))}
        if self.supervised or not before:
            judged["ExAT"] = test.judge(test.exat())
        if not self.supervised:
            judged["ExAG"] = test.judge(test.exag())
        if before:
            count, genuine = len(self.news.support), self.news.genuine
            note = f"{count:,} news sentences, {genuine:,} of them of the One Billion Word Benchmark, the rest BBC news"
            self.found.none("fce-news", "50k", note)
            self.found.row("fce-news", f"{self.name} | F{mark} | -", *judged["model"].percent(*TOKEN))
        for rule, one in judged.items():
            if rule != "model":
                own = "F*+50k*" if rule == "ExAT" and not before else support
                self.found.row("fce-news", f"{self.name}+{rule} | F{mark} | {own}", *one.percent(*TOKEN))
        if not self.supervised:
            judged.pop("ExAT", None)  # no row of it before news were added: nothing to compare with
        return judged

    def _constraints(self, dev: Searched, test: Searched, report: KNNReport) -> None:
        held = dev.part(report.dev_documents)
        everything = test.judge(test.knn(report.knn))
        count = len(test.margins)
        self.found.row("fce-constraints", f"{self.name}+{DIST} | none",
                       100 * everything.metrics()["f0.5"], None, None, None, None, count, 1.0)  # fmt: skip
        for kind in KINDS:
            limits = Admission.fit(report.knn, held.near, held.margins, support_version="", kind=kind)
            admitted = limits.tokens(report.knn, test.near).admitted
            judged = test.judge(test.knn(report.knn), only=admitted)
            distance = limits.token_limits.distance if kind != "magnitude" else (None, None)
            output = limits.token_limits.output if kind != "distance" else (None, None)
            self.found.row("fce-constraints", f"{self.name}+{DIST} | {kind}", 100 * judged.metrics()["f0.5"],
                           *distance, *output, int(admitted.sum()), float(admitted.mean()))  # fmt: skip
            self.found.claim("constraints", f"{self.name}, {kind}, F0.5", judged.over(everything))

    def _reliability(self, test: Searched, report: KNNReport) -> None:
        """Figure 4, and for the min-max model the table of quantiles."""
        knn = report.knn
        outputs = {DIST: knn.output(test.near) - knn.offset, "model": test.margins.astype(np.float64)}
        for name, output in outputs.items():
            measured = test.measured(output, test.truth, name)
            bins = measured.bins()
            self.found.row("fce-figure-4", f"{self.name} | {name}", *(100 * b.f05 for b in bins))
            if self.name != MM:
                continue
            for target in (1, 0):
                parts = measured.of_class(target).quantiles()
                self.found.row(
                    "fce-quantiles", f"{name} | {target} | threshold", *(b.threshold for b in parts)
                )
                if target:
                    self.found.row("fce-quantiles", f"{name} | 1 | F0.5", *(100 * b.f05 for b in parts))
                self.found.row(
                    "fce-quantiles", f"{name} | {target} | accuracy", *(100 * b.accuracy for b in parts)
                )
                self.found.row("fce-quantiles", f"{name} | {target} | N", *(b.n for b in parts))
        output = outputs[DIST]
        right = (output > 0) == (test.truth > 0)
        strong = np.abs(output) >= np.median(np.abs(output))
        self.found.claim("magnitude", f"{self.name}, accuracy of the larger half", _gap(test, right, strong))


def _again(searched: Searched) -> Scored:
    """The same documents, to be searched for in another support set."""
    return Scored(searched.scores, searched.truth, searched.targets)


def _gap(scored: Scored, right: Bools, chosen: Bools) -> Difference:
    """How much more often the chosen tokens are right than the others, drawing over documents."""
    parts = [slice(a, b) for a, b in pairwise(scored.ends.tolist())]
    inside, outside = (
        [Counts(int((right[p] & mask[p]).sum()), int((~right[p] & mask[p]).sum()), 0, 0) for p in parts]
        for mask in (chosen, ~chosen)
    )
    return paired_bootstrap(lambda c: c.precision, inside, outside)


# -- training with news, and what the model looks at -----------------------------------------------------


def _trained_on_news(run: Run, fce: Fce, news: News) -> Figures:
    """The alternative to an updated support set: news among the training sentences."""
    figures = Figures()
    if run.settings.tune_encoder:
        for row in ("news50k | F+50k | -", "news50k+ExAG | F+50k | F+50k"):
            figures.none("fce-news", f"uniCNN+{row}", TUNED_ONCE)
            figures.none("fce-news", f"uniCNN+mm+{row}", TUNED_ONCE)
        return figures
    train = [*fce.train, *news.support]
    # As many steps as on FCE alone: more documents, fewer epochs.
    epochs = run.settings.epochs or max(2, math.ceil(12 * len(fce.train) / len(train)))
    test = [*fce.test, *news.test]
    for name, init, loss in (("uniCNN", None, "document"), ("uniCNN+mm", "fce-news-uniCNN", "min-max")):
        labeler = run.model(f"fce-news-{name}", train, fce.dev, init=init, loss=loss, epochs=epochs)
        searched = Evidence(labeler, train).search(test)
        model, ruled = searched.judge(), searched.judge(searched.exag())
        figures.row("fce-news", f"{name}+news50k | F+50k | -", *model.percent(*TOKEN))
        figures.row("fce-news", f"{name}+news50k+ExAG | F+50k | F+50k", *ruled.percent(*TOKEN))
    return figures


def _unigrams(run: Run, fce: Fce) -> Figures:
    """Appendix B: the words with the highest and the lowest scores in the wrong sentences of the training set."""
    labeler = _model(run, fce, UNICNN, run.seed)
    features = Features.of(labeler.iter_label(fce.train, total=len(fce.train)), labeler)
    figures = Figures()
    for end, lowest, top in (("top", False, 23), ("lowest", True, 13)):
        figures.grams(
            "fce-unigrams", None, end, features.ngrams(1, 1, truth=1, top=top, lowest=lowest), "mean"
        )
    return figures
