"""Original or revised? Section 6 of the paper: what annotators' edits leave behind in a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from exaudit.analyse.comparison import mark_sides
from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.features import By
from exaudit.data.diff import FORMER
from exaudit.data.document import Document
from exaudit.experiments.corpora import Contrast, Reviews, read_contrast, read_contrast_dev, read_reviews
from exaudit.experiments.examples import marked_markdown, write_examples
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Bools, Scored, accuracy_gain, features_of, score
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import Difference, best_offset
from exaudit.model.model import Model

__all__ = ["annotation"]

ORIG, REV, CONTRAST = "Orig.", "Rev.", "Contrast"
PAIR = "pair"
TOKEN_METRICS = ("precision", "recall", "f0.5")


CROWD = (
    40,
    254,
    258,
    276,
    278,
)  # the originals of tables 26 and 27: places in the paired dev files, counted from 0
RESEARCHERS = (38, 58, 146, 164, 176, 182, 184)


def annotation(run: Run) -> Iterator[StepResult]:
    """All tables of section 6, step by step."""
    reviews = read_reviews(run.data, fast=run.settings.fast)
    contrast = read_contrast(run.data, fast=run.settings.fast)
    yield run.step("annotation-domain", partial(_crowd, run, reviews))
    yield run.step("annotation-contrast", partial(_researchers, run, reviews, contrast))
    yield run.step("annotation-words", partial(_words, run, reviews))


def _model(run: Run, reviews: Reviews) -> Model:
    """Originals against revisions; the dev set chooses the epoch."""
    train, dev = (
        _marked(getattr(reviews.orig, split), getattr(reviews.rev, split)) for split in ("train", "dev")
    )
    return run.model(
        "annotation", train, dev,
        data="reviews", positive="B", tune_encoder=run.settings.tune_encoder,
    )  # fmt: skip


def _marked(originals: Sequence[Document], revisions: Sequence[Document]) -> list[Document]:
    """Originals as A, then revisions as B in the same order; token labels are what was revised."""
    a, b = (
        [replace(d, meta={**d.meta, PAIR: str(n)}) for n, d in enumerate(side)]
        for side in (originals, revisions)
    )
    return mark_sides(a, b, PAIR)


# -- which reviews are told apart ---------------------------------------------------------------------------


def _crowd(run: Run, reviews: Reviews) -> StepResult:
    """CAD: the test set was revised by the people who revised the training set."""
    test = _marked(reviews.orig.test, reviews.rev.test)
    return _told_apart(run, reviews, test, "annotation-domain", REV)


def _researchers(run: Run, reviews: Reviews, contrast: Contrast) -> StepResult:
    """The contrast set: revised by people of whom the model has seen nothing."""
    test = _marked(contrast.original, contrast.revised)
    return _told_apart(run, reviews, test, "annotation-contrast", CONTRAST)


def _told_apart(run: Run, reviews: Reviews, test: list[Document], table: str, name: str) -> StepResult:
    model = _model(run, reviews)
    scored = score(model, test)
    right = scored.correct.reshape(2, -1)  # (side, pairs)
    negative = np.array([d.meta[FORMER] == "Negative" for d in test]).reshape(2, -1)
    result = StepResult()
    for row, chosen in _subsets(name, negative).items():
        count = int(chosen.sum())
        result.add_row(table, row, 100 * right[chosen].mean() if count else None, count)
    result.add_claim("re-edits-detectable", f"{ORIG}+{name}, accuracy over one half", _over_half(right))
    result.add_claim(
        "negative-distinct", f"{ORIG}+{name}, accuracy", _negative_over_positive(right, negative)
    )
    dev = score(model, _marked(reviews.orig.dev, reviews.rev.dev))
    _tokens(result, scored, Evaluation.of(scored.scores, model.labels), dev, name)
    return result


def _subsets(name: str, negative: Bools) -> dict[str, Bools]:
    """The rows of the paper: by side, by sentiment, and by both."""
    first = np.zeros_like(negative)
    first[0] = True
    sides = {f"{ORIG}+{name}": np.ones_like(negative), ORIG: first, name: ~first}
    sentiments = {"Neg.": negative, "Pos.": ~negative}
    both = {
        f"({side}) and {sentiment}" if "+" in side else f"{side} and {sentiment}": chosen & own
        for side, chosen in sides.items()
        for sentiment, own in sentiments.items()
    }
    return sides | both


def _over_half(right: Bools) -> Difference:
    """Accuracy above that of a coin. The reviews of a pair are drawn together."""
    return accuracy_gain(right.T, np.tile([True, False], (right.shape[1], 1)))


def _negative_over_positive(right: Bools, negative: Bools) -> Difference:
    """Every pair has a negative review and a positive one."""
    sides = (np.where(negative[0], *order) for order in ((right[0], right[1]), (right[1], right[0])))
    return accuracy_gain(*(side[:, None] for side in sides))


def _tokens(result: StepResult, test: Scored, whole: Evaluation, dev: Scored, name: str) -> None:
    """Not in the paper: whether the words that give a revision away are those that were revised.

    Words that no filter picks score the bias, and in balanced classes its sign means little: the row with the
    boundary tuned on the diffs of dev, as in section 5, is free of that.
    """
    decisions = {
        "model": test.margins > 0,
        "model, boundary tuned on dev": test.margins > best_offset(dev.margins, dev.truth),
        "Random": np.concatenate(whole.random().tokens or [])[:, 0] > 0,
    }
    place = "" if name == REV else f" | {name}"
    for row, decided in decisions.items():
        result.add_row("annotation-tokens", row + place, *test.evaluate(decided).percent(*TOKEN_METRICS))


# -- what tells them apart ----------------------------------------------------------------------------------


def _examples(run: Run, model: Model, dev: Sequence[Document], name: str, places: Sequence[int]) -> None:
    """Appendix D: the paper's revised reviews (of other data, the first five), marked."""
    revised = dev[len(dev) // 2 :]
    pairs = [place // 2 for place in places]
    known = not run.settings.fast and len(revised) > max(pairs)
    chosen = [revised[n] for n in pairs] if known else revised[:5]
    write_examples(run, name, marked_markdown(f"Revised reviews of dev: {name}", score(model, chosen)))


def _words(run: Run, reviews: Reviews) -> StepResult:
    """N-grams and reviews of the dev set, of the class that they truly are."""
    model, dev = _model(run, reviews), _marked(reviews.orig.dev, reviews.rev.dev)
    _examples(run, model, dev, "revised", CROWD)
    contrast = read_contrast_dev(run.data)
    if contrast is not None:
        _examples(run, model, _marked(contrast.original, contrast.revised), "contrast", RESEARCHERS)
    features = features_of(model, dev)
    result = StepResult()
    kinds: tuple[tuple[str, int, By, int], ...] = (
        ("annotation-unigrams", 1, "total", 10),
        ("annotation-5grams", 5, "mean", 5),
    )
    for table, size, by, lowest in kinds:
        for target, side in enumerate((ORIG, REV)):
            for end, count in (("top", 10), ("lowest", lowest)):
                found = features.ngrams(size, target, truth=target, by=by, top=count, lowest=end == "lowest")
                result.add_ngrams(table, side, end, found, by)
    names = ("first revised review", "second revised review")
    ranked = features.documents(1, truth=1, top=len(names))
    for name, document in zip(names, ranked, strict=False):
        result.add_row("annotation-top", name, document.normalised)
    for name in names[len(ranked) :]:
        result.add_missing("annotation-top", name, "no such review was recognised as revised")
    return result
