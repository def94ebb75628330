"""Erased words: what the encoder and the head see instead, against texts masked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.data.document import Document
from exaudit.encode.transformer import Transformer
from exaudit.errors import DataError
from exaudit.head.batch import Batch
from exaudit.model.erasure import Eraser
from exaudit.model.model import Model
from tiny import cued, reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    # in float32, since labelling rounds the head's product where the encoder is rounded, and erasing does not
    return (
        tiny_labeler(encoder=str(folder), layers=(2, 3), epochs=1, precision="float32")
        .fit(reviews(40))
        .model_
    )


def eraser(model: Model) -> Eraser:
    return Eraser(model.head, model.encoder, model.vocabulary)


def random_flags(documents: list[Document], seed: int = 3) -> list[Any]:
    draws = np.random.default_rng(seed)
    return [draws.random(len(d.tokens)) < 0.4 for d in documents]


def test_outputs_are_those_of_texts_masked_by_hand(model: Model) -> None:
    documents = reviews(6, seed=5)
    flags = random_flags(documents)
    found = eraser(model).outputs(documents, flags)
    assert model.encoder is not None
    assert model.vocabulary is not None
    unknown = "\x01 not a word"
    for document, own, output in zip(documents, flags, found, strict=True):
        masked = ["[MASK]" if gone else word for word, gone in zip(document.tokens, own, strict=True)]
        packed = model.encoder.pack([masked])  # this tokenizer takes the written form for its mask
        ids = model.vocabulary.ids(
            [unknown if gone else w for w, gone in zip(document.tokens, own, strict=True)]
        )
        logits = model.head.decompose(Batch.of(packed, [len(masked)], [ids])).logits
        assert output[0] == pytest.approx(float(logits[0, 1] - logits[0, 0]), abs=1e-5)


def test_nothing_erased_is_the_model_itself(model: Model) -> None:
    documents = reviews(6, seed=5)
    found = eraser(model).outputs(documents, [np.zeros(len(d.tokens), np.bool_) for d in documents])
    own = [scores.views[0].output + model.document_boundaries[0] for scores in model.label(documents)]
    np.testing.assert_allclose(found[:, 0], own, atol=1e-5)


def test_an_erased_word_is_one_mask_piece_whatever_it_was(folder: Path) -> None:
    encoder = Transformer.load(folder, device="cpu")
    hf = encoder.tokenizer.hf
    assert encoder.tokenizer.mask == hf.convert_tokens_to_ids("[MASK]")
    erased = [np.array([False, True, True, False])]
    one = encoder.pieces([["the", "longword", "[SEP]", "was"]], erased=erased)
    other = encoder.pieces([["the", "x", "Y", "was"]], erased=erased)
    assert one.ids.tolist() == [*hf.convert_tokens_to_ids(["the", "[MASK]", "[MASK]", "was"])]
    assert one.words.tolist() == [0, 1, 2, 3]
    for name in (
        "ids",
        "words",
        "shapes",
        "bounds",
    ):  # neither length nor case nor name of the word shines through
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_words_behind_the_maximum_length_stay_unread(folder: Path) -> None:
    encoder = Transformer.load(folder, device="cpu", max_length=3)
    erased = [np.array([False, True, False, True])]
    pieces = encoder.pieces([["the", "ab", "was", "and"]], erased=erased)
    assert pieces.words.tolist() == [0, 1]  # "the", and "a", "b" as one; no mask for what was never read


def test_without_a_mask_token_words_are_left_out(folder: Path) -> None:
    encoder = Transformer.load(folder, device="cpu")
    tokenizer = encoder.tokenizer
    tokenizer.mask = None
    texts = [["the", "ab", "was"], ["ab", "cd"], ["and"]]
    erased = [np.array([False, True, False]), np.array([True, True]), np.array([False])]
    pieces = encoder.pieces(texts, erased=erased)
    names = [tokenizer.hf.convert_ids_to_tokens(int(i)) for i in pieces.ids]
    assert names == ["the", "was", "[UNK]", "and"]  # a document of erased words alone is one unknown piece
    assert pieces.words.tolist() == [0, 2, 0, 0]
    assert pieces.bounds.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("widths", [(1,), (2, 3)])
def test_a_document_of_erased_words_alone_has_an_output(
    folder: Path, mask: bool, widths: tuple[int, ...]
) -> None:
    model = tiny_labeler(encoder=str(folder), epochs=1, widths=widths).fit(reviews(40)).model_
    assert model.encoder is not None
    if not mask:
        model.encoder.tokenizer.mask = None
    documents = reviews(3, seed=8)
    found = eraser(model).outputs(documents, [np.ones(len(d.tokens), np.bool_) for d in documents])
    assert found.shape == (3, 1)
    assert np.isfinite(found).all()


def test_without_an_encoder_erased_words_are_unknown_ones() -> None:
    model = tiny_labeler().fit(reviews(60)).model_
    documents = reviews(5, seed=9)
    flags = random_flags(documents)
    words = [
        ["never-seen-word" if gone else word for word, gone in zip(d.tokens, own, strict=True)]
        for d, own in zip(documents, flags, strict=True)
    ]
    by_hand = [scores.views[0].output + model.document_boundaries[0] for scores in model.label(words)]
    np.testing.assert_allclose(eraser(model).outputs(documents, flags)[:, 0], by_hand, atol=1e-5)


def test_each_class_without_its_own_words() -> None:
    model = tiny_labeler().fit(cued(90)).model_
    documents = cued(6, seed=2)
    draws = np.random.default_rng(0)
    flags = [draws.random((len(d.tokens), 3)) < 0.5 for d in documents]
    found = eraser(model).outputs(documents, flags)
    assert found.shape == (6, 3)
    for k in range(3):
        alone = eraser(model).outputs(documents, [own[:, k] for own in flags])
        np.testing.assert_array_equal(found[:, k], alone[:, k])


def test_no_random_number_is_drawn(model: Model) -> None:
    documents = reviews(3, seed=5)
    before = torch.get_rng_state()
    eraser(model).outputs(documents, random_flags(documents))
    assert torch.equal(before, torch.get_rng_state())


def test_no_documents_have_no_outputs(model: Model) -> None:
    assert eraser(model).outputs([], []).shape == (0, 1)


def test_flags_that_do_not_fit_are_refused(model: Model) -> None:
    with pytest.raises(DataError, match="one flag each"):
        eraser(model).outputs(reviews(1), [np.zeros(1, np.bool_)])
