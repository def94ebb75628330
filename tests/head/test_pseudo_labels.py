"""Token labels from a teacher's decisions, against the rule written out by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exaudit.head.pseudo_labels import pseudo_labels


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
