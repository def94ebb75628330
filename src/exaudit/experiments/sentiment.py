"""Sentiment of film reviews: section 5 of the paper and appendix C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from exaudit.analyse.evaluation import Evaluation
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.decide.admission import Admission
from exaudit.decide.training import KNNReport
from exaudit.experiments.corpora import SEED, Contrast, Reviews, read_contrast, read_reviews, read_tweets
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, Scored, TokenEvaluation, score
from exaudit.experiments.step_result import StepResult
from exaudit.experiments.supported_model import Searched, SupportedModel
from exaudit.metrics import Counts, Difference, best_offset, paired_bootstrap, stable_offset
from exaudit.model.labeler import Labeler

__all__ = ["sentiment", "training_sets"]

ORIG, PAIRED, DISJOINT = SMALL = (
    "Orig. (3.4k)",
    "Orig.+Rev. (1.7k+1.7k)",
    "Orig. disjoint+Rev. (1.7k+1.7k)",
)
ORIG_19K, PAIRED_19K, DISJOINT_19K = LARGE = (
    "Orig. (19k)",
    "Orig.+Rev. (19k+1.7k)",
    "Orig. disjoint+Rev. (19k-1.7k+1.7k)",
)
FILES = {
    ORIG: "orig",
    PAIRED: "paired",
    DISJOINT: "disjoint",
    ORIG_19K: "orig-19k",
    PAIRED_19K: "paired-19k",
    DISJOINT_19K: "disjoint-19k",
}
ORIGINALS, REVISIONS, CONTRAST, TWEETS = "Orig.", "Rev.", "Contrast", "SemEval-2017"  # test sets
S_ORIG, S_REV, S_BOTH, S_DEV = "S=Orig.", "S=Rev.", "S=Orig.+Rev.", "S=Orig. dev+Rev. dev"  # support sets
CLASSES = LabelNames("Negative", "Positive")
DIST = "K8NN dist."
KNN_EPOCHS = 60
# Of fewer admitted reviews often all are right, and an interval drawn from them would be too narrow.
FEW = 20
NOT_HERE = (
    "needs the large set of original reviews, imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz, which "
    "is not in the data folder"
)
NOT_TUNED = (
    "with the frozen encoder only (see those results): from all layers of a tuned encoder, the features of 19k "
    "reviews take tens of gigabytes"
)


def sentiment(run: Run) -> Iterator[StepResult]:
    """All sentiment tables, step by step."""
    data = _Data.read(run)
    yield run.step("sentiment-baselines", partial(_baselines, run, data))
    absent = _absent(run, data)
    for name, file in FILES.items():
        if name in absent:
            yield run.step(f"sentiment-without-{file}", partial(_without, run, name, absent[name]))
        else:
            yield run.step(f"sentiment-{file}", partial(_trained, run, data, name))
    for size, names in (("small", SMALL), ("large", LARGE)):
        if absent.keys().isdisjoint(names):
            yield run.step(f"sentiment-compared-{size}", partial(_compared, run, data, *names))
    for name in SMALL:
        if name in absent:
            continue
        audit = _Audit(run, data, name)
        if name == ORIG:
            yield run.step("sentiment-knn", audit.knn)
        yield run.step(f"sentiment-rules-{FILES[name]}", audit.rules)


# -- data and models ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Data:
    reviews: Reviews
    contrast: Contrast
    tweets: list[Document]

    @classmethod
    def read(cls, run: Run) -> _Data:
        data, fast = run.data, run.settings.fast
        return cls(
            read_reviews(data, fast=fast), read_contrast(data, fast=fast), read_tweets(data, fast=fast)
        )

    @property
    def tests(self) -> dict[str, list[Document]]:
        """The test sets by their names in the tables."""
        orig, rev = self.reviews.orig.test, self.reviews.rev.test
        return {ORIGINALS: orig, REVISIONS: rev, CONTRAST: self.contrast.revised, TWEETS: self.tweets}


def training_sets(reviews: Reviews) -> dict[str, tuple[list[Document], list[Document]]]:
    """Train and dev documents under each of the paper's six names.

    In the disjoint sets no revision stands beside its original, neither in train nor in dev.
    """
    orig, rev, large = reviews.orig, reviews.rev, reviews.orig_19k
    never_revised = [document for document in large if document.id not in reviews.shared]
    both_devs = [*orig.dev, *rev.dev]
    coins = np.random.default_rng(SEED).integers(0, 2, len(orig.dev)).tolist()
    one_per_pair = [pair[coin] for coin, pair in zip(coins, zip(orig.dev, rev.dev, strict=True), strict=True)]
    return {
        ORIG: ([*orig.train, *_as_many(orig.train, never_revised)], orig.dev),
        PAIRED: ([*orig.train, *rev.train], both_devs),
        DISJOINT: ([*_as_many(rev.train, never_revised), *rev.train], one_per_pair),
        ORIG_19K: (large, orig.dev),
        PAIRED_19K: ([*large, *rev.train], both_devs),
        DISJOINT_19K: ([*never_revised, *rev.train], one_per_pair),
    }


def _as_many(documents: Sequence[Document], pool: Sequence[Document]) -> list[Document]:
    """As many others, drawn from the pool, so that with them there are as many negative as positive reviews."""
    draws = np.random.default_rng(SEED)
    drawn: list[int] = []
    for label in (CLASSES.negative, CLASSES.positive):
        of_class = [i for i, document in enumerate(pool) if document.label == label]
        wanted = len(documents) - sum(document.label == label for document in documents)
        drawn += draws.permutation(of_class)[:wanted].tolist()
    return [pool[i] for i in sorted(drawn)]


def _absent(run: Run, data: _Data) -> dict[str, str]:
    """Training sets that this run goes without, and why."""
    if not data.reviews.orig_19k:
        return {name: NOT_HERE for name in FILES if name != PAIRED}
    return dict.fromkeys(LARGE, NOT_TUNED) if run.settings.tune_encoder else {}


def _model(run: Run, data: _Data, name: str) -> Labeler:
    train, dev = training_sets(data.reviews)[name]
    return run.model(
        f"sentiment-{FILES[name]}", train, dev,
        max_length=350, select="accuracy", positive=CLASSES.positive, tune_encoder=run.settings.tune_encoder,
    )  # fmt: skip


def _own_row(run: Run) -> str:
    """Our row in the comparison of encoders."""
    return f"uniCNN, {run.settings.encoder_name}" + (", tuned" if run.settings.tune_encoder else "")


# -- reviews, and words with a tuned boundary -----------------------------------------------------------------


def _baselines(run: Run, data: _Data) -> StepResult:
    """A fair coin for every review and every word."""
    coins = {test: _coin(documents) for test, documents in data.tests.items()}
    accuracy = {test: 100 * coin.document_metrics()["accuracy"] for test, coin in coins.items()}
    f05 = {
        test: 100 * (coins[test].token_metrics() or {})["f0.5"] for test in (ORIGINALS, REVISIONS, CONTRAST)
    }
    result = StepResult()
    result.add_row("sentiment-review", "Random", accuracy[ORIGINALS], accuracy[REVISIONS])
    result.add_row("sentiment-semeval", "Random", accuracy[TWEETS])
    result.add_row("contrast-review", "Random", accuracy[CONTRAST], f05[CONTRAST])
    result.add_row("sentiment-tokens", "Random", f05[ORIGINALS], f05[REVISIONS])
    result.add_row("sentiment-rules", "Random", *(3 * (f05[ORIGINALS], f05[REVISIONS])))
    result.add_row("contrast-rules", "Random", *(4 * (f05[CONTRAST],)))
    why = f"the encoder of the paper; this run's is in the row {_own_row(run)!r}"
    result.add_missing("sentiment-frozen", "uniCNN, BERT large", why)
    return result


def _coin(documents: Sequence[Document]) -> Evaluation:
    truth = np.array([CLASSES.document_target(document) for document in documents], np.int8)
    known = [CLASSES.token_targets(document) for document in documents]
    tokens = [targets for targets in known if targets is not None]
    words = tokens if len(tokens) == len(documents) else None
    return Evaluation(truth, truth, words, words).random()


def _trained(run: Run, data: _Data, name: str) -> StepResult:
    labeler = _model(run, data, name)
    dev = score(labeler, data.reviews.orig.dev)
    tests = {test: score(labeler, documents) for test, documents in data.tests.items()}
    accuracy = {test: 100 * scored.accuracy for test, scored in tests.items()}
    boundary = best_offset(dev.margins, dev.truth)
    f05 = {
        test: _f05(tests[test].evaluate(tests[test].margins > boundary))
        for test in (ORIGINALS, REVISIONS, CONTRAST)
    }
    result = StepResult()
    result.add_row("sentiment-review", name, accuracy[ORIGINALS], accuracy[REVISIONS])
    result.add_row("sentiment-semeval", name, accuracy[TWEETS])
    result.add_row("sentiment-tokens", name, f05[ORIGINALS], f05[REVISIONS])
    result.add_row("contrast-review", name, accuracy[CONTRAST], f05[CONTRAST])
    if name == PAIRED_19K:
        result.add_row("sentiment-frozen", _own_row(run), accuracy[ORIGINALS], accuracy[REVISIONS])
    boundaries = {
        "zero": 0.0,
        "by the dev documents' F1": stable_offset(dev.largest, dev.targets, 1.0),
        "by the dev documents' F0.5": stable_offset(dev.largest, dev.targets, 0.5),
    }
    for where, offset in boundaries.items():
        scored = (tests[test] for test in (ORIGINALS, REVISIONS, CONTRAST))
        values = (_f05(one.evaluate(one.margins > offset)) for one in scored)
        result.add_row("sentiment-zero-shot", f"{name} | {where}", *values)
    return result


def _without(run: Run, name: str, why: str) -> StepResult:
    """The paper's rows of a training set that this run goes without."""
    result = StepResult()
    for table in paper_tables().values():
        if table.experiment != "sentiment":
            continue
        for row in table.rows:
            is_constraint = table.id == "sentiment-constraints" and name == ORIG
            if is_constraint or row.name == name or row.name.startswith(f"{name}+"):
                result.add_missing(table.id, row.name, why)
    if name == PAIRED_19K:
        result.add_missing("sentiment-frozen", _own_row(run), why)
    return result


def _compared(run: Run, data: _Data, orig: str, paired: str, disjoint: str) -> StepResult:
    """What revisions add to the training set, and what it adds that they stand beside their originals."""
    tests = data.tests
    without_rev, with_pairs, without_pairs = (_model(run, data, name) for name in (orig, paired, disjoint))
    rev = score(with_pairs, tests[REVISIONS])
    result = StepResult()
    case = f"{paired} over {orig}, accuracy on"
    result.add_claim(
        "re-edits-help", f"{case} {REVISIONS}", _accuracy_gain(rev, score(without_rev, tests[REVISIONS]))
    )
    tweets = _accuracy_gain(score(with_pairs, tests[TWEETS]), score(without_rev, tests[TWEETS]))
    result.add_claim("out-of-domain", f"{case} {TWEETS}", tweets)
    apart = _accuracy_gain(rev, score(without_pairs, tests[REVISIONS]))
    result.add_claim("disjoint", f"{paired} over {disjoint}, accuracy on {REVISIONS}", apart)
    return result


def _accuracy_gain(ours: Scored, others: Scored) -> Difference:
    """How much more accurate one model is than another on the same documents."""
    return paired_bootstrap(
        lambda c: c.precision, _counts_of_right(ours.correct), _counts_of_right(others.correct)
    )


def _counts_of_right(correct: Bools, chosen: Bools | None = None) -> list[Counts]:
    """Right and wrong answers, document by document, so that their precision is the accuracy of the chosen."""
    kept = np.ones(len(correct), bool) if chosen is None else chosen
    return [Counts(int(r and k), int(k and not r), 0, 0) for r, k in zip(correct, kept, strict=True)]


def _f05(evaluated: TokenEvaluation) -> float:
    return evaluated.percent("f0.5")[0]


# -- what the support set adds --------------------------------------------------------------------------------


@dataclass
class _Audit:
    """One model with each support set. Test reviews are labelled once, and searched for in all of them.

    A row of the rules' tables has a column for each support set, so all of them are one step.
    """

    run: Run
    data: _Data
    name: str

    @cached_property
    def labeler(self) -> Labeler:
        return _model(self.run, self.data, self.name)

    @cached_property
    def tests(self) -> dict[str, Scored]:
        tests = self.data.tests
        return {
            test: score(self.labeler, tests[test], exemplars=True)
            for test in (ORIGINALS, REVISIONS, CONTRAST)
        }

    @cached_property
    def supported(self) -> SupportedModel:
        return SupportedModel(self.labeler, self.data.reviews.orig.train)

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
        evaluated[S_REV] = _with_rules(self._search(SupportedModel(self.labeler, rev.train)))
        few = SupportedModel(self.labeler, [*orig.dev, *rev.dev])
        evaluated[S_DEV] = _with_rules({CONTRAST: few.search(self.tests[CONTRAST])})

        result = StepResult()
        for rule in ("", "+ExAG", "+ExAT"):
            values = [
                _f05(evaluated[s][test][rule])
                for s in (S_ORIG, S_REV, S_BOTH)
                for test in (ORIGINALS, REVISIONS)
            ]
            result.add_row("sentiment-rules", f"{self.name}{rule}", *values)
            values = [_f05(evaluated[s][CONTRAST][rule]) for s in (S_ORIG, S_REV, S_BOTH, S_DEV)]
            result.add_row("contrast-rules", f"{self.name}{rule}", *values)
        for test, by_rule in evaluated[S_BOTH].items():
            case = f"{self.name}, {S_BOTH} on {test}, F0.5"
            result.add_claim("sentiment-exat", case, by_rule["+ExAT"].gain_over(by_rule[""]))
        if self.name == ORIG:
            for test in (REVISIONS, CONTRAST):
                after, before = evaluated[S_REV][test]["+ExAG"], evaluated[S_ORIG][test]["+ExAG"]
                case = f"{ORIG}+ExAG, {S_REV} over {S_ORIG} on {test}, F0.5"
                result.add_claim("sentiment-update", case, after.gain_over(before))
        return result

    def knn(self) -> StepResult:
        """The K-NN in the place of the model, and the reviews it admits."""
        result = StepResult()
        dev = self.supported.search(self.data.reviews.orig.dev)
        report = dev.fit_knn("dist", epochs=KNN_EPOCHS)
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
            model = searched.evaluate(searched.margins > model_boundary)
            values.append(_f05(with_knn))
            case = f"{self.name}+{DIST} over {self.name} on {test}, F0.5"
            result.add_claim("sentiment-knn", case, with_knn.gain_over(model))
        result.add_row("sentiment-tokens", f"{self.name}+{DIST}", *values)

    def _constraints(self, result: StepResult, dev: Searched, report: KNNReport) -> None:
        """Limits for words from K-NN dev, for reviews from all of dev; then who is admitted, and how often right."""
        knn, knn_dev = report.knn, dev.subset(report.dev_documents)
        token_limits = Admission.fit(
            knn, knn_dev.neighbours, knn_dev.margins, support_version="", kind="both"
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
                if count >= FEW:
                    gain = paired_bootstrap(
                        lambda c: c.precision, _counts_of_right(right, chosen), _counts_of_right(right)
                    )
                    result.add_claim("document-constraints", f"{test}, {name}, accuracy", gain)


def _with_rules(tests: dict[str, Searched]) -> dict[str, dict[str, TokenEvaluation]]:
    """Decisions of the model and of both rules, evaluated, for each test set."""
    return {
        test: {"": s.evaluate(), "+ExAG": s.evaluate(s.exag()), "+ExAT": s.evaluate(s.exat())}
        for test, s in tests.items()
    }
