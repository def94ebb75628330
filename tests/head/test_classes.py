"""More than two classes, and documents with several labels, against slow loops over the classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from literal import document, make_batch

from exaudit.encode.features import Features
from exaudit.errors import SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.losses import document_loss, min_max_loss, token_loss
from exaudit.head.network import Head, HeadConfig, class_scores, strongest_other
from exaudit.head.training import decided

rows = st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=5)


@given(rows)
def test_each_class_stands_against_the_strongest_other(table: list[list[int]]) -> None:
    scores = torch.tensor(table, dtype=torch.double)
    expected = [[max(v for d, v in enumerate(row) if d != c) for c in range(3)] for row in table]
    assert strongest_other(scores).tolist() == expected
    assert torch.equal(class_scores(scores, "softmax"), scores - torch.tensor(expected))


@given(rows)
def test_independent_classes_have_an_output_for_and_one_against(table: list[list[int]]) -> None:
    scores = torch.tensor([row + row[::-1] for row in table], dtype=torch.double)  # three classes
    expected = [[row[1] - row[0], row[3] - row[2], row[5] - row[4]] for row in scores.tolist()]
    assert class_scores(scores, "independent").tolist() == expected


@given(rows)
def test_of_two_classes_the_positive_one_is_decided(table: list[list[int]]) -> None:
    scores = torch.tensor(table, dtype=torch.double)[:, :2]
    assert class_scores(scores, "softmax").tolist() == [[b - a] for a, b in scores.tolist()]


@pytest.mark.parametrize("outputs", ["softmax", "independent"])
def test_the_decomposition_holds_for_any_number_of_classes(outputs: str) -> None:
    config = HeadConfig(features=4, filters=7, classes=5, dropout=0.0, outputs=outputs)
    head = Head(config, generator=torch.Generator().manual_seed(1)).double()
    batch = make_batch([3, 1, 6], 4, seed=3)
    batch = type(batch)(batch.vectors.double(), batch.bounds, batch.words, batch.word_bounds)
    logits, contributions = head(batch)
    for b in range(3):
        expected, scores = document(head, batch, b)
        np.testing.assert_allclose(logits[b].detach(), expected, atol=1e-9)
        own = contributions[batch.bounds[b] : batch.bounds[b + 1]].detach()
        np.testing.assert_allclose(own, scores, atol=1e-9)


def test_losses_of_several_classes_are_the_means_of_one_against_the_rest() -> None:
    batch = make_batch([2, 3], 1)
    scores = torch.tensor(
        [[0.3, -1.0, 2.0], [1.0, 0.2, -0.4], [-2.0, 0.0, 0.5], [0.1, 0.9, -3.0], [4.0, -1.0, 0.0]],
        dtype=torch.double,
    )  # (T, C)
    targets = torch.tensor([[1, 0, 1], [0, 1, 0]])  # (B, C)
    each = [min_max_loss(batch, scores[:, c : c + 1], targets[:, c : c + 1]) for c in range(3)]
    assert float(min_max_loss(batch, scores, targets)) == pytest.approx(float(sum(each)) / 3)
    pieces = (scores > 0.25).double()
    each = [token_loss(scores[:, c : c + 1], pieces[:, c : c + 1]) for c in range(3)]
    assert float(token_loss(scores, pieces)) == pytest.approx(float(sum(each)) / 3)


def test_document_losses_equal_their_formulas() -> None:
    logits = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], dtype=torch.double)
    softmax = [math.exp(x) for x in (0.5, -1.0, 2.0)], [math.exp(x) for x in (1.0, 0.0, -0.5)]
    expected = -(math.log(softmax[0][2] / sum(softmax[0])) + math.log(softmax[1][0] / sum(softmax[1]))) / 2
    assert float(document_loss(logits, torch.tensor([2, 0]))) == pytest.approx(expected)

    pairs = torch.tensor([[0.5, -1.0, 2.0, 0.3], [1.0, 0.0, -0.5, 4.0]], dtype=torch.double)
    table = [[1, 0], [0, 0]]  # of two independent labels, the second document has none
    terms = [
        -math.log(math.exp(own[2 * c + y]) / (math.exp(own[2 * c]) + math.exp(own[2 * c + 1])))
        for own, row in zip(pairs.tolist(), table, strict=True)
        for c, y in enumerate(row)
    ]
    assert float(document_loss(pairs, torch.tensor(table))) == pytest.approx(sum(terms) / 2)


def test_targets_of_the_classes_that_are_decided() -> None:
    def labelled(targets: list) -> LabelledFeatures:
        return LabelledFeatures(Features.of_words([]), np.ones(len(targets), np.int64), np.array(targets))

    assert labelled([0, 1, 1]).class_targets(2).tolist() == [[0], [1], [1]]
    assert labelled([0, 2]).class_targets(3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert labelled([[1, 1], [0, 0]]).class_targets(2).tolist() == [[1, 1], [0, 0]]


def test_documents_are_of_one_class_or_of_several() -> None:
    outputs = np.array([[-1.0, -0.5, -2.0], [0.5, 0.7, -1.0]])
    one_of = Head(HeadConfig(features=2, filters=2, classes=3))
    several = Head(HeadConfig(features=2, filters=2, classes=3, outputs="independent"))
    assert decided(outputs, one_of).tolist() == [[False, True, False], [False, True, False]]
    assert decided(outputs, several).tolist() == [[False, False, False], [True, True, False]]


@pytest.mark.parametrize(
    "bad", [{"outputs": "tanh"}, {"classes": 1}, {"classes": 0, "outputs": "independent"}]
)
def test_heads_that_make_no_sense_are_refused(bad: dict) -> None:
    with pytest.raises(SettingError):
        HeadConfig(features=2, **bad)
