"""The order in which documents are tuned on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exaudit.head.tuning import _order


def test_without_groups_the_order_is_a_plain_permutation() -> None:
    ours = _order(np.random.default_rng(3), 20, None)
    np.testing.assert_array_equal(ours, np.random.default_rng(3).permutation(20))


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30), st.integers(0, 5))
def test_every_document_comes_once_and_groups_stay_together(groups: list[str], seed: int) -> None:
    order = _order(np.random.default_rng(seed), len(groups), groups).tolist()
    assert sorted(order) == list(range(len(groups)))
    names = [groups[place] for place in order]
    changes = sum(a != b for a, b in pairwise(names))
    assert changes == len(set(groups)) - 1
