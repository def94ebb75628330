"""Token labels from a teacher's decisions, against the rule written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.head.pseudo_labels import POSSIBLE, Opinion, joint_scores, leave_out, pseudo_labels


def test_the_documents_labels_overrule_the_teacher() -> None:
    scores = [np.array([0.5, -1.0]), np.array([0.5, -1.0]), np.array([-2.0, -0.1, -3.0]), np.array([])]
    made = pseudo_labels([own[:, None] for own in scores], np.array([[1], [0], [1], [1]]))
    assert [labels[:, 0].tolist() for labels in made] == [[1, 0], [0, 0], [0, 1, 0], []]


def test_every_class_by_itself() -> None:
    scores = np.array([[0.5, -1.0, 3.0], [-0.2, -2.0, 4.0]])
    (made,) = pseudo_labels([scores], np.array([[1, 1, 0]]))
    assert made.tolist() == [[1, 1, 0], [0, 0, 0]]


@given(st.lists(st.tuples(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.booleans()), max_size=8))
def test_pseudo_labels_agree_with_its_document(documents: list[tuple[list[float], bool]]) -> None:
    scores_of = [np.array(scores)[:, None] for scores, _ in documents]
    made = pseudo_labels(scores_of, np.array([[y] for _, y in documents]))
    for (scores, positive), labels in zip(documents, (own[:, 0] for own in made), strict=True):
        assert bool(labels.any()) == positive
        if positive and max(scores) > 0:
            assert labels.tolist() == [int(score > 0) for score in scores]


def literal_joint(
    opinions: list[Opinion], targets: np.ndarray, k: int
) -> tuple[list[tuple[int, int]], list[float], float]:
    """The words of the documents of a class, what they come to, and the share that is to be learnt from."""
    places = [(i, n) for i, own in enumerate(opinions[0].scores) if targets[i, k] for n in range(len(own))]
    weights, shares, ranks = [], [], []
    for one in opinions:
        scores = [float(one.scores[i][n, k]) for i, n in places]
        each = [max(sum(score > own[k] for score in scores), 1) / len(scores) for own in one.boundaries]
        share = math.prod(each) ** (1 / len(each))
        weights.append(1 / (share * max(one.error, 0.05)) ** 2)
        shares.append(share)
        ranks.append([sum(other >= score for other in scores) / len(scores) for score in scores])
    weights = [weight / sum(weights) for weight in weights]
    joint = [
        sum(w * -math.log(own[place]) for w, own in zip(weights, ranks, strict=True))
        for place in range(len(places))
    ]
    return places, joint, math.prod(share**w for w, share in zip(weights, shares, strict=True))


def test_teachers_are_joined_by_rank() -> None:
    draws = np.random.default_rng(0)
    lengths, targets = (7, 5, 0, 9, 30), np.array([[1, 0], [0, 1], [1, 1], [1, 0], [1, 1]])
    opinions = [
        Opinion(
            [draws.normal(size=(n, 2)).round(1) * unit for n in lengths], np.array(boundaries) * unit, error
        )
        for unit, error, boundaries in ((1.0, 0.02, [[1.0, 0.5]]), (20.0, 0.06, [[1.0, 0.5], [0.2, 1.5]]))
    ]
    found = joint_scores(opinions, targets)
    for k in range(2):
        places, joint, share = literal_joint(opinions, targets, k)
        cut = np.quantile(joint, 1 - share)
        for (i, n), value in zip(places, joint, strict=True):
            assert found[i][n, k] == pytest.approx(value - cut)
        assert all((own[:, k] < 0).all() for i, own in enumerate(found) if not targets[i, k])


def test_a_teacher_that_needs_few_words_and_errs_little_prevails() -> None:
    draws = np.random.default_rng(1)
    scores = [draws.normal(size=(50, 1)) for _ in range(20)]
    others = [draws.normal(size=(50, 1)) for _ in range(20)]
    sharp = Opinion(scores, np.array([[1.7]]), 0.05)
    blunt = Opinion(others, np.array([[0.5]]), 0.1)
    targets = np.ones((20, 1), np.int64)
    labels = pseudo_labels(joint_scores([blunt, sharp], targets), targets)
    alone = pseudo_labels([own - 1.7 for own in scores], targets)
    agree = np.mean([(a == b).mean() for a, b in zip(labels, alone, strict=True)])
    assert agree > 0.98


def test_among_teachers_that_hardly_err_the_one_that_needs_few_words_prevails() -> None:
    draws = np.random.default_rng(2)
    scores, others = ([draws.normal(size=(50, 1)) for _ in range(20)] for _ in range(2))
    sharp, spread = Opinion(scores, np.array([[1.5]]), 0.03), Opinion(others, np.array([[0.2]]), 0.003)
    targets = np.ones((20, 1), np.int64)
    joint = joint_scores([sharp, spread], targets)
    assert np.corrcoef(np.concatenate(joint)[:, 0], np.concatenate(scores)[:, 0])[0, 1] > 0.8


def test_a_teacher_alone_keeps_its_own_boundary() -> None:
    scores = [np.array([[0.1], [0.9], [0.4]]), np.array([[0.8], [0.2], [0.3]])]
    joint = joint_scores([Opinion(scores, np.array([[0.35]]), 0.1)], np.ones((2, 1), np.int64))
    assert [(own[:, 0] > 0).tolist() for own in joint] == [[False, True, True], [True, False, False]]


# -- left out -----------------------------------------------------------------------------------------------


def test_words_that_show_but_are_not_needed_have_no_pseudo_label() -> None:
    labels = [np.array([[1], [0], [0]], np.int8), np.array([[1], [0]], np.int8)]
    shown = [np.array([[0.9], [0.4], [0.2]]), np.array([[0.3], [0.0]])]
    made = leave_out(labels, shown, shown)
    assert [own[:, 0].tolist() for own in made] == [[1, -1, 0], [1, 0]]
    assert [own[:, 0].tolist() for own in labels] == [[1, 0, 0], [1, 0]]  # these stay as they were
    assert leave_out([], [], []) == []


WORD = st.tuples(st.booleans(), st.floats(-2, 2), st.booleans())  # label, score, of a document of the class


@given(st.lists(st.lists(WORD, max_size=8), max_size=5))
def test_as_many_are_left_out_as_have_a_label_by_score(
    documents: list[list[tuple[bool, float, bool]]],
) -> None:
    """Against a list of the words, the highest score first. Chances rise with scores, in steps: many are equal."""

    def columns(place: int) -> list[np.ndarray]:
        return [np.array([word[place] for word in own], np.float64).reshape(-1, 1) for own in documents]

    labels = [(label * mine).astype(np.int8) for label, mine in zip(columns(0), columns(2), strict=True)]
    scores = columns(1)
    shown = [(own > 0) * 0.5 * mine for own, mine in zip(scores, columns(2), strict=True)]
    words = [
        (score, i, n)
        for i, own in enumerate(scores)
        for n, score in enumerate(own[:, 0].tolist())
        if shown[i][n, 0] > POSSIBLE and not labels[i][n, 0]
    ]
    most = sum(int(own.sum()) for own in labels)
    least = sorted((score for score, _, _ in words), reverse=True)[most:][:1] or [-np.inf]
    expected = {(i, n) for score, i, n in words if score > least[0]}
    made = leave_out(labels, shown, scores)
    assert {(i, n) for i, own in enumerate(made) for n in np.flatnonzero(own[:, 0] < 0).tolist()} == expected
    for own, label in zip(made, labels, strict=True):
        np.testing.assert_array_equal(own[own >= 0], label[own >= 0])


def test_of_words_that_show_alike_those_of_the_highest_scores_are_left_out() -> None:
    labels = [np.array([[1]] * 3 + [[0]] * 10, np.int8)]
    scores = [np.arange(13.0)[:, None]]
    (made,) = leave_out(labels, [np.full((13, 1), 0.4)], scores)
    assert np.flatnonzero(made[:, 0] < 0).tolist() == [10, 11, 12]


def test_classes_leave_out_words_by_themselves() -> None:
    labels = [np.array([[1, 0], [0, 0], [0, 1]], np.int8)]
    shown = [np.array([[0.0, 0.9], [0.5, 0.8], [0.3, 0.0]])]
    (made,) = leave_out(labels, shown, shown)
    assert made.tolist() == [[1, -1], [-1, 0], [0, 1]]
