"""Models of any set of labels: what they learn, what they say, and that it comes back the same after load."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.metrics import f_beta
from exaudit.model.boundaries import with_boundary
from exaudit.model.labeler import Labeler
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores
from tiny import CUES, tiny_bert, tiny_labeler
from tiny import cued as documents


def fit(several: bool, **options: Any) -> Labeler:
    settings = {"epochs": 15, "batch_size": 10, "filters": 40, "learning_rate": 3.0} | options
    return tiny_labeler(**settings).fit(
        documents(200, several=several), dev=documents(60, several=several, seed=1)
    )


@pytest.fixture(scope="module", params=[False, True], ids=["multiclass", "multilabel"])
def labeler(request: pytest.FixtureRequest) -> Labeler:
    return fit(request.param)


def is_several(labeler: Labeler) -> bool:
    return labeler.model_.labels.kind == "multilabel"


def test_documents_and_words_are_found(labeler: Labeler) -> None:
    test = documents(60, several=is_several(labeler), seed=2)
    labels = labeler.model_.labels
    assert labels.names == ("food", "price", "staff")
    scores = labeler.label(test)
    right = [one.decided == labels.document_classes(one.document) for one in scores]
    assert np.mean(right) > 0.9
    truth = np.concatenate([labels.token_targets(d) for d in test])
    decided = np.concatenate([one.decisions for one in scores])
    hits = (truth & decided).sum(0) / truth.sum(0)
    assert (hits > 0.7).all()
    assert (decided & (truth == 0)).sum() < 0.2 * truth.sum()


def test_a_view_is_one_class_against_the_strongest_other(labeler: Labeler) -> None:
    model = labeler.model_
    test = documents(20, several=is_several(labeler), seed=3)
    for one in model.label(test, exemplars=True):
        assert isinstance(one, MultiScores)
        # s_n for every class, from the exemplar vectors alone: who won each filter, and what that is worth
        vectors = torch.from_numpy(one.exemplars)  # (N, M)
        best = vectors.relu().amax(0)  # (M,)
        terms = (model.head.weight.detach() * best).T  # (M, C)
        chosen = vectors.argmax(0)
        s = np.tile(model.head.bias.detach().numpy(), (len(vectors), 1))
        for m in range(len(chosen)):
            s[chosen[m]] += terms[m].numpy()
        logits = model.head.logits(best[None]).detach().numpy()[0]
        for c, view in enumerate(one.views):
            if is_several(labeler):  # a pair of outputs for each class
                mine, against = logits[2 * c + 1], logits[2 * c]
                words, others = s[:, 2 * c + 1], s[:, 2 * c]
            else:
                mine, against = logits[c], np.delete(logits, c).max()
                words, others = s[:, c], np.delete(s, c, 1).max(1)
            np.testing.assert_allclose(view.positive, words, atol=1e-4)
            np.testing.assert_allclose(view.negative, others, atol=1e-4)
            boundary = model.document_boundaries[c]
            assert view.output == pytest.approx(mine - against - boundary, abs=1e-4)
            assert view.offset == model.word_boundaries[c]


def test_json_carries_every_class(labeler: Labeler) -> None:
    document = documents(1, several=is_several(labeler), seed=4)[0]
    (one,) = labeler.label([document])
    line = json.loads(json.dumps(one.to_json(labeler.model_.labels)))
    assert list(line["scores"]) == ["food", "price", "staff"]
    named = [name for name, score in line["scores"].items() if score > 0]
    assert line["label"] == (named if is_several(labeler) else named[0])
    for token, classes in zip(line["tokens"], one.word_classes, strict=True):
        assert document.text[token["start"] : token["end"]] == token["text"]
        flagged = [name for name, score in token["scores"].items() if score > 0]
        if is_several(labeler):
            assert token["label"] == flagged
        else:  # the strongest of them, or none
            assert token["label"] == (max(flagged, key=token["scores"].get) if flagged else None)
            assert len(classes) <= 1
        assert token["score"] == max(token["scores"].values())


def test_saved_and_loaded(labeler: Labeler, tmp_path: Path) -> None:
    test = documents(10, several=is_several(labeler), seed=5)
    labeler.save(tmp_path / "model")
    loaded = Labeler.load(tmp_path / "model", device="cpu")
    assert loaded.model_.labels == labeler.model_.labels
    for a, b in zip(labeler.label(test), loaded.label(test), strict=True):
        assert (a.margins == b.margins).all()
        assert (a.outputs == b.outputs).all()
    card = (tmp_path / "model" / "README.md").read_text()
    assert "**food**, **price**, **staff**" in card
    np.testing.assert_array_equal(loaded.predict(test), labeler.predict(test))


@pytest.mark.parametrize("loss", ["min-max", "token"])
def test_fine_tuning_goes_on_from_it(labeler: Labeler, loss: str) -> None:
    several = is_several(labeler)
    train, dev = documents(100, several=several), documents(40, several=several, seed=1)
    tuned = tiny_labeler(loss=loss, epochs=4, batch_size=10).fit(train, dev=dev, init=labeler)
    for one in tuned.label(dev):
        largest = one.margins.max(0)  # (C,)
        if several:
            np.testing.assert_allclose(one.outputs, largest, atol=1e-6)
        else:
            assert one.decided == (int(largest.argmax()),)
    assert tuned.model_.record["initial"]["dev"]["document"]["f1"] > 0.5
    assert tuned.model_.record["dev"]["token"]["f1"] > 0.5


def test_boundaries_are_set_for_every_class(labeler: Labeler) -> None:
    held_out = documents(80, several=is_several(labeler), seed=6)
    model = replace(labeler.model_, word_boundaries=(-9.0, 0.0, 9.0))  # all words, some, none
    moved = with_boundary(model, held_out)
    truth = np.concatenate([model.labels.token_targets(d) for d in held_out])  # (W, C)

    def quality(one: Model) -> list[float]:
        decided = np.concatenate([scores.decisions for scores in one.label(held_out)])
        return [f_beta(decided[:, c], truth[:, c], 0.5) for c in range(3)]

    before, after = quality(model), quality(moved)
    assert after[0] > before[0]
    assert after[1] >= before[1]
    assert before[2] == 0
    assert min(after) > 0.6, "27 words outweigh a boundary that is far outside"
    by_documents = with_boundary(model, held_out, by="documents")
    assert min(quality(by_documents)) > 0.6
    assert [one.offset for one in moved.label(held_out[:1])[0].views] == list(moved.word_boundaries)
    with pytest.raises(DataError, match="labels of tokens"):
        with_boundary(model, [Document.from_text("no labels here")])


def test_a_class_without_dev_documents_takes_the_middle_of_the_boundaries() -> None:
    dev = [d for d in documents(60, seed=1) if d.label != "staff"]
    model = tiny_labeler(epochs=2).fit(documents(90), dev=dev).model_
    food, price, staff = model.word_boundaries
    assert staff == pytest.approx((food + price) / 2)


@pytest.mark.parametrize("several", [False, True])
def test_the_encoder_is_tuned_for_any_classes(
    several: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bert = tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")
    train, dev = documents(40, several=several), documents(20, several=several, seed=1)
    taught = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1).fit(train, dev=dev).model_
    assert taught.record["tuning"]["kept"] in ("teacher", "student")
    assert taught.record["tuning"]["pretraining"] is None  # there is no negative class
    tokens = (
        tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, loss="token").fit(train, dev=dev).model_
    )
    assert tokens.head.config.pool == "none"
    for model in (taught, tokens):
        assert all(len(one.views) == 3 for one in model.label(dev))


def test_one_class_against_the_rest_is_a_binary_model() -> None:
    model = tiny_labeler(positive="food").fit(documents(60), dev=documents(30, seed=1)).model_
    assert model.labels.kind == "binary"
    assert model.labels.names == ("not food", "food")
    assert len(model.word_boundaries) == 1


def test_a_tenth_of_every_class_is_set_aside() -> None:
    for several in (False, True):
        record = tiny_labeler(epochs=1).fit(documents(90, several=several)).model_.record
        assert record["documents"] + record["dev_documents"] == 90
        assert 6 <= record["dev_documents"] <= 12
    with pytest.raises(DataError, match="only 1 documents of class 'staff'"):
        tiny_labeler(epochs=1).fit([*documents(40)[0::3], *documents(40)[1::3], documents(3)[2]])


def table_of(labels: Sequence[tuple[str, ...]]) -> np.ndarray:
    return np.array([[int(name in own) for name in CUES] for own in labels])


def test_several_labels_as_scikit_learn_has_them() -> None:
    made = documents(150, several=True)
    texts, table = [d.text for d in made], table_of([d.label for d in made])
    model = tiny_labeler(epochs=15, batch_size=10, filters=40, learning_rate=3.0).fit(texts, table)
    assert model.classes_.tolist() == [0, 1, 2]
    predicted, probability = model.predict(texts), model.predict_proba(texts)
    assert predicted.shape == probability.shape == (150, 3)
    assert ((probability > 0.5) == predicted).all()
    assert model.score(texts, table) > 0.8
    assert model.decision_function(texts).shape == (150, 3)
