"""Token labels from a teacher's decisions, against the rule written out by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exaudit.head.lessons import lessons


def test_the_documents_labels_overrule_the_teacher() -> None:
    scores = [np.array([0.5, -1.0]), np.array([0.5, -1.0]), np.array([-2.0, -0.1, -3.0]), np.array([])]
    taught = lessons(scores, [1, 0, 1, 1])
    assert [labels.tolist() for labels in taught] == [[1, 0], [0, 0], [0, 1, 0], []]


@given(st.lists(st.tuples(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.booleans()), max_size=8))
def test_every_lesson_agrees_with_its_document(documents: list[tuple[list[float], bool]]) -> None:
    taught = lessons([np.array(scores) for scores, _ in documents], [int(y) for _, y in documents])
    for (scores, positive), labels in zip(documents, taught, strict=True):
        assert bool(labels.any()) == positive
        if positive and max(scores) > 0:
            assert labels.tolist() == [int(score > 0) for score in scores]
