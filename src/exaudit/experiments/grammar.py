"""Grammatical error detection on FCE: section 4 of the paper and appendix B."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from exaudit.analyse.evaluation import Evaluation
from exaudit.experiments.corpora import News, Splits, read_fce, read_news
from exaudit.experiments.examples import marked_markdown, write_examples
from exaudit.experiments.grammar_models import (
    MIN_MAX,
    SUPERVISED,
    UNICNN,
    example_sentences,
    fce_model,
    file_name,
)
from exaudit.experiments.grammar_support import GrammarSupport
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Scored, TokenEvaluation, features_of, score
from exaudit.experiments.step_result import StepResult, percent
from exaudit.experiments.supported_model import SupportedModel
from exaudit.metrics import best_offset, stable_offset

__all__ = ["grammar"]

TOKEN_METRICS = ("precision", "recall", "f0.5")
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
        yield run.step(
            f"fce-evidence-{file_name(name)}", GrammarSupport(run, fce, news, name, run.seed).tables
        )
    for seed in run.settings.seeds[1:]:
        for name in (UNICNN, MIN_MAX, SUPERVISED):
            support = GrammarSupport(run, fce, news, name, seed)
            yield run.step(f"fce-rules-{file_name(name)}-{seed}", support.rules)
    yield run.step("fce-unigrams", partial(_unigrams, run, fce))


# -- tables 1 and 2: zero-shot and supervised -------------------------------------------------------------


def _zero_shot(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    model = fce_model(run, fce, UNICNN, seed)
    test, dev = score(model, fce.test), score(model, fce.dev)
    evaluated = test.evaluate()
    result.add_row(
        "fce-zero-shot", UNICNN, 100 * test.document_f1(), *evaluated.percent("precision", "recall", "f1")
    )
    result.add_row(
        "fce-online",
        "uniCNN, M=1000",
        100 * test.document_f1(),
        *evaluated.percent(*TOKEN_METRICS[:2], "f1", "f0.5"),
    )
    result.add_row("fce-supervised", UNICNN, *evaluated.percent(*TOKEN_METRICS))
    result.add_row("fce-supervised", "uniCNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN_METRICS))
    headline = ("precision", "recall", "f1", "f0.5")
    result.add_row("fce-headline", UNICNN, 100 * test.document_f1(), *evaluated.percent(*headline))
    for beta, name in ((1.0, "F1"), (0.5, "F0.5")):  # no token label is needed for this
        by_documents = test.evaluate(test.margins > stable_offset(dev.largest, dev.targets, beta))
        row = f"uniCNN, boundary by the dev documents' {name}"
        result.add_row("fce-headline", row, 100 * test.document_f1(), *by_documents.percent(*headline))
    whole = Evaluation.of(test.scores, model.labels)
    for name, baseline in (("Random", whole.random()), ("MajorityClass", whole.majority())):
        if seed == run.seed:  # a coin needs no second model
            values = percent(baseline.token_metrics() or {}, "precision", "recall", "f1")
            result.add_row("fce-zero-shot", name, 100 * baseline.document_metrics()["f1"], *values)
        decided = np.concatenate(baseline.tokens or [])[:, 0] > 0
        result.add_claim(
            "zero-shot", f"uniCNN over {name}, F1", evaluated.gain_over(test.evaluate(decided), "f1")
        )
    return result


def _with_boundary(test: Scored, dev: Scored, count: int) -> TokenEvaluation:
    """The boundary tuned with the token labels of the first `count` dev sentences."""
    known = slice(0, int(dev.ends[min(count, len(dev.scores))]))
    return test.evaluate(test.margins > best_offset(dev.margins[known], dev.truth[known]))


def _min_max(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    evaluated = score(fce_model(run, fce, MIN_MAX, seed), fce.test).evaluate()
    base = score(fce_model(run, fce, UNICNN, seed), fce.test).evaluate()
    result.add_row("fce-supervised", MIN_MAX, *evaluated.percent(*TOKEN_METRICS))
    result.add_claim("min-max", "precision over uniCNN's", evaluated.gain_over(base, "precision"))
    result.add_claim("min-max", "recall under uniCNN's", base.gain_over(evaluated, "recall"))
    return result


def _supervised(run: Run, fce: Splits, seed: int) -> StepResult:
    result = StepResult(seed=seed)
    evaluated = score(fce_model(run, fce, SUPERVISED, seed), fce.test).evaluate()
    base = score(fce_model(run, fce, UNICNN, seed), fce.test).evaluate()
    result.add_row("fce-supervised", SUPERVISED, *evaluated.percent(*TOKEN_METRICS))
    result.add_claim("supervised", "uniCNN+S* over uniCNN, F0.5", evaluated.gain_over(base))
    return result


def _cnn(run: Run, fce: Splits) -> StepResult:
    """The baseline over word vectors alone: widths 3, 4 and 5, a hundred filters each."""
    model = run.model(
        "fce-cnn", fce.train, fce.dev,
        encoder="none", widths=(3, 4, 5), filters=min(100, run.settings.filters),
        word_vectors=run.settings.word_vectors,
    )  # fmt: skip
    examples = marked_markdown("cnn: example sentences", score(model, example_sentences(run, fce)))
    write_examples(run, "cnn", examples)
    test = score(model, fce.test)
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
    model = run.model(
        "fce-widths", fce.train, fce.dev, widths=(3, 4, 5), filters=min(100, run.settings.filters)
    )
    test, dev = score(model, fce.test), score(model, fce.dev)
    evaluated = test.evaluate()
    result.add_row(
        "fce-zero-shot", "CNN", 100 * test.document_f1(), *evaluated.percent("precision", "recall", "f1")
    )
    result.add_row("fce-supervised", "CNN+1k", *_with_boundary(test, dev, 1000).percent(*TOKEN_METRICS))
    for seed in run.settings.seeds:
        unicnn = score(fce_model(run, fce, UNICNN, seed), fce.test).evaluate()
        mark = "" if seed == run.seed else f" (uniCNN of seed {seed})"
        for metric in ("F1", "F0.5", "precision"):  # table 1 is in F1
            gain = unicnn.gain_over(evaluated, metric.lower())
            case = f"uniCNN over CNN{mark}, {metric}"
            result.add_claim("width-one", case, gain, beside=metric != "F1")
    return result


def _two_filters(run: Run, fce: Splits) -> StepResult:
    result = StepResult()
    if run.settings.tune_encoder:
        result.add_missing("fce-online", "uniCNN, M=2", TUNED_ONCE)
        return result
    model = run.model("fce-two-filters", fce.train, fce.dev, filters=2)
    test = score(model, fce.test)
    values = test.evaluate().percent("precision", "recall", "f1", "f0.5")
    result.add_row("fce-online", "uniCNN, M=2", 100 * test.document_f1(), *values)
    return result


# -- training with news, and what the model looks at -----------------------------------------------------


def _trained_on_news(run: Run, fce: Splits, news: News) -> StepResult:
    """The alternative to an updated support set: news among the training sentences."""
    result = StepResult()
    if run.settings.tune_encoder:
        for row in ("news50k | F+50k | -", "news50k+ExAG | F+50k | F+50k"):
            result.add_missing("fce-news", f"uniCNN+{row}", TUNED_ONCE)
            result.add_missing("fce-news", f"uniCNN+mm+{row}", TUNED_ONCE)
        result.add_missing("fce-in-text", "uniCNN+news50k on FCE test", TUNED_ONCE)
        return result
    train = [*fce.train, *news.support]
    # As many steps as on FCE alone: more documents, fewer epochs.
    as_many_steps = max(2, math.ceil(12 * len(fce.train) / len(train)))
    epochs = run.settings.epochs or run.recipe.news_epochs or as_many_steps
    test = [*fce.test, *news.test]
    for name, init, loss in (("uniCNN", None, "document"), ("uniCNN+mm", "fce-news-uniCNN", "min-max")):
        model = run.model(f"fce-news-{name}", train, fce.dev, init=init, loss=loss, epochs=epochs)
        alone = score(model, fce.test).evaluate()
        result.add_row("fce-in-text", f"{name}+news50k on FCE test", alone.f05)
        searched = SupportedModel(model, train).search(test)
        evaluated, with_exag = searched.evaluate(), searched.evaluate(searched.exag())
        result.add_row("fce-news", f"{name}+news50k | F+50k | -", *evaluated.percent(*TOKEN_METRICS))
        result.add_row("fce-news", f"{name}+news50k+ExAG | F+50k | F+50k", *with_exag.percent(*TOKEN_METRICS))
    return result


def _unigrams(run: Run, fce: Splits) -> StepResult:
    """Appendix B: the words with the highest and the lowest scores in the wrong sentences of the training set."""
    features = features_of(fce_model(run, fce, UNICNN, run.seed), fce.train)
    result = StepResult()
    for end, lowest, top in (("top", False, 23), ("lowest", True, 13)):
        result.add_ngrams(
            "fce-unigrams", None, end, features.ngrams(1, 1, truth=1, top=top, lowest=lowest), "mean"
        )
    return result
