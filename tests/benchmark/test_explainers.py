"""Explainers against literal references, on a tiny classifier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from exaudit.benchmark.explainers import EXPLAINERS, Classifier
from exaudit.benchmark.explainers import classifier as classifier_module
from exaudit.benchmark.explainers.attention import attention
from exaudit.benchmark.explainers.classifier import MeanConfig, MeanHead
from exaudit.benchmark.explainers.gradients import gradient_x_input, integrated_gradients
from exaudit.benchmark.explainers.perturbation import lime, occlusion, shap
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.encode.transformer import Transformer
from exaudit.model.options import RunOptions
from tiny import tiny_bert

SHORT = ("the", "soup", "was", "Bad")  # 10 pieces: letters, but for the words that the vocabulary has
LONG = ("the", "waiter", "was", "slow", "and", "the", "soup", "cold", "again", "we", "left")  # two windows


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "shapes"])
def classifier(bert: Path, request: pytest.FixtureRequest) -> Classifier:
    encoder = Transformer.load(bert, layers=[3], device="cpu")
    if request.param:
        encoder.learn_shapes()
        torch.nn.init.normal_(encoder.module.shapes.weight, generator=torch.Generator().manual_seed(2))
    head = MeanHead(MeanConfig(encoder.dimension), generator=torch.Generator().manual_seed(1))
    return Classifier(encoder, head)


@pytest.mark.parametrize("tokens", [SHORT, LONG, ("soup",)])
def test_the_classifier_is_linear_in_the_mean_of_the_pieces(
    classifier: Classifier, tokens: tuple[str, ...]
) -> None:
    packed = classifier.encoder.pack([tokens])
    logits = packed.vectors.mean(0) @ classifier.head.weight.T + classifier.head.bias  # (2,)
    assert classifier.output(classifier.read(tokens)) == pytest.approx(float(logits[1] - logits[0]), abs=1e-5)


def test_long_documents_are_read_in_windows(classifier: Classifier) -> None:
    reading = classifier.read(LONG)
    pieces = classifier.encoder.pieces([LONG])
    assert reading.ids.shape == (2, 32)
    assert int(reading.pooled.sum()) == len(pieces.ids)
    assert reading.words[reading.pooled].tolist() == pieces.words.tolist()


def test_attributions_of_a_word_are_the_sum_of_its_pieces(classifier: Classifier) -> None:
    reading = classifier.read(SHORT)
    values = torch.arange(reading.positions, dtype=torch.float32).reshape(reading.ids.shape) ** 2
    expected = [0.0] * len(SHORT)
    for word, value in zip(reading.words.flatten().tolist(), values.flatten().tolist(), strict=True):
        if word >= 0:
            expected[word] += value
    assert reading.by_word(values).tolist() == expected
    assert sum(expected) < float(values.sum())  # the special tokens are nobody's


@pytest.mark.parametrize("tokens", [SHORT, LONG])
def test_gradient_x_input_against_finite_differences(classifier: Classifier, tokens: tuple[str, ...]) -> None:
    """Along each word's own embeddings: f(x + h x_word) - f(x - h x_word), over 2h."""
    reading = classifier.read(tokens)
    module = classifier.encoder.module.double()
    classifier.head.double()
    try:
        ours = gradient_x_input(classifier, reading)
        embedded, step = classifier.embed(reading), 1e-5
        for word in range(len(tokens)):
            own = (reading.words == word)[None, :, :, None] * embedded * step
            up, down = (float(classifier.logits(embedded + sign * own, reading)) for sign in (1, -1))
            assert ours[word] == pytest.approx((up - down) / (2 * step), abs=1e-5)
    finally:
        module.float()
        classifier.head.float()


def test_gradient_x_input_by_hand(bert: Path) -> None:
    """Without a Transformer in between, it is each piece's share of the mean, times the weights."""

    class Nothing(torch.nn.Module):
        def __init__(self, table: torch.nn.Embedding) -> None:
            super().__init__()
            self.table = table

        def get_input_embeddings(self) -> torch.nn.Embedding:
            return self.table

        def forward(self, inputs_embeds: torch.Tensor, **_: object) -> object:
            return type("Output", (), {"hidden_states": [inputs_embeds] * 4})()

    encoder = Transformer.load(bert, layers=[3], device="cpu")
    table = encoder.module.get_input_embeddings()
    encoder.module = Nothing(table)
    head = MeanHead(MeanConfig(16), generator=torch.Generator().manual_seed(1))
    classifier = Classifier(encoder, head)
    pieces = encoder.pieces([SHORT])
    weights = (head.weight[1] - head.weight[0]).detach()
    expected = [0.0] * len(SHORT)
    for piece, word in zip(pieces.ids.tolist(), pieces.words.tolist(), strict=True):
        expected[word] += float(table.weight[piece] @ weights) / len(pieces.ids)
    assert gradient_x_input(classifier, classifier.read(SHORT)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("tokens", [SHORT, LONG, ("soup",)])
def test_integrated_gradients_are_complete(classifier: Classifier, tokens: tuple[str, ...]) -> None:
    reading = classifier.read(tokens)
    nothing = classifier.masked(reading, np.zeros((1, len(tokens)), np.bool_))[0]
    ours = integrated_gradients(classifier, reading)
    assert ours.shape == (len(tokens),)
    assert ours.sum() == pytest.approx(classifier.output(reading) - nothing, abs=0.02)


@pytest.mark.parametrize("tokens", [SHORT, LONG, ("soup",)])
def test_occlusion_against_a_slow_loop(
    classifier: Classifier, tokens: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(classifier_module._POSITIONS, "cpu", 70)  # two or three variants at once
    reading, hf = classifier.read(tokens), classifier.encoder.tokenizer.hf
    whole, expected = classifier.output(reading), []
    for word in range(len(tokens)):
        ids, shapes = reading.ids.clone(), reading.shapes.clone()
        for window, position in (reading.words == word).nonzero().tolist():
            ids[window, position], shapes[window, position] = hf.mask_token_id, 0
        embedded = classifier.encoder.module.get_input_embeddings()(ids)
        if classifier.encoder.reads_shapes:
            embedded = embedded + classifier.encoder.module.shapes(shapes)
        hidden = classifier.encoder.module(inputs_embeds=embedded).last_hidden_state  # (W, L, D)
        logits = classifier.head.logits(hidden[reading.pooled].mean(0))
        expected.append(whole - float(logits[1] - logits[0]))
    assert occlusion(classifier, reading) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_shap_values_add_up_and_tell_equal_words_apart(classifier: Classifier) -> None:
    pytest.importorskip("shap")
    for tokens in (SHORT, LONG, ("soup",), ("the", "the"), ("a b", "c")):
        reading = classifier.read(tokens)
        nothing = classifier.masked(reading, np.zeros((1, len(tokens)), np.bool_))[0]
        ours = shap(classifier, reading)
        assert ours.shape == (len(tokens),)
        assert ours.sum() == pytest.approx(classifier.output(reading) - nothing, abs=1e-4)


@pytest.mark.slow
def test_shap_of_two_words_is_shapleys(classifier: Classifier) -> None:
    pytest.importorskip("shap")
    reading = classifier.read(("soup", "Bad"))
    keep = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.bool_)
    none, first, second, both = classifier.masked(reading, keep)
    expected = [(first - none + both - second) / 2, (second - none + both - first) / 2]
    assert shap(classifier, reading) == pytest.approx(expected, abs=1e-5)


def test_lime_finds_the_weights_of_an_additive_classifier(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every word shifts the probability by itself, these shifts are the explanation."""
    pytest.importorskip("lime")
    reading = classifier.read(LONG)
    shifts = np.linspace(-0.04, 0.04, len(LONG))

    def additive(_: object, keep: np.ndarray) -> np.ndarray:
        probability = 0.5 + keep @ shifts
        return np.log(probability / (1 - probability))

    monkeypatch.setattr(classifier, "masked", additive)
    assert lime(classifier, reading) == pytest.approx(shifts, abs=2e-3)


def test_attention_is_what_the_last_layer_gives_less_the_mean(classifier: Classifier) -> None:
    reading = classifier.read(SHORT)
    before = classifier.encoder.module.config._attn_implementation
    ours = attention(classifier, reading)
    assert classifier.encoder.module.config._attn_implementation == before
    assert ours.sum() == pytest.approx(0, abs=1e-9)

    layer = classifier.encoder.module.encoder.layer[2].attention.self
    caught: dict[str, torch.Tensor] = {}
    hook = layer.register_forward_pre_hook(lambda _, args: caught.update(hidden=args[0]))
    classifier.output(reading)
    hook.remove()
    hidden, per_word = caught["hidden"][0], np.zeros(len(SHORT))  # (L, D)
    query, key = (
        part(hidden).detach().reshape(-1, 2, 8) for part in (layer.query, layer.key)
    )  # (L, H, D / H)
    from_ = range(1, len(hidden) - 1)  # what is pooled: all but [CLS] and [SEP]
    for head in range(2):
        for row in from_:
            weights = torch.softmax(key[:, head] @ query[row, head] / 8**0.5, 0).tolist()
            for word, weight in zip(reading.words[0].tolist(), weights, strict=True):
                if word >= 0:
                    per_word[word] += weight / (2 * len(from_))
    assert ours == pytest.approx(per_word - per_word.mean(), abs=1e-5)


def test_words_that_were_cut_off_get_nothing(bert: Path) -> None:
    encoder = Transformer.load(bert, layers=[3], device="cpu", max_length=5)
    classifier = Classifier(encoder, MeanHead(MeanConfig(encoder.dimension)))
    reading = classifier.read(SHORT)  # "the", four letters
    assert (reading.words >= 0).sum() == 5
    for name in ("gradient-x-input", "occlusion"):
        found = EXPLAINERS[name].explain(classifier, reading)
        assert found[:2].all()
        assert not found[2:].any()


def test_training_learns_goes_on_and_never_sees_a_token_label(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier_module, "RATE", 1e-2)  # random weights have far to go
    documents = [
        Document.from_tokens(
            ["the", word, letter, word],
            id=f"{word}{letter}",
            label=label,
            token_labels=["0", label, "0", label],
        )
        for word, label in (("was", "1"), ("and", "0"))
        for letter in "abcdefghijklmnopqrst"
    ]
    labels = LabelSet.infer(documents)
    encoder = Transformer.load(bert, device="cpu")
    work = RunOptions(tmp_path, resume=True)
    first = Classifier.train(encoder, documents, labels, options=work)
    written = (tmp_path / "classifier_head.safetensors").stat().st_mtime_ns
    bare = [document.without_token_labels() for document in documents]
    again = Classifier.train(encoder, bare, labels, options=work)
    assert (tmp_path / "classifier_head.safetensors").stat().st_mtime_ns == written
    assert not encoder.changed
    targets = labels.targets(documents)
    outputs = np.array([first.output(first.read(d.tokens)) for d in documents])
    assert ((outputs > 0) == targets).all()
    assert again.output(again.read(SHORT)) == first.output(first.read(SHORT))
