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
from exaudit.decide.fitting import KNNReport
from exaudit.experiments.corpora import SEED, Contrast, Reviews, read_contrast, read_reviews, read_tweets
from exaudit.experiments.evidence import Bools, Evidence, Judged, Scored, Searched, score
from exaudit.experiments.figures import Figures
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
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


def sentiment(run: Run) -> Iterator[Figures]:
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
    orig, rev, many = reviews.orig, reviews.rev, reviews.many
    fresh = [document for document in many if document.id not in reviews.shared]
    both = [*orig.dev, *rev.dev]
    coins = np.random.default_rng(SEED).integers(0, 2, len(orig.dev)).tolist()
    one = [pair[coin] for coin, pair in zip(coins, zip(orig.dev, rev.dev, strict=True), strict=True)]
    return {
        ORIG: ([*orig.train, *_as_many(orig.train, fresh)], orig.dev),
        PAIRED: ([*orig.train, *rev.train], both),
        DISJOINT: ([*_as_many(rev.train, fresh), *rev.train], one),
        ORIG_19K: (many, orig.dev),
        PAIRED_19K: ([*many, *rev.train], both),
        DISJOINT_19K: ([*fresh, *rev.train], one),
    }


def _as_many(documents: Sequence[Document], pool: Sequence[Document]) -> list[Document]:
    """As many others, drawn from the pool, so that with them there are as many negative as positive reviews."""
    draws = np.random.default_rng(SEED)
    drawn: list[int] = []
    for label in (CLASSES.negative, CLASSES.positive):
        mine = [i for i, document in enumerate(pool) if document.label == label]
        wanted = len(documents) - sum(document.label == label for document in documents)
        drawn += draws.permutation(mine)[:wanted].tolist()
    return [pool[i] for i in sorted(drawn)]


def _absent(run: Run, data: _Data) -> dict[str, str]:
    """Training sets that this run goes without, and why."""
    if not data.reviews.many:
        return {name: NOT_HERE for name in FILES if name != PAIRED}
    return dict.fromkeys(LARGE, NOT_TUNED) if run.settings.tune_encoder else {}


def _model(run: Run, data: _Data, name: str) -> Labeler:
    train, dev = training_sets(data.reviews)[name]
    return run.model(
        f"sentiment-{FILES[name]}", train, dev,
        max_length=350, select="accuracy", positive=CLASSES.positive, **run.tuning,
    )  # fmt: skip


def _own_row(run: Run) -> str:
    """Our row in the comparison of encoders."""
    return f"uniCNN, {run.settings.encoder_name}" + (", tuned" if run.settings.tune_encoder else "")


# -- reviews, and words with a tuned boundary -----------------------------------------------------------------


def _baselines(run: Run, data: _Data) -> Figures:
    """A fair coin for every review and every word."""
    coins = {test: _coin(documents) for test, documents in data.tests.items()}
    accuracy = {test: 100 * coin.document_metrics()["accuracy"] for test, coin in coins.items()}
    f = {test: 100 * (coins[test].token_metrics() or {})["f0.5"] for test in (ORIGINALS, REVISIONS, CONTRAST)}
    figures = Figures()
    figures.row("sentiment-review", "Random", accuracy[ORIGINALS], accuracy[REVISIONS])
    figures.row("sentiment-semeval", "Random", accuracy[TWEETS])
    figures.row("contrast-review", "Random", accuracy[CONTRAST], f[CONTRAST])
    figures.row("sentiment-tokens", "Random", f[ORIGINALS], f[REVISIONS])
    figures.row("sentiment-rules", "Random", *(3 * (f[ORIGINALS], f[REVISIONS])))
    figures.row("contrast-rules", "Random", *(4 * (f[CONTRAST],)))
    why = f"the encoder of the paper; this run's is in the row {_own_row(run)!r}"
    figures.none("sentiment-frozen", "uniCNN, BERT large", why)
    return figures


def _coin(documents: Sequence[Document]) -> Evaluation:
    truth = np.array([CLASSES.document_target(document) for document in documents], np.int8)
    known = [CLASSES.token_targets(document) for document in documents]
    tokens = [targets for targets in known if targets is not None]
    words = tokens if len(tokens) == len(documents) else None
    return Evaluation(truth, truth, words, words).random()


def _trained(run: Run, data: _Data, name: str) -> Figures:
    labeler = _model(run, data, name)
    dev = score(labeler, data.reviews.orig.dev)
    tests = {test: score(labeler, documents) for test, documents in data.tests.items()}
    accuracy = {test: 100 * scored.accuracy for test, scored in tests.items()}
    boundary = best_offset(dev.margins, dev.truth)
    f = {
        test: _f(tests[test].judge(tests[test].margins > boundary))
        for test in (ORIGINALS, REVISIONS, CONTRAST)
    }
    figures = Figures()
    figures.row("sentiment-review", name, accuracy[ORIGINALS], accuracy[REVISIONS])
    figures.row("sentiment-semeval", name, accuracy[TWEETS])
    figures.row("sentiment-tokens", name, f[ORIGINALS], f[REVISIONS])
    figures.row("contrast-review", name, accuracy[CONTRAST], f[CONTRAST])
    if name == PAIRED_19K:
        figures.row("sentiment-frozen", _own_row(run), accuracy[ORIGINALS], accuracy[REVISIONS])
    boundaries = {
        "zero": 0.0,
        "by the dev documents' F1": stable_offset(dev.largest, dev.targets, 1.0),
        "by the dev documents' F0.5": stable_offset(dev.largest, dev.targets, 0.5),
    }
    for where, offset in boundaries.items():
        parts = (tests[test] for test in (ORIGINALS, REVISIONS, CONTRAST))
        values = (_f(one.judge(one.margins > offset)) for one in parts)
        figures.row("sentiment-zero-shot", f"{name} | {where}", *values)
    return figures


def _without(run: Run, name: str, why: str) -> Figures:
    """The paper's rows of a training set that this run goes without."""
    figures = Figures()
    for table in paper_tables().values():
        if table.experiment != "sentiment":
            continue
        for row in table.rows:
            constraints = table.id == "sentiment-constraints" and name == ORIG
            if constraints or row.name == name or row.name.startswith(f"{name}+"):
                figures.none(table.id, row.name, why)
    if name == PAIRED_19K:
        figures.none("sentiment-frozen", _own_row(run), why)
    return figures


def _compared(run: Run, data: _Data, orig: str, paired: str, disjoint: str) -> Figures:
    """What revisions add to the training set, and what it adds that they stand beside their originals."""
    tests = data.tests
    plain, with_pairs, without_pairs = (_model(run, data, name) for name in (orig, paired, disjoint))
    rev = score(with_pairs, tests[REVISIONS])
    figures = Figures()
    case = f"{paired} over {orig}, accuracy on"
    figures.claim("re-edits-help", f"{case} {REVISIONS}", _better(rev, score(plain, tests[REVISIONS])))
    tweets = _better(score(with_pairs, tests[TWEETS]), score(plain, tests[TWEETS]))
    figures.claim("out-of-domain", f"{case} {TWEETS}", tweets)
    apart = _better(rev, score(without_pairs, tests[REVISIONS]))
    figures.claim("disjoint", f"{paired} over {disjoint}, accuracy on {REVISIONS}", apart)
    return figures


def _better(ours: Scored, others: Scored) -> Difference:
    """How much more accurate one model is than another on the same documents."""
    return paired_bootstrap(lambda c: c.precision, _right(ours.correct), _right(others.correct))


def _right(correct: Bools, chosen: Bools | None = None) -> list[Counts]:
    """Right and wrong answers, document by document, so that their precision is the accuracy of the chosen."""
    kept = np.ones(len(correct), bool) if chosen is None else chosen
    return [Counts(int(r and k), int(k and not r), 0, 0) for r, k in zip(correct, kept, strict=True)]


def _f(judged: Judged) -> float:
    return judged.percent("f0.5")[0]


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
    def evidence(self) -> Evidence:
        return Evidence(self.labeler, self.data.reviews.orig.train)

    @cached_property
    def before(self) -> dict[str, Searched]:
        """The test reviews with the originals as the support set."""
        return self._search(self.evidence)

    def _search(self, evidence: Evidence) -> dict[str, Searched]:
        return {test: evidence.search(scored) for test, scored in self.tests.items()}

    def rules(self) -> Figures:
        """ExAG and ExAT with each support set."""
        orig, rev = self.data.reviews.orig, self.data.reviews.rev
        judged = {S_ORIG: _ruled(self.before)}
        self.evidence.add(rev.train)
        judged[S_BOTH] = _ruled(self._search(self.evidence))
        del self.evidence  # large; and no longer what it was
        judged[S_REV] = _ruled(self._search(Evidence(self.labeler, rev.train)))
        few = Evidence(self.labeler, [*orig.dev, *rev.dev])
        judged[S_DEV] = _ruled({CONTRAST: few.search(self.tests[CONTRAST])})

        figures = Figures()
        for rule in ("", "+ExAG", "+ExAT"):
            values = [
                _f(judged[s][test][rule]) for s in (S_ORIG, S_REV, S_BOTH) for test in (ORIGINALS, REVISIONS)
            ]
            figures.row("sentiment-rules", f"{self.name}{rule}", *values)
            values = [_f(judged[s][CONTRAST][rule]) for s in (S_ORIG, S_REV, S_BOTH, S_DEV)]
            figures.row("contrast-rules", f"{self.name}{rule}", *values)
        for test, ruled in judged[S_BOTH].items():
            case = f"{self.name}, {S_BOTH} on {test}, F0.5"
            figures.claim("sentiment-exat", case, ruled["+ExAT"].over(ruled[""]))
        if self.name == ORIG:
            for test in (REVISIONS, CONTRAST):
                after, before = judged[S_REV][test]["+ExAG"], judged[S_ORIG][test]["+ExAG"]
                case = f"{ORIG}+ExAG, {S_REV} over {S_ORIG} on {test}, F0.5"
                figures.claim("sentiment-update", case, after.over(before))
        return figures

    def knn(self) -> Figures:
        """The K-NN in the place of the model, and the reviews it admits."""
        figures = Figures()
        dev = self.evidence.search(self.data.reviews.orig.dev)
        report = dev.fit_knn("dist", epochs=KNN_EPOCHS)
        self._words(figures, dev, report)
        self._constraints(figures, dev, report)
        return figures

    def _words(self, figures: Figures, dev: Searched, report: KNNReport) -> None:
        """Both boundaries, the K-NN's and the model's, are tuned with the token labels of dev."""
        knn = report.knn
        boundary, own = best_offset(knn.output(dev.near), dev.truth), best_offset(dev.margins, dev.truth)
        values = []
        for test in (ORIGINALS, REVISIONS):
            searched = self.before[test]
            judged = searched.judge(knn.output(searched.near) > boundary)
            model = searched.judge(searched.margins > own)
            values.append(_f(judged))
            case = f"{self.name}+{DIST} over {self.name} on {test}, F0.5"
            figures.claim("sentiment-knn", case, judged.over(model))
        figures.row("sentiment-tokens", f"{self.name}+{DIST}", *values)

    def _constraints(self, figures: Figures, dev: Searched, report: KNNReport) -> None:
        """Limits for words from K-NN dev, for reviews from all of dev; then who is admitted, and how often right."""
        knn, held = report.knn, dev.part(report.dev_documents)
        words = Admission.fit(knn, held.near, held.margins, support_version="", kind="both")
        limits = {
            name: words.fit_documents(knn, dev.near, dev.document_of_token, dev.correct, use_count=count)
            for name, count in (("share", False), ("share and count", True))
        }
        tests = {
            ORIGINALS: self.before[ORIGINALS],
            REVISIONS: self.before[REVISIONS],
            TWEETS: self.evidence.search(self.data.tweets),
        }
        for test, searched in tests.items():
            right, size = searched.correct, len(searched.scores)
            figures.row("sentiment-constraints", f"{test} | none", 100 * searched.accuracy, size, 1.0)
            tokens = words.tokens(knn, searched.near).admitted
            for name, limit in limits.items():
                chosen = limit.documents(tokens, searched.document_of_token, size).admitted
                count = int(chosen.sum())
                accuracy = 100 * float(right[chosen].mean()) if count else None
                figures.row("sentiment-constraints", f"{test} | {name}", accuracy, count, count / size)
                if count >= FEW:
                    gain = paired_bootstrap(lambda c: c.precision, _right(right, chosen), _right(right))
                    figures.claim("document-constraints", f"{test}, {name}, accuracy", gain)


def _ruled(tests: dict[str, Searched]) -> dict[str, dict[str, Judged]]:
    """Decisions of the model and of both rules, judged, for each test set."""
    return {
        test: {"": s.judge(), "+ExAG": s.judge(s.exag()), "+ExAT": s.judge(s.exat())}
        for test, s in tests.items()
    }
