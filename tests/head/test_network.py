"""The head against the paper's formulas, written as loops in literal.py."""

from __future__ import annotations

import literal
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import make_batch

from exaudit.errors import SettingError
from exaudit.head import network
from exaudit.head.batch import Batch
from exaudit.head.network import Head, HeadConfig
from exaudit.head.pooling import passages

shapes = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.integers(1, 9), min_size=1, max_size=5),
        "features": st.integers(1, 6),
        "vocabulary": st.sampled_from([0, 4]),
        "filters": st.integers(1, 7),
        "widths": st.sampled_from([(1,), (2,), (3, 4, 5), (1, 2)]),
        "classes": st.integers(2, 4),
        "seed": st.integers(0, 1000),
    }
)


def build(shape: dict, **options) -> tuple[Head, Batch]:
    batch = make_batch(
        shape["lengths"], shape["features"], vocabulary=shape["vocabulary"], seed=shape["seed"]
    )
    config = HeadConfig(
        features=shape["features"],
        vocabulary=shape["vocabulary"],
        word_dimension=3,
        filters=shape["filters"],
        widths=shape["widths"],
        classes=shape["classes"],
        **options,
    )
    head = Head(config, generator=torch.Generator().manual_seed(shape["seed"])).eval()
    return head, batch


@given(shapes)
@settings(max_examples=60, deadline=None)
def test_logits_and_scores_equal_the_loops(shape: dict) -> None:
    head, batch = build(shape)
    parts = head.decompose(batch)
    for b in range(len(batch)):
        logits, pieces = literal.document(head, batch, b)
        words = literal.words_of(batch, b, pieces)
        ours = parts.scores[batch.word_bounds[b] : batch.word_bounds[b + 1]]
        np.testing.assert_allclose(parts.logits[b].numpy(), logits, atol=1e-5)
        np.testing.assert_allclose(ours.numpy(), words, atol=1e-5)


@given(shapes)
@settings(max_examples=60, deadline=None)
def test_width_one_scores_less_bias_sum_to_the_logits_less_bias(shape: dict) -> None:
    head, batch = build(shape | {"widths": (1,)})
    head.double()
    batch = Batch(batch.vectors.double(), batch.bounds, batch.words, batch.word_bounds, batch.word_ids)
    logits, pieces = head(batch)
    sums = torch.zeros_like(logits).index_add(0, batch.documents, pieces - head.bias)
    torch.testing.assert_close(sums, logits - head.bias, atol=1e-12, rtol=1e-12)


@given(shapes)
@settings(max_examples=30, deadline=None)
def test_exemplars_are_the_responses_before_the_relu_averaged_over_words(shape: dict) -> None:
    head, batch = build(shape | {"widths": (1,)})
    with_vectors, without = head.decompose(batch, exemplars=True), head.decompose(batch)
    torch.testing.assert_close(with_vectors.scores, without.scores)
    torch.testing.assert_close(with_vectors.logits, without.logits)
    for b in range(len(batch)):
        t = literal.tokens_of(head, batch, b)
        r = t @ head.filters[0].detach().double().numpy().T + head.filter_biases[0].detach().double().numpy()
        words = literal.words_of(batch, b, r)
        ours = with_vectors.exemplars[batch.word_bounds[b] : batch.word_bounds[b + 1]]
        np.testing.assert_allclose(ours.numpy(), words, atol=1e-5)


def test_decomposition_follows_the_weights_as_they_change() -> None:
    shape = {
        "lengths": [4, 6],
        "features": 3,
        "vocabulary": 5,
        "filters": 6,
        "widths": (1,),
        "classes": 2,
        "seed": 2,
    }
    head, batch = build(shape)
    before = head.decompose(batch).scores.clone()
    with torch.no_grad():
        head.embedding.mul_(2)
    after = head.decompose(batch).scores
    assert not torch.equal(before, after)
    fresh, _ = build(shape)
    fresh.load_state_dict(head.state_dict())
    assert torch.equal(fresh.decompose(batch).scores, after)
    torch.testing.assert_close(head.double().decompose(_double(batch)).scores.float(), after)


def test_rounded_products_are_those_of_rounded_filters_and_features() -> None:
    shape = {
        "lengths": [40, 6], "features": 64, "vocabulary": 5, "filters": 30, "widths": (1,), "classes": 2, "seed": 2,
    }  # fmt: skip
    head, batch = build(shape)
    ours, exact = (head.decompose(batch, exemplars=True, rounded=rounded) for rounded in (True, False))
    assert torch.equal(head.decompose(batch, rounded=True).scores, ours.scores)
    weight = head.filters[0].detach()
    h = batch.vectors.bfloat16().double() @ weight[:, :64].bfloat16().double().t()
    h = (h + head.filter_biases[0].detach().bfloat16().double()).float()  # (T, M)
    h += head.embedding.detach()[batch.word_ids] @ weight[:, 64:].t()
    literal_means = torch.stack([h[batch.words == w].mean(0) for w in range(len(ours.scores))])  # (W, M)
    assert ours.exemplars is not None
    assert ours.exemplars.dtype == torch.float32
    torch.testing.assert_close(ours.exemplars, literal_means, atol=1e-2, rtol=2**-8)
    assert 0 < (ours.exemplars - exact.exemplars).norm() < 0.01 * exact.exemplars.norm()


def _double(batch: Batch) -> Batch:
    return Batch(batch.vectors.double(), batch.bounds, batch.words, batch.word_bounds, batch.word_ids)


def test_pool_none_scores_every_piece_by_its_own_filters() -> None:
    shape = {
        "lengths": [3, 5],
        "features": 4,
        "vocabulary": 3,
        "filters": 6,
        "widths": (1,),
        "classes": 2,
        "seed": 1,
    }
    head, batch = build(shape, pool="none")
    parts = head.decompose(batch, exemplars=True)
    torch.testing.assert_close(parts.scores, head.decompose(batch).scores)
    W, bias = head.weight.detach().double().numpy(), head.bias.detach().double().numpy()
    for b in range(2):
        t = literal.tokens_of(head, batch, b)
        h = t @ head.filters[0].detach().double().numpy().T + head.filter_biases[0].detach().double().numpy()
        words = literal.words_of(batch, b, np.maximum(h, 0) @ W.T + bias)
        ours = parts.scores[batch.word_bounds[b] : batch.word_bounds[b + 1]]
        np.testing.assert_allclose(ours.numpy(), words, atol=1e-5)


def test_a_document_does_not_know_its_batch_mates() -> None:
    head = Head(HeadConfig(features=8, filters=30)).eval()
    batch = make_batch([3, 17, 6, 1], 8, seed=3)
    together = head.decompose(batch, exemplars=True)
    for b in range(len(batch)):
        rows = slice(int(batch.bounds[b]), int(batch.bounds[b + 1]))
        words = slice(int(batch.word_bounds[b]), int(batch.word_bounds[b + 1]))
        alone = Batch(
            batch.vectors[rows],
            torch.tensor([0, rows.stop - rows.start]),
            batch.words[rows] - words.start,
            torch.tensor([0, words.stop - words.start]),
        )
        parts = head.decompose(alone, exemplars=True)
        torch.testing.assert_close(parts.logits[0], together.logits[b], atol=1e-5, rtol=0)
        torch.testing.assert_close(parts.scores, together.scores[words], atol=1e-5, rtol=0)
        torch.testing.assert_close(parts.exemplars, together.exemplars[words], atol=1e-5, rtol=0)


@pytest.mark.parametrize("pool", ["max", "none"])
def test_passages_are_documents_whose_logits_are_averaged(pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head = Head(HeadConfig(features=8, filters=30, passage=5, pool=pool)).eval()
    whole = Head(HeadConfig(features=8, filters=30, pool=pool)).eval()
    whole.load_state_dict(head.state_dict())
    batch = make_batch([3, 17, 5, 1], 8, seed=3)
    bounds, counts = passages(batch.bounds, 5)
    assert counts.tolist() == [1, 4, 1, 1]
    assert bounds.tolist() == [0, 3, 7, 11, 15, 20, 25, 26]
    pieces = Batch(batch.vectors, bounds, torch.arange(26), bounds)  # every piece a word
    apart = whole.decompose(pieces)
    parts = head.decompose(batch, exemplars=True)
    expected = torch.stack([apart.logits[p].mean(0) for p in ([0], [1, 2, 3, 4], [5], [6])])
    torch.testing.assert_close(parts.logits, expected)
    torch.testing.assert_close(head(batch)[0], expected)
    words = torch.stack([apart.scores[batch.words == w].mean(0) for w in range(int(batch.word_bounds[-1]))])
    torch.testing.assert_close(parts.scores, words)
    monkeypatch.setattr(network, "LONG", 2)
    rows = slice(3, 20)
    word = slice(int(batch.word_bounds[1]), int(batch.word_bounds[2]))
    long = Batch(
        batch.vectors[rows],
        torch.tensor([0, 17]),
        batch.words[rows] - word.start,
        torch.tensor([0, word.stop - word.start]),
    )
    found = head.decompose(long)
    torch.testing.assert_close(found.logits[0], expected[1])
    torch.testing.assert_close(found.scores, words[word])


def test_a_word_cut_off_by_a_maximum_length_scores_the_bias() -> None:
    head = Head(HeadConfig(features=2, filters=5)).eval()
    batch = make_batch([4], 2)
    longer = Batch(batch.vectors, batch.bounds, batch.words, batch.word_bounds + torch.tensor([0, 2]))
    parts = head.decompose(longer, exemplars=True)
    torch.testing.assert_close(parts.scores[-2:], head.bias.detach().expand(2, 2))
    torch.testing.assert_close(parts.exemplars[-1], head.filter_biases[0].detach())


def test_dropout_repeats_with_its_generator_and_keeps_the_mean() -> None:
    head = Head(HeadConfig(features=4, filters=2000))
    g = torch.ones(5, 2000)
    first = head.drop(g, torch.Generator().manual_seed(5))
    again = head.drop(g, torch.Generator().manual_seed(5))
    assert torch.equal(first, again)
    assert set(first.unique().tolist()) == {0.0, 2.0}
    assert abs(float(first.mean()) - 1) < 0.05
    assert torch.equal(head.eval().drop(g, None), g)


@pytest.mark.parametrize(
    "bad",
    [
        {"features": 0},
        {"features": 3, "filters": 0},
        {"features": 3, "widths": ()},
        {"features": 3, "classes": 1},
        {"features": 3, "pool": "mean"},
        {"features": 3, "pool": "none", "widths": (1, 2)},
        {"features": 3, "dropout": 1.0},
        {"features": 3, "passage": -1},
        {"features": 3, "passage": 9, "widths": (2,)},
    ],
)
def test_impossible_shapes_are_refused(bad: dict) -> None:
    with pytest.raises(SettingError):
        HeadConfig(**bad)


def test_exemplars_of_wide_filters_are_refused() -> None:
    head = Head(HeadConfig(features=3, filters=2, widths=(2,)))
    with pytest.raises(SettingError, match="width 1"):
        head.decompose(make_batch([3], 3), exemplars=True)


@pytest.mark.parametrize("pool", ["max", "none"])
@pytest.mark.parametrize("features", [0, 6])
def test_a_long_document_in_pieces_scores_as_a_whole(
    pool: str, features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch([50], features, vocabulary=4, seed=3)
    config = HeadConfig(features=features, vocabulary=4, word_dimension=3, filters=9, classes=3, pool=pool)
    head = Head(config, generator=torch.Generator().manual_seed(1)).eval()
    whole = head.decompose(batch)
    monkeypatch.setattr(network, "LONG", 7)
    pieces = head.decompose(batch)
    torch.testing.assert_close(pieces.logits, whole.logits)
    torch.testing.assert_close(pieces.scores, whole.scores)
