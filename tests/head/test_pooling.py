"""The sparse backward pass and the segment maximum, against autograd and loops."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import make_batch

from exaudit.head.losses import document_loss, min_max_loss, token_loss
from exaudit.head.network import Head, HeadConfig
from exaudit.head.pooling import responses, segment_max


def plain(head: Head, batch, dropped: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same network as padded autograd would have it: dense responses, masked maximum, no custom backward."""
    tokens = batch.vectors
    if head.embedding is not None:
        tokens = torch.cat([tokens, head.embedding[batch.word_ids]], 1)
    h = tokens @ head.filters[0].t() + head.filter_biases[0]
    length = int(batch.bounds.diff().max())
    padded = h.new_full((len(batch), length, h.shape[1]), -torch.inf)
    rows = []
    for b in range(len(batch)):
        start, end = int(batch.bounds[b]), int(batch.bounds[b + 1])
        padded[b, : end - start] = h[start:end]
        rows.append(start)
    g, index = padded.relu().max(1)
    index = padded.max(1)[1]
    g = g * dropped
    logits = g @ head.weight.t() + head.bias
    starts = index + torch.tensor(rows)[:, None]
    terms = (g[:, :, None] * head.weight.t()).reshape(-1, 2)
    scores = torch.zeros(len(h), 2, dtype=h.dtype).index_add(0, starts.reshape(-1), terms) + head.bias
    return logits, scores


@given(
    lengths=st.lists(st.integers(1, 12), min_size=2, max_size=6),
    vocabulary=st.sampled_from([0, 5]),
    features=st.sampled_from([0, 6]),
    loss=st.sampled_from(["document", "min-max", "token"]),
    seed=st.integers(0, 100),
)
@settings(max_examples=40, deadline=None)
def test_gradients_equal_autograd(lengths, vocabulary, features, loss, seed) -> None:
    if features + vocabulary == 0:
        features = 3
    batch = make_batch(lengths, features, vocabulary=vocabulary, seed=seed)
    head = Head(HeadConfig(features=features, vocabulary=vocabulary, word_dimension=4, filters=9)).double()
    batch = type(batch)(batch.vectors.double(), batch.bounds, batch.words, batch.word_bounds, batch.word_ids)
    head.embedding is None or head.embedding.data.normal_()
    targets = torch.arange(len(batch)) % 2
    pieces = (torch.arange(len(batch.vectors)) % 3 == 0).double()

    def measure(logits, scores):
        s = scores[:, 1] - scores[:, 0]
        if loss == "document":
            return document_loss(logits, targets)
        s = s[:, None]
        return (
            min_max_loss(batch, s, targets[:, None]) if loss == "min-max" else token_loss(s, pieces[:, None])
        )

    head.train()
    mask = head.drop(torch.ones(len(batch), 9, dtype=torch.double), torch.Generator().manual_seed(seed))
    measure(*head(batch, torch.Generator().manual_seed(seed))).backward()
    ours = [p.grad.to_dense() if p.grad.is_sparse else p.grad for p in head.parameters()]
    head.zero_grad()
    measure(*plain(head, batch, mask)).backward()
    for mine, parameter in zip(ours, head.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-10, rtol=1e-8)


def test_gradient_reaches_the_encoder() -> None:
    batch = make_batch([4, 7], 5)
    vectors = batch.vectors.double().requires_grad_()
    batch = type(batch)(vectors, batch.bounds, batch.words, batch.word_bounds)
    head = Head(HeadConfig(features=5, filters=8, dropout=0.0)).double()
    head(batch)[0].square().sum().backward()
    ours, vectors.grad = vectors.grad, None
    plain(head, batch, torch.ones(2, 8))[0].square().sum().backward()
    torch.testing.assert_close(ours, vectors.grad)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=7), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_segment_max_equals_a_loop(lengths: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(sum(lengths), 3, generator=generator)
    bounds = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    values, rows = segment_max(h, bounds)
    for b in range(len(lengths)):
        part = h[bounds[b] : bounds[b + 1]]
        assert torch.equal(values[b], part.max(0).values)
        assert torch.equal(h[rows[b], torch.arange(3)], values[b])
        assert ((rows[b] >= bounds[b]) & (rows[b] < bounds[b + 1])).all()


def test_responses_split_the_weights_between_encoder_and_words() -> None:
    vectors, embedded, weight, bias = torch.randn(6, 4), torch.randn(6, 3), torch.randn(5, 7), torch.randn(5)
    whole = torch.cat([vectors, embedded], 1) @ weight.t() + bias
    torch.testing.assert_close(responses(vectors, embedded, weight, bias), whole)
