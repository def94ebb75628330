"""The words of the negative class: where their boundary lies, what they are told as, and what stays as it was."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.head.network import class_scores
from exaudit.metrics import stable_offset
from exaudit.model.boundaries import with_boundary, with_boundary_at_zero, with_choice
from exaudit.model.folder import load_model, update_model
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores
from tiny import reviews, tiny_labeler

OLD = Path(__file__).with_name("written_by_0_1") / "frozen"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return reviews(340)


@pytest.fixture(scope="module")
def labeler(documents: list[Document]) -> Labeler:
    options = {"vocabulary": 400, "word_dimension": 16, "epochs": 10, "batch_size": 5, "learning_rate": 5.0}
    return tiny_labeler(**options).fit(documents[:300], dev=documents[300:])


def test_the_boundary_is_where_dev_documents_are_told_best(
    labeler: Labeler, documents: list[Document]
) -> None:
    dev = documents[300:]
    model = with_boundary(with_boundary_at_zero(labeler.model_), dev, by="documents")
    largest = np.array([-one.views[0].scores.min() for one in model.label(dev)], np.float64)
    negative = np.array([d.label == "negative" for d in dev])
    idle = -float(class_scores(model.head.bias.detach()[None], "softmax")[0, 0])
    assert model.negative_boundary == pytest.approx(
        max(stable_offset(largest, negative, 0.5), idle, 0), abs=1e-5
    )


def test_negative_reviews_have_words_of_their_own(labeler: Labeler, documents: list[Document]) -> None:
    test = reviews(60, seed=1)
    model = with_choice(labeler.model_, "f1")
    found = [one for one in model.label(test) if one.document.label == "negative" and not one.decision]  # type: ignore[union-attr]
    with_words = [one for one in found if (one.evidence < 0).any()]  # type: ignore[union-attr]
    assert len(found) > 10
    assert len(with_words) > 0.6 * len(found)


def test_words_speak_for_one_class_or_none() -> None:
    document = Document.from_tokens(["fine", "dull", "so", "both"])
    values = np.array([2, -2, 0.1, -0.2], np.float32)
    scores = TokenScores(document, -1.0, np.zeros(4, np.float32), values, offset=-0.5, negative_offset=0.1)
    assert scores.evidence.tolist() == [1, -1, 1, 1]  # what is decided positive stays so
    opposite = scores.opposite
    assert opposite is not None
    np.testing.assert_allclose(opposite.margins, -values - np.float32(0.1))
    assert (opposite.decision, opposite.opposite.margins.tolist()) == (1, scores.margins.tolist())  # type: ignore[union-attr]
    unknown = replace(scores, negative_offset=None)
    assert (unknown.opposite, unknown.evidence.tolist()) == (None, [1, 0, 1, 1])


def test_lines_name_the_class_of_each_word(labeler: Labeler, documents: list[Document]) -> None:
    labels = labeler.model_.labels
    for one in labeler.label(documents[:20]):
        line = one.to_json(labels)
        told = {"positive": 1, "negative": -1, None: 0}
        assert [told[t["evidence"]] for t in line["tokens"]] == one.evidence.tolist()  # type: ignore[union-attr]
        assert [t["label"] for t in line["tokens"]] == one.decisions.astype(int).tolist()


def test_it_is_kept_and_moves_with_documents_alone(
    labeler: Labeler, documents: list[Document], tmp_path: Path
) -> None:
    labeler.save(tmp_path / "model")
    model = load_model(tmp_path / "model", device="cpu")
    assert model.negative_boundary == labeler.model_.negative_boundary
    moved = with_boundary(model, documents[:50], by="documents", beta=2.0)
    assert moved.negative_boundary != model.negative_boundary
    update_model(moved, tmp_path / "model")
    assert load_model(tmp_path / "model", device="cpu").negative_boundary == moved.negative_boundary
    assert with_boundary(model, documents[:50], by="tokens").negative_boundary == model.negative_boundary
    assert with_boundary_at_zero(model).negative_boundary == model.negative_boundary


@pytest.mark.parametrize("loss", ["min-max", "token"])
def test_where_a_class_is_an_absence_nothing_is_told(
    labeler: Labeler, documents: list[Document], loss: str
) -> None:
    tuned = tiny_labeler(loss=loss, epochs=1).fit(documents[:40], dev=documents[40:60], init=labeler)
    assert tuned.model_.negative_boundary is None


@pytest.mark.filterwarnings("ignore::exaudit.errors.ModelWarning")
def test_folders_of_0_1_have_none_until_it_is_set(tmp_path: Path, documents: list[Document]) -> None:
    folder = Path(shutil.copytree(OLD, tmp_path / "old"))
    assert "negative_boundary" not in json.loads((folder / "model.json").read_text())
    model = load_model(folder, device="cpu")
    assert model.negative_boundary is None
    assert all(
        t["evidence"] in (None, model.labels.names[1])
        for t in model.label(["so so"])[0].to_json(model.labels)["tokens"]
    )
    labelled = [
        replace(d, label=model.labels.names[d.label == "positive"], token_labels=None) for d in documents[:30]
    ]
    update_model(with_boundary(model, labelled, by="documents"), folder)
    assert load_model(folder, device="cpu").negative_boundary is not None
