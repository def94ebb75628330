"""Sentiment of film reviews: section 5 of the paper and appendix C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from exaudit.analyse.decisions import Tables
from exaudit.analyse.evaluation import Evaluation
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, accuracy_gain, score
from exaudit.experiments.sentiment_data import (
    CLASSES,
    CONTRAST,
    FILES,
    LARGE,
    ORIG,
    ORIGINALS,
    PAIRED,
    PAIRED_19K,
    REVISIONS,
    SMALL,
    TWEETS,
    SentimentData,
    sentiment_model,
)
from exaudit.experiments.sentiment_support import SentimentSupport
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import best_offset, stable_offset
from exaudit.model.model import Model

__all__ = ["sentiment"]

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
    data = SentimentData.read(run)
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
        supported = SentimentSupport(run, data, name)
        if name == ORIG:
            yield run.step("sentiment-knn", supported.knn)
        yield run.step(f"sentiment-rules-{FILES[name]}", supported.rules)


def _absent(run: Run, data: SentimentData) -> dict[str, str]:
    """Training sets that this run goes without, and why."""
    if not data.reviews.orig_19k:
        return {name: NOT_HERE for name in FILES if name != PAIRED}
    return dict.fromkeys(LARGE, NOT_TUNED) if run.settings.tune_encoder else {}


def _own_row(run: Run) -> str:
    """Our row in the comparison of encoders."""
    return f"{'student' if run.settings.tune_encoder else 'uniCNN'}, {run.settings.encoder_name}"


# -- reviews, and words with a tuned boundary -----------------------------------------------------------------


def _baselines(run: Run, data: SentimentData) -> StepResult:
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
    labels = LabelSet.binary(CLASSES.negative, CLASSES.positive)
    truth = labels.targets(documents).astype(np.int8)[:, None]  # (D, 1)
    known = [labels.token_targets(document) for document in documents]
    tokens = [targets for targets in known if targets is not None]
    words = Tables(1, tokens) if len(tokens) == len(documents) else None
    return Evaluation(labels, truth, truth, words, words).random()


def _trained(run: Run, data: SentimentData, name: str) -> StepResult:
    model = sentiment_model(run, data, name)
    dev = score(model, data.reviews.orig.dev)
    tests = {test: score(model, documents) for test, documents in data.tests.items()}
    accuracy = {test: 100 * scored.accuracy for test, scored in tests.items()}
    boundary = best_offset(dev.margins, dev.truth)
    f05 = {
        test: tests[test].evaluate(tests[test].margins > boundary).f05
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
        values = (one.evaluate(one.margins > offset).f05 for one in scored)
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


def _compared(run: Run, data: SentimentData, orig: str, paired: str, disjoint: str) -> StepResult:
    """What revisions add to the training set, and what it adds that they stand beside their originals."""
    tests = data.tests
    without_rev, with_pairs, without_pairs = (
        sentiment_model(run, data, name) for name in (orig, paired, disjoint)
    )
    right_on_rev = _right(with_pairs, tests[REVISIONS])
    result = StepResult()
    case = f"{paired} over {orig}, accuracy on"
    gain = accuracy_gain(right_on_rev, _right(without_rev, tests[REVISIONS]))
    result.add_claim("re-edits-help", f"{case} {REVISIONS}", gain)
    gain = accuracy_gain(_right(with_pairs, tests[TWEETS]), _right(without_rev, tests[TWEETS]))
    result.add_claim("out-of-domain", f"{case} {TWEETS}", gain)
    # Halfway between the two: the answers of both together.
    halfway = np.concatenate([right_on_rev, _right(without_rev, tests[REVISIONS])], 1)  # (D, 2)
    gain = accuracy_gain(_right(without_pairs, tests[REVISIONS]), halfway)
    result.add_claim("disjoint", f"{disjoint} on {REVISIONS}, accuracy over halfway to {paired}", gain)
    return result


def _right(model: Model, documents: Sequence[Document]) -> Bools:
    """Whether each document is decided right (D, 1)."""
    return score(model, documents).correct[:, None]
