"""Frozen and fair: with the same features, the paper's formulas, written out as loops, give our token scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from exaudit import Labeler, sample_documents


@pytest.fixture(scope="module")
def labeler() -> Labeler:
    documents = [d.without_token_labels() for d in sample_documents("learner", 90, seed=4)]
    # In bfloat16 the vectors of a text depend on the texts beside it.
    return Labeler(filters=40, epochs=2, device="cpu", cache="", precision="float32").fit(
        documents[:70], dev=documents[70:]
    )


def test_document_and_token_scores_equal_the_formulas(labeler: Labeler) -> None:
    model = labeler.model_
    head, encoder, vocabulary = model.head, model.encoder, model.vocabulary
    assert encoder is not None
    assert vocabulary is not None
    weights = head.filters[0].detach().double().numpy()  # (M, D)
    biases = head.filter_biases[0].detach().double().numpy()  # (M,)
    final, b = head.weight.detach().double().numpy(), head.bias.detach().double().numpy()  # (2, M), (2,)
    embeddings = head.embedding.detach().double().numpy()  # (V, E)

    for scores in labeler.label(sample_documents("learner", 8, seed=9), exemplars=True):
        tokens = scores.document.tokens
        packed = encoder.pack([tokens])
        layers, words = packed.vectors.double().numpy(), packed.words.tolist()
        ids = vocabulary.ids(tokens)
        t = [np.concatenate([layers[n], embeddings[ids[word]]]) for n, word in enumerate(words)]
        pieces, filters = len(t), len(weights)

        h = [[float(weights[m] @ t[n] + biases[m]) for n in range(pieces)] for m in range(filters)]
        g = [max(max(0.0, value) for value in h[m]) for m in range(filters)]
        winner = [int(np.argmax(h[m])) for m in range(filters)]
        logits = [sum(final[c, m] * g[m] for m in range(filters)) + b[c] for c in (0, 1)]
        s = [
            [sum(final[c, m] * g[m] for m in range(filters) if winner[m] == n) + b[c] for n in range(pieces)]
            for c in (0, 1)
        ]
        own = [[n for n in range(pieces) if words[n] == word] for word in range(len(tokens))]
        for c, ours in ((0, scores.negative), (1, scores.positive)):
            means = [sum(s[c][n] for n in mine) / len(mine) for mine in own]
            np.testing.assert_allclose(ours, means, atol=1e-4)
        (boundary,) = model.document_boundaries
        assert math.isclose(scores.output, logits[1] - logits[0] - boundary, abs_tol=1e-4)
        assert scores.exemplars is not None
        for word, mine in enumerate(own):  # r_n: the responses before the ReLU, averaged over pieces
            r = [sum(h[m][n] for n in mine) / len(mine) for m in range(filters)]
            np.testing.assert_allclose(scores.exemplars[word], r, atol=1e-4)
