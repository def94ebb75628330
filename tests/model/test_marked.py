"""A few documents with marked words: the boundary they give, what is known of it, and bad input."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.errors import DataError, ModelError
from exaudit.head.confidence import Confidence
from exaudit.metrics import Counts
from exaudit.model.boundaries import start_before_marking, with_boundary, with_boundary_at_zero
from exaudit.model.folder import load_model, save_model, update_model
from exaudit.model.marked import PRIOR, marked_measures, marked_offset, marked_smoothing, smoothed
from exaudit.model.model import Model
from exaudit.model.scores import running_mean
from tiny import cued, reviews, tiny_labeler


@pytest.fixture(scope="module")
def model() -> Model:
    return tiny_labeler(epochs=6).fit(reviews(120), dev=reviews(30, seed=1)).model_


def drawn(documents: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Words that are positive the more likely, the higher they score."""
    draws = np.random.default_rng(seed)
    scores = [np.round(draws.normal(size=draws.integers(1, 12)), 1) for _ in range(documents)]
    return scores, [(own + draws.normal(size=len(own)) > 1.5).astype(np.int8) for own in scores]


def literal_offset(
    scores: list[np.ndarray], truth: list[np.ndarray], start: float, beta: float, weights: np.ndarray
) -> float:
    """Every boundary for every draw, one count after another."""
    generator = np.random.default_rng(0)
    values = sorted({start, min(float(own.min()) for own in scores) - 2.0, *np.concatenate(scores).tolist()})
    found = []
    for _ in range(50):
        rows = generator.integers(0, len(scores), len(scores))
        f = []
        for boundary in values:
            right = said = true = 0.0
            for i in rows:
                flagged = scores[i] > boundary
                right += weights[i] * (flagged & (truth[i] == 1)).sum()
                said += weights[i] * flagged.sum()
                true += weights[i] * truth[i].sum()
            whole = beta**2 * true + said
            f.append((1 + beta**2) * right / whole if whole else 0.0)
        ties = [n for n, value in enumerate(f) if value >= max(f) - 1e-12]
        best = min(ties, key=lambda n: (abs(n - values.index(start)), n))
        after = values[min(best + 1, len(values) - 1)]
        found.append(start if values[best] == start else (values[best] + after) / 2)
    positive = sum(w * own.sum() for w, own in zip(weights / weights.mean(), truth, strict=True))
    return start + (float(np.median(found)) - start) * positive / (positive + 10)


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("start", [-0.85, 0.4, 5.0])
def test_the_boundary_equals_a_literal_search(beta: float, start: float) -> None:
    scores, truth = drawn(12)
    assert sum(own.sum() for own in truth) > 3
    weights = np.linspace(0.5, 2.0, 12)
    found = marked_offset(scores, truth, start, beta, weights)
    assert found == pytest.approx(literal_offset(scores, truth, start, beta, weights))
    alike = marked_offset(scores, truth, start, beta)
    assert alike == pytest.approx(literal_offset(scores, truth, start, beta, np.ones(12)))
    assert alike == pytest.approx(marked_offset(scores, truth, start, beta, np.full(12, 3.0)))


def test_the_fewer_words_are_marked_the_nearer_it_stays() -> None:
    """Positive words score 2, others 0: the best boundary is 1, whatever the one before."""
    scores, truth = [np.array([0.0, 0.0, 2.0])] * 40, [np.array([0, 0, 1])] * 40
    for documents in (1, 10, 40):
        found = marked_offset(scores[:documents], truth[:documents], 9.0)
        assert found == pytest.approx(9.0 + (1.0 - 9.0) * documents / (documents + PRIOR))
    assert marked_offset(scores, truth, 1.5) == 1.5, "nothing is better, so it stays"
    assert marked_offset(scores[:3], [np.zeros(3, np.int8)] * 3, 9.0) == 9.0, "no marked word says nothing"
    assert marked_offset([], [], 9.0) == 9.0
    low = marked_offset([np.array([0.5, 0.5])] * 90, [np.ones(2, np.int8)] * 90, 3.0)
    assert low < 0.5, "all words may be positive"


def test_what_is_known_is_judged_by_other_documents() -> None:
    scores, truth = drawn(23, seed=1)
    weights = np.linspace(0.5, 2.0, 23)
    found = marked_measures(scores, truth, 0.3, 0.5, weights)
    tables = []
    for i in range(23):
        others = [j for j in range(23) if j % 10 != i % 10]
        boundary = marked_offset(
            [scores[j] for j in others], [truth[j] for j in others], 0.3, 0.5, weights[others]
        )
        tables.append(Counts.of(scores[i] > boundary, truth[i]))
    right = sum(w * c.true_positive for w, c in zip(weights, tables, strict=True))
    said = sum(w * (c.true_positive + c.false_positive) for w, c in zip(weights, tables, strict=True))
    true = sum(w * (c.true_positive + c.false_negative) for w, c in zip(weights, tables, strict=True))
    expected = {"f": 1.25 * right / (0.25 * true + said), "precision": right / said, "recall": right / true}
    for name, (value, low, high) in found.items():
        assert value == pytest.approx(expected[name]), name
        assert 0 <= low < value < high <= 1


def test_more_documents_make_the_interval_narrower() -> None:
    scores, truth = drawn(400, seed=2)
    widths = [
        high - low
        for n in (10, 50, 400)
        for _, low, high in [marked_measures(scores[:n], truth[:n], 1.0)["f"]]
    ]
    assert widths[0] > widths[1] > widths[2] > 0
    one = marked_measures([np.array([2.0, 0.0])], [np.array([1, 0])], 1.0)
    assert one["f"] == [1.0, 1.0, 1.0], "one document has no others: it is judged by the boundary before"


def test_a_model_takes_and_keeps_it(model: Model, tmp_path: Path) -> None:
    marked = reviews(20, seed=5)
    moved = with_boundary(model, marked, beta=1.0)
    scores = [own.views[0].weighed for own in model.label(marked)]
    truth = [model.labels.views[0].token_targets(d) for d in marked]
    (start,) = start_before_marking(model, 1.0)
    assert moved.word_boundaries == (marked_offset(scores, truth, start, 1.0),)  # type: ignore[arg-type]
    record = moved.record["boundary"]
    assert record["known"] == [marked_measures(scores, truth, start, 1.0)]  # type: ignore[arg-type]
    assert (record["documents"], record["beta"], record["start"]) == (20, 1.0, [start])
    assert record["marked_words"] == [sum(int(own.sum()) for own in truth)]  # type: ignore[union-attr]
    save_model(model, tmp_path / "model")
    update_model(moved, tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    assert loaded.word_boundaries == moved.word_boundaries
    assert loaded.record["boundary"] == record
    again = with_boundary(loaded, marked, beta=1.0)
    assert again.word_boundaries == moved.word_boundaries, "no word counts twice"
    by_documents = with_boundary(loaded, reviews(30, seed=1), by="documents")
    assert with_boundary(by_documents, marked).record["boundary"]["start"] == list(
        by_documents.word_boundaries
    )
    assert with_boundary(with_boundary_at_zero(loaded), marked).record["boundary"]["start"] == [0.0]


def test_it_starts_from_the_boundary_for_the_same_f_score(model: Model) -> None:
    choices = {"f1": {"words": [0.1], "negative": None}, "f0.5": {"words": [0.4], "negative": None}}
    found = {"by": "f0.5", "confidence": {"temperature": 1.0}, "sweep": None, "choices": choices}
    known = replace(
        model, word_boundaries=(0.4,), confidence=Confidence(1.0), record={**model.record, "boundary": found}
    )
    marked = reviews(20, seed=5)
    moved = with_boundary(known, marked, beta=1.0)
    assert moved.record["boundary"]["start"] == [0.1]
    assert moved.record["boundary"]["choices"] == choices, "they stay known"
    again = with_boundary(moved, marked, beta=0.5)
    assert again.record["boundary"]["start"] == [0.4]
    assert again.word_boundaries == with_boundary(known, marked, beta=0.5).word_boundaries
    zero = with_boundary(with_boundary_at_zero(again), marked, beta=0.5)
    assert zero.record["boundary"]["start"] == [0.0], "the boundary that was asked for is the start"


def test_classes_are_set_one_by_one() -> None:
    model = tiny_labeler(epochs=3).fit(cued(90), dev=cued(30, seed=1)).model_
    marked = [d for d in cued(30, seed=6) if d.label != "staff"]
    moved = with_boundary(model, marked)
    start = start_before_marking(model, 0.5)
    assert moved.word_boundaries[2] == start[2], "no word is marked with it"
    for k in (0, 1):
        scores = [own.views[k].weighed for own in model.label(marked)]
        truth = [model.labels.views[k].token_targets(d) for d in marked]
        assert moved.word_boundaries[k] == marked_offset(scores, truth, start[k])  # type: ignore[arg-type]
    known = moved.record["boundary"]["known"]
    assert known[2] is None
    assert set(known[0]) == {"f", "precision", "recall"}
    assert moved.record["boundary"]["marked_words"] == [10, 10, 0]


def test_documents_that_stand_for_more_count_more(model: Model) -> None:
    marked = reviews(20, seed=5)
    weighted = [replace(d, meta={"stands_for": str(1 + n % 3)}) for n, d in enumerate(marked)]
    scores = [own.views[0].weighed for own in model.label(marked)]
    truth = [model.labels.views[0].token_targets(d) for d in marked]
    weights = np.array([1 + n % 3 for n in range(20)], np.float64)
    found = with_boundary(model, weighted)
    assert found.record["boundary"]["known"] != with_boundary(model, marked).record["boundary"]["known"]
    expected = marked_offset(scores, truth, start_before_marking(model, 0.5)[0], 0.5, weights)  # type: ignore[arg-type]
    assert found.word_boundaries == pytest.approx((expected,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: replace(d, token_labels=None), "a boundary by the labels of tokens needs them in every "
         "document, and 1 of 3 have none; mark their words"),
        (lambda d: replace(d, token_labels=("rude",) * len(d.tokens)), "has the unknown token label 'rude' on token 1"),
        (lambda d: replace(d, meta={"marked": "false"}), "1 of 3 documents are not marked yet ('marked' is false)"),
        (lambda d: replace(d, meta={"stands_for": "many"}), "'many' as 'stands_for'"),
        (lambda d: replace(d, meta={"stands_for": "-1"}), "'-1' as 'stands_for'"),
        (lambda d: replace(d, meta={"stands_for": "2"}), "'nothing' as 'stands_for'"),
    ],
)  # fmt: skip
def test_bad_input(model: Model, change, message: str) -> None:  # type: ignore[no-untyped-def]
    documents = [d for d in reviews(30, seed=5) if d.label == "positive"][:3]
    with pytest.raises(DataError, match=re.escape(message)):
        with_boundary(model, [change(documents[0]), *documents[1:]])


def test_nothing_marked_is_told(model: Model) -> None:
    with pytest.raises(DataError, match="there is no document"):
        with_boundary(model, [])
    none = [Document.from_tokens(["so", "so"], token_labels=["0", "0"])] * 4
    with pytest.raises(DataError, match="no word of these 4 documents is marked 'positive'"):
        with_boundary(model, none)


@pytest.mark.parametrize("width", [1, 3, 7])
def test_a_running_mean_equals_a_literal_one(width: int) -> None:
    scores = np.random.default_rng(0).normal(size=9).astype(np.float32)
    literal = [scores[max(0, n - width // 2) : n + width // 2 + 1].mean() for n in range(9)]
    np.testing.assert_allclose(running_mean(scores, width), literal, rtol=1e-5)
    assert running_mean(scores, width).dtype == np.float32
    assert not len(running_mean(scores[:0], width))


def phrases(documents: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Words that are marked in runs of nine, each with a weak sign of its own."""
    draws = np.random.default_rng(seed)
    truth = [np.repeat(draws.integers(0, 5, 12) == 0, 9).astype(np.int8) for _ in range(documents)]
    return [own + draws.normal(size=len(own)) for own in truth], truth


def test_scores_are_smoothed_where_phrases_are_marked_and_nowhere_else() -> None:
    assert marked_smoothing(*phrases(20), 0.5) in (7, 15)
    assert marked_smoothing(*drawn(40), 0.5) == 1
    assert marked_smoothing(phrases(3)[0], [np.zeros(108, np.int8)] * 3, 0.5) == 1, "nothing is marked"
    scores, truth = phrases(20)
    means, boundary = smoothed(scores, 0.5, 7)
    flagged, before = (np.concatenate(of) > at for of, at in ((means, boundary), (scores, 0.5)))
    assert abs(int(flagged.sum()) - int(before.sum())) <= 1, "as many words are above the boundary"
    assert marked_measures(means, truth, boundary)["f"][0] > marked_measures(scores, truth, 0.5)["f"][0]


def test_a_model_smooths_until_its_boundary_is_set_otherwise(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exaudit.model.marked.marked_smoothing", lambda *_: 3)
    documents = reviews(20, seed=5)
    moved = with_boundary(model, documents)
    assert moved.smoothing == (3,)
    save_model(model, tmp_path / "model")
    update_model(moved, tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    assert loaded.smoothing == (3,)
    for plain, own in zip(model.label(documents), loaded.label(documents), strict=True):
        (before,), (after,) = plain.views, own.views
        np.testing.assert_array_equal(after.scores, before.scores)
        np.testing.assert_allclose(after.weighed, running_mean(before.scores, 3) - before.doubt, rtol=1e-5)
    assert with_boundary(loaded, documents).word_boundaries == moved.word_boundaries, "it starts over"
    assert with_boundary_at_zero(loaded).smoothing == ()
    assert with_boundary(loaded, reviews(30, seed=1), by="documents").smoothing == ()
    by_words = replace(model, by_tokens=True)
    assert with_boundary(by_words, documents).smoothing == (1,), "its documents are decided by single words"


def test_damaged_smoothing_is_told(model: Model, tmp_path: Path) -> None:
    save_model(replace(model, smoothing=(0,)), tmp_path / "model")
    with pytest.raises(ModelError, match="smoothing"):
        load_model(tmp_path / "model", device="cpu")
