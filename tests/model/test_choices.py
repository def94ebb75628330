"""Boundaries of the words for F1 and F0.5 in a model: found in training, known later, found again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exaudit.errors import DataError, SettingError
from exaudit.model.boundaries import with_boundary, with_boundary_at_zero, with_choice
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
