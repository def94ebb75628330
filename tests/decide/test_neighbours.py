from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exaudit.decide import Neighbours
from exaudit.errors import SettingError, SupportError


def table(**changes: Any) -> dict[str, Any]:
    fine = {
        "distances": [[1.0, 2.0], [0.0, 0.0]],
        "scores": [[0.5, -0.5], [1.0, 2.0]],
        "labels": [[1, -1], [1, 1]],
        "token_labels": [[0, -1], [1, 0]],
        "rows": [[7, 3], [2, 9]],
    }
    return {**fine, **changes}


def test_types_are_settled() -> None:
    neighbours = Neighbours(**table())
    assert (len(neighbours), neighbours.k) == (2, 2)
    assert neighbours.distances.dtype == neighbours.scores.dtype == np.float32
    assert neighbours.labels.dtype == neighbours.token_labels.dtype == np.int8
    assert neighbours.rows.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"distances": [[2.0, 1.0], [0.0, 0.0]]}, "nearest first"),
        ({"distances": [[-1.0, 1.0], [0.0, 0.0]]}, "not negative"),
        ({"distances": [[0.0, np.nan], [0.0, 0.0]]}, "finite"),
        ({"distances": [[0.0, 1e39], [0.0, 0.0]]}, "finite"),  # does not fit float32
        ({"scores": [[np.nan, 0.0], [0.0, 0.0]]}, "score"),
        ({"labels": [[2, 1], [1, 1]]}, "labels must be -1"),
        ({"token_labels": [[-2, 1], [1, 1]]}, "token_labels must be -1"),
        ({"labels": [[257, 1], [1, 1]]}, "whole numbers"),  # would wrap around to 1
        ({"labels": [[0.5, 1], [1, 1]]}, "whole numbers"),
        ({"rows": [[1, 2]]}, r"rows have shape \(1, 2\)"),
        ({"scores": [1.0, 2.0]}, r"scores have shape \(2,\)"),
    ],
)
def test_wrong_tables_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SupportError, match=words):
        Neighbours(**table(**changes))


def test_an_empty_support_set_is_refused_but_no_tokens_is_fine() -> None:
    with pytest.raises(SupportError, match="support set is empty"):
        Neighbours(*(np.zeros((3, 0)) for _ in range(5)))
    assert len(Neighbours(*(np.zeros((0, 3)) for _ in range(5)))) == 0


def test_take_and_slices() -> None:
    neighbours = Neighbours(**table())
    assert neighbours.take(1).rows.tolist() == [[7], [2]]
    assert neighbours.take(2) is neighbours
    assert neighbours[1:].rows.tolist() == [[2, 9]]
    assert neighbours[np.array([False, True])].labels.tolist() == [[1, 1]]
    assert neighbours[np.array([1, 0])].scores.tolist() == [[1.0, 2.0], [0.5, -0.5]]
    joined = Neighbours.concatenate([neighbours[1:], neighbours[:1]])
    assert joined.token_labels.tolist() == [[1, 0], [0, -1]]
    with pytest.raises(SupportError, match=r"K = 3 .* only 2"):
        neighbours.take(3)
    with pytest.raises(SettingError, match="1 or more"):
        neighbours.take(0)
    with pytest.raises(SettingError, match="slice"):
        neighbours[0]  # type: ignore[index]
    with pytest.raises(SettingError, match="nothing"):
        Neighbours.concatenate([])
