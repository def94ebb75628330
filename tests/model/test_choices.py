"""Boundaries of the words for F1 and F0.5 in a model: found in training, known later, found again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError
from exaudit.metrics import Counts, best_offset
from exaudit.model.boundaries import with_boundary, with_boundary_at_zero, with_choice
from exaudit.model.choices import Known, choices, exclusive_chances, parts_of, shown_boundaries
from exaudit.model.excess import Excess
from exaudit.model.folder import load_model, save_model
from tiny import reviews, tiny_labeler


@pytest.fixture(scope="module")
def model() -> Any:
    documents = [d.without_token_labels() for d in reviews(340)]
    options = {"vocabulary": 400, "word_dimension": 16, "epochs": 10, "batch_size": 5, "learning_rate": 5.0}
    return tiny_labeler(**options).fit(documents[:300], dev=documents[300:]).model_


def test_a_model_knows_both_boundaries(model: Any, tmp_path: Any) -> None:
    assert model.record["boundary"]["by"] == "f0.5"
    assert model.confidence is not None
    more = with_choice(model, "f1")
    assert more.word_boundaries[0] <= model.word_boundaries[0]
    save_model(with_boundary_at_zero(more), tmp_path / "model")
    zero = load_model(tmp_path / "model", device="cpu")
    assert (zero.word_boundaries, zero.confidence) == ((0.0,), None)
    back = with_choice(zero, "f0.5")
    texts = ["a great film", "an awful bore"]
    for a, b in zip(back.label(texts), model.label(texts), strict=True):
        np.testing.assert_array_equal(a.margins, b.margins)
        np.testing.assert_array_equal(a.evidence, b.evidence)


def test_a_word_of_a_doubtful_document_has_to_be_clearer(model: Any) -> None:
    for scores in model.label([d.text for d in reviews(20, seed=9)]):
        chance = 1 / (1 + np.exp(-scores.output / model.confidence.temperature))
        assert scores.doubt == pytest.approx(-np.log(chance) - model.confidence.usual, abs=1e-5)
        other = -np.log(1 - chance) - model.confidence.usual_other
        assert scores.negative_doubt == pytest.approx(other, abs=1e-5)
        expected = scores.positive - scores.negative - scores.doubt - model.word_boundaries[0]
        np.testing.assert_allclose(scores.margins, expected, atol=1e-5)
        assert (
            scores.opposite.decisions == (-scores.scores - scores.negative_doubt > model.negative_boundary)
        ).all()


def test_the_same_boundary_from_the_same_documents(model: Any) -> None:
    dev = [d.without_token_labels() for d in reviews(340)][300:]
    again = with_boundary(with_boundary_at_zero(model), dev, by="f0.5")
    assert again.word_boundaries[0] == pytest.approx(model.word_boundaries[0], abs=1e-4)
    assert again.confidence.temperature == pytest.approx(model.confidence.temperature, rel=1e-3)


def test_what_cannot_be() -> None:
    documents = reviews(60)
    by_tokens = tiny_labeler(loss="min-max").fit(documents).model_
    with pytest.raises(SettingError, match="min-max"):
        with_boundary(by_tokens, documents, by="f1")
    with pytest.raises(SettingError, match="does not know its boundary for f1"):
        with_choice(by_tokens, "f1")
    plain = tiny_labeler(boundary="zero").fit(documents).model_
    positive = [d for d in documents if d.label == "positive"]
    with pytest.raises(DataError, match="tell too little"):
        with_boundary(plain, positive, by="f1")


@pytest.mark.parametrize("part", [0.05, 0.3, 0.8])
def test_a_margin_over_the_next_class_is_a_chance(part: float) -> None:
    """Where a part of words that look alike is of one of several classes and the rest of none, the token loss of that
    class and of the next, whose margin is the opposite, is least where `exclusive_chances` gives the part back."""
    margins = np.linspace(0, 12, 100_001)
    hit, miss = np.logaddexp(0, -margins), np.logaddexp(0, margins)
    losses = part * (hit + hit) + (1 - part) * (miss + hit)
    best = margins[[losses.argmin()]]
    assert exclusive_chances(best, np.zeros(1, np.bool_))[0] == pytest.approx(part, abs=1e-3)


def test_margins_by_chance_are_no_chances() -> None:
    usual = exclusive_chances(np.array([0.2, 0.2, 0.2, 3.0, -1.0, 0.4]), np.array([1, 1, 1, 1, 0, 0]) > 0)
    literal = [
        max(np.tanh(m / 2) - np.tanh(0.1), 0) / (1 - np.tanh(0.1)) for m in (0.2, 0.2, 0.2, 3.0, 0, 0.4)
    ]
    np.testing.assert_allclose(usual, literal)


def test_of_classes_that_exclude_each_other_words_of_none_are_not_flagged() -> None:
    """Each word is ahead for some class: without token labels for any, by chance."""
    draws = np.random.default_rng(0)
    own = draws.integers(0, 3, 200)
    scores, truth = [], []
    for k in own:
        true = draws.random((20, 1)) < 0.1
        raw = draws.normal(0, 0.2, (20, 3)) + np.where(true & (np.arange(3) == k), 4.0, 0.0)
        others = np.stack([np.delete(raw, j, 1).max(1) for j in range(3)], 1)
        scores.append((raw - others).astype(np.float32))
        truth.append(true & (np.arange(3) == k))
    targets = (own[:, None] == np.arange(3)).astype(np.int64)
    head = SimpleNamespace(config=SimpleNamespace(outputs="softmax", classes=3, pool="none"))
    documents = [Document(str(i), "", ("w",) * 20) for i in range(200)]
    known = Known(SimpleNamespace(head=head), documents, scores, (2.0 * targets - 1) * 9, targets)  # type: ignore[arg-type]
    found = choices(known, ())
    assert found is not None
    words, true = np.concatenate(scores), np.concatenate(truth)
    for name, beta in (("f1", 1.0), ("f0.5", 0.5)):
        for k, boundary in enumerate(found["choices"][name]["words"]):
            best = Counts.of(words[:, k] > best_offset(words[:, k], true[:, k], beta), true[:, k]).f(beta)
            assert Counts.of(words[:, k] > boundary, true[:, k]).f(beta) > 0.9 * best > 0.5


def test_a_student_that_is_sure_of_wrong_words_is_not_believed_alone() -> None:
    """Of the words that a student is sure of, half carry the label: those that an encoder shows that was not tuned."""
    draws = np.random.default_rng(0)
    targets = np.arange(200)[:, None] % 2
    sure = [(draws.random((20, 1)) < 0.2) & (target > 0) for target in targets]
    true = [own & (draws.random((20, 1)) < 0.5) for own in sure]
    scores = [
        np.where(a, draws.normal(6, 0.5, (20, 1)), -6) + 3.0 * b for a, b in zip(sure, true, strict=True)
    ]
    parts = np.concatenate([np.where(own, 0.9, 0.05) * t for own, t in zip(true, targets, strict=True)])
    words, truth = np.concatenate(scores)[:, 0], np.concatenate(true)[:, 0]
    head = SimpleNamespace(config=SimpleNamespace(outputs="independent", classes=1, pool="none"))
    documents = [Document(str(i), "", ("w",) * 20) for i in range(200)]
    known = Known(SimpleNamespace(head=head), documents, scores, (2.0 * targets - 1) * 9, targets)  # type: ignore[arg-type]
    mine = np.repeat(targets[:, 0] > 0, 20)
    excess = Excess.along(words[mine], parts[mine, 0])
    f = {}
    for name, given in (("alone", ()), ("both", (excess,))):
        found = choices(known, given)
        assert found is not None
        f[name] = Counts.of(words > found["choices"]["f0.5"]["words"][0], truth).f(0.5)
    assert f["alone"] < 0.6
    assert f["both"] > 0.95
    assert [Excess.from_json(own).to_json() for own in found["excess"]] == [excess.to_json()]


@pytest.mark.parametrize("rare", [2, 20])
def test_words_over_which_a_tuned_encoder_spread_the_label_are_seen_by_one_that_was_not(
    rare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All words of positive documents look like the class, and erasing them tells nothing."""
    monkeypatch.setattr("exaudit.model.choices.Sweep.over", lambda *_: None)
    draws = np.random.default_rng(0)
    targets = (np.arange(600)[:, None] % rare == 0).astype(int)
    true = [(draws.random((20, 1)) < 0.2) & (target > 0) for target in targets]
    scores = [draws.normal(2.0 * t, 1, (20, 1)) + 3.0 * own for own, t in zip(true, targets, strict=True)]
    parts = np.concatenate([np.where(own, 0.9, 0.05) * t for own, t in zip(true, targets, strict=True)])
    words, truth = np.concatenate(scores)[:, 0], np.concatenate(true)[:, 0]
    head = SimpleNamespace(
        config=SimpleNamespace(outputs="independent", classes=1, pool="max"), bias=torch.zeros(2)
    )
    documents = [Document(str(i), "", ("w",) * 20) for i in range(600)]
    known = Known(SimpleNamespace(head=head), documents, scores, (2.0 * targets - 1) * 9, targets)  # type: ignore[arg-type]
    mine = np.repeat(targets[:, 0] > 0, 20)
    excess = Excess.along(words[mine], parts[mine, 0])
    assert np.concatenate(parts_of([excess], scores, targets)).sum() == pytest.approx(
        parts.sum()
    )  # as many words as there are
    best = Counts.of(words[mine] > best_offset(words[mine], truth[mine], 1.0), truth[mine]).f()
    f = []
    for given in ((), (excess,)):
        found = choices(known, given)
        assert found is not None
        f.append(Counts.of(words[mine] > found["choices"]["f1"]["words"][0], truth[mine]).f())
    assert f[0] < 0.6 * best
    assert f[1] > 0.75 * best


def test_words_that_show_are_those_more_common_in_documents_of_the_class() -> None:
    draws = np.random.default_rng(0)
    targets = np.arange(100)[:, None] % 2
    scores = [draws.normal(0, 1, (30, 1)) for _ in targets]
    for own, target in zip(scores, targets, strict=True):
        if target[0]:
            own[:3] += 8.0
    head = SimpleNamespace(
        config=SimpleNamespace(outputs="softmax", classes=2), bias=torch.tensor([0.0, 0.0])
    )
    documents = [Document(str(i), "", ("w",) * 30) for i in range(100)]
    known = Known(SimpleNamespace(head=head), documents, scores, targets * 2.0 - 1, targets)  # type: ignore[arg-type]
    found = shown_boundaries(known, None)
    assert found is not None
    assert (np.concatenate(scores) > found[0]).sum() == pytest.approx(150, rel=0.5)
    nothing = Known(known.eraser, documents, [np.zeros((30, 1))] * 100, known.outputs, targets)
    assert shown_boundaries(nothing, None) is None
