"""The sentiment experiment from end to end on the made-up corpora, its cells counted again, and its training sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.decide.fitting import KNNReport, fit_knn
from exaudit.decide.knn import KNN
from exaudit.experiments import supported_model
from exaudit.experiments.controls import NOBODY
from exaudit.experiments.corpora import Reviews, Splits, read_contrast, read_reviews, read_tweets
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run, RunSettings
from exaudit.experiments.sample import write_corpora
from exaudit.experiments.sentiment import sentiment
from exaudit.experiments.sentiment_data import training_sets
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import best_offset
from exaudit.model.folder import load_model
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores
from exaudit.model.settings import Settings
from tiny import tiny_bert

ORIG, PAIRED, DISJOINT = "Orig. (3.4k)", "Orig.+Rev. (1.7k+1.7k)", "Orig. disjoint+Rev. (1.7k+1.7k)"
LARGE = ("Orig. (19k)", "Orig.+Rev. (19k+1.7k)", "Orig. disjoint+Rev. (19k-1.7k+1.7k)")
MANY = "imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz"
Rows = dict[tuple[str, str], list[float | None]]


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    settings = RunSettings(encoder="none", filters=50, epochs=15)
    return Run(tmp_path_factory.mktemp("run"), data, settings, device="cpu")


@pytest.fixture(scope="module")
def found(run: Run) -> list[StepResult]:
    return list(sentiment(run))


def rows(found: Sequence[StepResult]) -> Rows:
    every = [
        ((table, row), values) for f in found for table, rs in f.tables.items() for row, values in rs.items()
    ]
    assert len(dict(every)) == len(every), "a row is given twice"
    return dict(every)


def missing(found: Sequence[StepResult]) -> dict[tuple[str, str], str]:
    return {(table, row): why for f in found for table, rs in f.missing.items() for row, why in rs.items()}


def check_complete(found: Sequence[StepResult]) -> None:
    """Each row of the paper that is not cited has figures, one a column, or a reason, not both."""
    ours, reasons = rows(found), missing(found)
    assert ours.keys().isdisjoint(reasons)
    own = {key: ours.pop(key) for key in list(ours) if key[0] == "sentiment-zero-shot"}
    parameters = {key: ours.pop(key) for key in list(ours) if key[0] == "sentiment-knn-parameters"}
    assert all(len(values) == 7 and name == f"{ORIG}+K8NN dist." for (_, name), values in parameters.items())
    assert len(own) == 3 * sum(table == "sentiment-review" and name != "Random" for table, name in ours)
    for (_, name), values in own.items():
        assert len(values) == 3
        if name in {
            f"{s} | zero" for s in (ORIG, PAIRED, DISJOINT)
        }:  # the model itself, as in the rules' table
            assert values[:2] == ours["sentiment-rules", name.split(" | ")[0]][:2]
            assert values[2] == ours["contrast-rules", name.split(" | ")[0]][0]
    tables = {t.id: t for t in paper_tables().values() if t.experiment == "sentiment"}
    assert {table for table, _ in (*ours, *reasons)} == tables.keys()
    for table in tables.values():
        for row in table.rows:
            if not row.cited:
                assert (table.id, row.name) in ours or reasons[table.id, row.name]
    for (table_id, name), values in ours.items():
        assert len(values) == len(tables[table_id].columns)
        assert tables[table_id].row(name) is not None or table_id == "sentiment-frozen"


# -- training sets ------------------------------------------------------------------------------------------


def review(name: str, label: str) -> Document:
    return Document.from_text(name, id=name, label=label)


@pytest.fixture
def reviews() -> Reviews:
    """Three pairs for training and eight for dev; the large set has the three originals, and six others a class."""
    signs = ("Positive", "Positive", "Negative")
    orig = [review(f"o{n}", label) for n, label in enumerate(signs)]
    rev = [
        review(f"r{n}", "Negative" if label == "Positive" else "Positive") for n, label in enumerate(signs)
    ]
    dev = [[review(f"{side}{n}", "Positive") for n in range(8)] for side in ("od", "rd")]
    others = [review(f"m{n}", ("Negative", "Positive")[n % 2]) for n in range(12)]
    many = [*others[:6], *(replace(d, id=f"imdb-{d.id}") for d in orig), *others[6:]]
    return Reviews(
        Splits(orig, dev[0], []), Splits(rev, dev[1], []), many, frozenset(f"imdb-o{n}" for n in range(3))
    )


def ids(documents: Sequence[Document]) -> list[str]:
    return [document.id for document in documents]


def test_small_training_sets(reviews: Reviews) -> None:
    sets = training_sets(reviews)
    orig, rev = ids(reviews.orig.train), ids(reviews.rev.train)
    assert ids(sets[PAIRED][0]) == orig + rev
    more = ids(sets[ORIG][0])
    assert more[:3] == orig
    fresh = ids(sets[DISJOINT][0])
    assert fresh[3:] == rev
    for drawn in (more[3:], fresh[:3]):
        assert len(set(drawn)) == 3
        assert all(name.startswith("m") for name in drawn)
    for name in (ORIG, PAIRED, DISJOINT):
        assert Counter(d.label for d in sets[name][0]) == {"Positive": 3, "Negative": 3}


def test_large_training_sets(reviews: Reviews) -> None:
    orig, paired, disjoint = (ids(training_sets(reviews)[name][0]) for name in LARGE)
    rev = ids(reviews.rev.train)
    assert orig == ids(reviews.orig_19k)
    assert paired == orig + rev
    assert disjoint == [f"m{n}" for n in range(12)] + rev


def test_dev_sets(reviews: Reviews) -> None:
    sets = training_sets(reviews)
    orig, rev = ids(reviews.orig.dev), ids(reviews.rev.dev)
    for small, large in zip((ORIG, PAIRED, DISJOINT), LARGE, strict=True):
        assert ids(sets[small][1]) == ids(sets[large][1])
    assert ids(sets[ORIG][1]) == orig
    assert ids(sets[PAIRED][1]) == orig + rev
    one = ids(sets[DISJOINT][1])
    assert [name[2:] for name in one] == [name[2:] for name in orig]  # one of each pair, some of either side
    assert {name[:2] for name in one} == {"od", "rd"}


def test_draws_are_the_same_each_time(reviews: Reviews) -> None:
    assert training_sets(reviews) == training_sets(reviews)


def test_a_small_pool_is_drawn_empty(reviews: Reviews) -> None:
    poor = replace(reviews, orig_19k=reviews.orig_19k[:2])
    assert sorted(ids(training_sets(poor)[ORIG][0])) == ["m0", "m1", "o0", "o1", "o2"]


def test_sets_of_the_sample_are_disjoint_in_their_texts(data: Path) -> None:
    reviews = read_reviews(data)
    sets = training_sets(reviews)
    originals = {d.text for d in reviews.orig.train}
    for name in (DISJOINT, LARGE[2]):
        assert originals.isdisjoint(d.text for d in sets[name][0])
        pairs = [d.meta["batch_id"] for d in sets[name][1]]
        assert len(set(pairs)) == len(pairs) == len(reviews.orig.dev)
    more = [d.text for d in sets[ORIG][0]]
    assert (len(more), len(set(more))) == (200, 200)
    assert len(sets[DISJOINT][0]) == len(sets[PAIRED][0]) == 200


# -- from end to end ------------------------------------------------------------------------------------------


def test_all_tables(found: list[StepResult]) -> None:
    check_complete(found)
    assert missing(found).keys() == {("sentiment-frozen", "uniCNN, BERT large")}
    ours = rows(found)
    assert ours["sentiment-frozen", "uniCNN, none"] == ours["sentiment-review", LARGE[1]]
    assert ours["sentiment-constraints", "SemEval-2017 | none"][:1] == ours["sentiment-semeval", ORIG]


def test_claims(found: list[StepResult]) -> None:
    claims = {
        (claim, case): c for f in found for claim, cases in f.claims.items() for case, c in cases.items()
    }
    counts = Counter(claim for claim, _ in claims)
    assert counts == {
        "document-constraints": 12,  # three test sets, two limits, and each against the model's own output
        "re-edits-help": 2,
        "out-of-domain": 2,
        "disjoint": 2,
        "sentiment-update": 2,
        "sentiment-exat": 9,
        "sentiment-knn": 2,
    }
    assert all(c["low"] <= c["value"] <= c["high"] for c in claims.values())
    ours = rows(found)
    paired, disjoint, orig = (ours["sentiment-review", name][1] for name in (PAIRED, DISJOINT, ORIG))
    assert paired is not None
    assert disjoint is not None
    assert orig is not None
    case = f"{PAIRED} over {ORIG}, accuracy on Rev."
    assert claims["re-edits-help", case]["value"] == pytest.approx(paired - orig)
    case = f"{DISJOINT} on Rev., accuracy over halfway to {PAIRED}"
    assert claims["disjoint", case]["value"] == pytest.approx(disjoint - (paired + orig) / 2)
    nobody = [
        case
        for test in ("Orig.", "Rev.", "SemEval-2017")
        for kind in ("share", "share and count")
        for case in (f"{test}, {kind}, accuracy",)
        if not ours["sentiment-constraints", f"{test} | {kind}"][1]
    ]
    told = [case for (claim, case), c in claims.items() if c.get("note") == NOBODY and not c.get("beside")]
    assert told == nobody


def f05(said: Sequence[bool], true: Sequence[bool]) -> float:
    pairs = Counter(zip(said, true, strict=True))
    hits, false, missed = pairs[True, True], pairs[True, False], pairs[False, True]
    precision, recall = hits / max(hits + false, 1), hits / (hits + missed)
    return 100 * 1.25 * precision * recall / (0.25 * precision + recall) if hits else 0.0


def words(scores: Sequence[TokenScores]) -> tuple[list[float], list[bool]]:
    """Scores and truth of every word."""
    margins = [float(m) for one in scores for m in one.scores]
    return margins, [label == "1" for one in scores for label in one.document.token_labels or ()]


def test_review_and_word_rows_counted_again(run: Run, data: Path, found: list[StepResult]) -> None:
    reviews, contrast, tweets = read_reviews(data), read_contrast(data).revised, read_tweets(data)
    model = load_model(run.folder / "models" / "sentiment-paired", device="cpu")
    boundary = best_offset(*map(np.array, words(model.label(reviews.orig.dev))))
    accuracy, f = [], []
    for test in (reviews.orig.test, reviews.rev.test, contrast, tweets):
        scores = model.label(test)
        right = [("Positive" if one.output > 0 else "Negative") == one.document.label for one in scores]
        accuracy.append(100 * sum(right) / len(right))
        if test is not tweets:
            margins, truth = words(scores)
            f.append(f05([m > boundary for m in margins], truth))
    ours = rows(found)
    assert ours["sentiment-review", PAIRED] == pytest.approx(accuracy[:2], abs=1e-4)
    assert ours["sentiment-semeval", PAIRED] == pytest.approx(accuracy[3:], abs=1e-4)
    assert ours["sentiment-tokens", PAIRED] == pytest.approx(f[:2], abs=1e-4)
    assert ours["contrast-review", PAIRED] == pytest.approx([accuracy[2], f[2]], abs=1e-4)


def test_rules_counted_again(run: Run, data: Path, found: list[StepResult]) -> None:
    """Nearest exemplars by brute force, for every support set."""
    reviews, contrast = read_reviews(data), read_contrast(data).revised
    model = load_model(run.folder / "models" / "sentiment-orig", device="cpu")
    orig, rev = reviews.orig, reviews.rev
    supports = [orig.train, rev.train, [*orig.train, *rev.train], [*orig.dev, *rev.dev]]
    expected: dict[tuple[str, int], list[float]] = {}
    for support in supports:
        known = model.label(support, exemplars=True)
        vectors = stacked(known)
        strong, true = words(known)
        positive = [one.document.label == "Positive" for one in known for _ in one.document.tokens]
        for test, documents in enumerate((orig.test, rev.test, contrast)):
            scores = model.label(documents, exemplars=True)
            margins, truth = words(scores)
            nearest = [int(((vectors - r) ** 2).sum(1).argmin()) for r in stacked(scores)]
            borne_out = [m > 0 and strong[n] > 0 for m, n in zip(margins, nearest, strict=True)]
            for rule, labels in (("+ExAG", positive), ("+ExAT", true)):
                said = [b and labels[n] for b, n in zip(borne_out, nearest, strict=True)]
                expected.setdefault((rule, test), []).append(f05(said, truth))
            expected.setdefault(("", test), []).append(f05([m > 0 for m in margins], truth))
    ours = rows(found)
    for rule in ("", "+ExAG", "+ExAT"):
        pairs = zip(expected[rule, 0][:3], expected[rule, 1][:3], strict=True)
        assert ours["sentiment-rules", ORIG + rule] == pytest.approx([f for p in pairs for f in p], abs=1e-4)
        assert ours["contrast-rules", ORIG + rule] == pytest.approx(expected[rule, 2], abs=1e-4)
    told_apart = {tuple(values[:2]) for (rule, _), values in expected.items() if rule}
    assert len(told_apart) == 6
    assert all(a != b for a, b in told_apart)  # no column could stand for another


def stacked(scores: Sequence[TokenScores]) -> Any:
    return np.concatenate([one.exemplars for one in scores if one.exemplars is not None]).astype(np.float64)


@pytest.fixture
def knn(run: Run, found: list[StepResult], monkeypatch: pytest.MonkeyPatch) -> KNNReport:
    """The K-NN of the experiment, which is not kept: its step is done once more."""
    reports = []

    def spy(*args: Any, **settings: Any) -> KNNReport:
        own = {"kind": "dist", "k": 8, "use_token_labels": False, "epochs": 60}
        assert settings == own | {"batch_documents": 50, "recipe": "stable"}
        reports.append(fit_knn(*args, **settings))
        return reports[-1]

    monkeypatch.setattr(supported_model, "fit_knn", spy)
    (run.folder / "steps" / "sentiment-knn.json").unlink()
    assert [f.tables for f in sentiment(run)] == [f.tables for f in found]
    (report,) = reports
    return report


class Literal:
    """The K-NN of the Orig. model over a set of documents, with the originals as its support set, in plain loops."""

    def __init__(self, run: Run, orig: Sequence[Document], documents: Sequence[Document], knn: KNN) -> None:
        model = load_model(run.folder / "models" / "sentiment-orig", device="cpu")
        known, self.scores = model.label(orig, exemplars=True), model.label(documents, exemplars=True)
        vectors, (strength, _) = stacked(known), words(known)
        labels = [1 if one.document.label == "Positive" else -1 for one in known for _ in one.document.tokens]
        self.right = [("Positive" if s.output > 0 else "Negative") == s.document.label for s in self.scores]
        self.margins = [float(m) for s in self.scores for m in s.scores]
        self.document = [d for d, s in enumerate(self.scores) for _ in s.document.tokens]
        self.output, self.distance, self.label = [], [], []
        for r in stacked(self.scores):
            distances = np.sqrt(((vectors - r) ** 2).sum(1))
            near = np.argsort(distances, kind="stable")[:8]
            weights = np.exp(-(distances[near] - distances[near[0]]) / knn.tau)
            terms = [math.tanh(strength[n]) + knn.gamma * labels[n] for n in near]
            self.output.append(knn.beta + float(weights @ np.array(terms)) / float(weights.sum()))
            self.distance.append(float(distances[near[0]]))
            self.label.append(labels[int(near[0])])

    def admitted(self, limits: dict[bool, tuple[float, float]]) -> tuple[list[int], list[float]]:
        """The number of admitted tokens of each document, and their share."""
        counts = [0] * len(self.scores)
        for d, f, distance, label in zip(self.document, self.output, self.distance, self.label, strict=True):
            farthest, weakest = limits[f > 0]
            fits = f >= weakest if f > 0 else f <= weakest
            counts[d] += fits and distance <= farthest and (label > 0) == (f > 0)
        return counts, [n / len(s.document.tokens) for n, s in zip(counts, self.scores, strict=True)]


def test_knn_rows_counted_again(run: Run, data: Path, found: list[StepResult], knn: KNNReport) -> None:
    reviews = read_reviews(data)
    orig, rev = reviews.orig, reviews.rev
    dev = Literal(run, orig.train, orig.dev, knn.knn)
    tests = {
        name: Literal(run, orig.train, documents, knn.knn)
        for name, documents in (("Orig.", orig.test), ("Rev.", rev.test), ("SemEval-2017", read_tweets(data)))
    }
    ours = rows(found)
    boundary = best_offset(np.array(dev.output), np.array(words(dev.scores)[1]))
    said = [[f > boundary for f in tests[name].output] for name in ("Orig.", "Rev.")]
    true = [words(tests[name].scores)[1] for name in ("Orig.", "Rev.")]
    expected = [f05(s, t) for s, t in zip(said, true, strict=True)]
    assert ours["sentiment-tokens", f"{ORIG}+K8NN dist."] == pytest.approx(expected, abs=1e-4)

    limits = {}
    for positive in (False, True):  # means over the correct approximations of K-NN dev
        mine = [
            (distance, f)
            for d, f, distance, margin in zip(
                dev.document, dev.output, dev.distance, dev.margins, strict=True
            )
            if d in knn.dev_documents and (f > 0) == positive == (margin > 0)
        ]
        limits[positive] = (float(np.mean([d for d, _ in mine])), float(np.mean([f for _, f in mine])))
    counts, shares = dev.admitted(limits)
    least = max(share for share, right in zip(shares, dev.right, strict=True) if not right)
    usual = [count for count, right in zip(counts, dev.right, strict=True) if right]
    low, high = np.mean(usual) - np.std(usual), np.mean(usual) + np.std(usual)
    for name, test in tests.items():
        counts, shares = test.admitted(limits)
        enough = [share > least for share in shares]
        both = [ok and low <= count <= high for ok, count in zip(enough, counts, strict=True)]
        for kind, chosen in (("none", [True] * len(enough)), ("share", enough), ("share and count", both)):
            right = [r for r, ok in zip(test.right, chosen, strict=True) if ok]
            accuracy = 100 * sum(right) / len(right) if right else None
            expected_row = [accuracy, len(right), len(right) / len(chosen)]
            assert ours["sentiment-constraints", f"{name} | {kind}"] == pytest.approx(expected_row, abs=1e-4)
    admitted = [
        ours["sentiment-constraints", f"Orig. | {kind}"][1] for kind in ("none", "share", "share and count")
    ]
    assert admitted[0] != admitted[1] != admitted[2] != 0  # so that each limit was seen at work


# -- going on -------------------------------------------------------------------------------------------------


def untimed(found: Iterable[StepResult]) -> list[StepResult]:
    return [replace(figures, seconds=0.0) for figures in found]


def fail(*_: Any, **__: Any) -> Any:
    raise AssertionError("done again")


def test_a_finished_run_does_nothing_again(
    run: Run, found: list[StepResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exaudit.experiments.run.train", fail)
    monkeypatch.setattr(Model, "iter_label", fail)
    assert untimed(sentiment(run)) == untimed(found)


@pytest.mark.parametrize("lost", ["sentiment-knn", "sentiment-rules-orig", "sentiment-compared-small"])
def test_a_lost_step_is_found_again_without_training(
    run: Run, found: list[StepResult], lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.folder / "steps" / f"{lost}.json").unlink()
    monkeypatch.setattr("exaudit.experiments.run.train", fail)
    assert untimed(sentiment(run)) == untimed(found)


# -- runs that go without ---------------------------------------------------------------------------------------


def test_without_the_large_set(tmp_path: Path) -> None:
    data = write_corpora(tmp_path / "data")
    (data / MANY).unlink()
    run = Run(tmp_path / "run", data, RunSettings(encoder="none", filters=10, epochs=1), device="cpu")
    found = list(sentiment(run))
    check_complete(found)
    reasons = missing(found)
    assert MANY in reasons["sentiment-rules", f"{DISJOINT}+ExAT"]
    assert ("sentiment-constraints", "Rev. | share") in reasons
    assert ("sentiment-frozen", "uniCNN, none") in reasons
    assert {name for table, name in rows(found) if table == "sentiment-review"} == {"Random", PAIRED}

    write_corpora(data)  # once it is there, the run goes on with it
    found = list(sentiment(run))
    check_complete(found)
    assert ("sentiment-tokens", f"{ORIG}+K8NN dist.") in rows(found)


def test_a_tuned_encoder_is_for_the_small_sets(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAUDIT_CACHE", str(tmp_path / "cache"))
    encoder = tiny_bert(tmp_path / "tiny")
    settings = RunSettings(encoder=str(encoder), tune_encoder=True, fast=True, filters=10, epochs=1)
    found = list(sentiment(Run(tmp_path / "run", data, settings, device="cpu")))
    check_complete(found)
    reasons = missing(found)
    for name in LARGE:
        assert reasons["sentiment-review", name].startswith("with the frozen encoder only")
    assert ("sentiment-frozen", "student, tiny") in reasons
    assert ("sentiment-rules", f"{PAIRED}+ExAG") in rows(found)


def test_models_are_trained_as_in_the_paper(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def train(own: Settings, documents: Sequence[Document], dev: Sequence[Document], **_: Any) -> NoReturn:
        assert all(d.token_labels is None for d in (*documents, *dev))
        asked.append((own.max_length, own.select, own.positive, own.tune_encoder, len(documents), len(dev)))
        raise InterruptedError

    monkeypatch.setattr("exaudit.experiments.run.train", train)
    run = Run(tmp_path / "run", data, RunSettings(tune_encoder=True), device="cpu")
    with pytest.raises(InterruptedError):
        list(sentiment(run))
    assert asked == [(350, "accuracy", "Positive", True, 200, 40)]
