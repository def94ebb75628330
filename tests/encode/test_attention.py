"""Attention without padding against attention in one text at a time."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from exaudit.encode.attention import ALIKE, LONG, attend, attend_packed, groups_of

LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=12)


@given(LENGTHS)
def test_groups_are_all_texts_in_order_and_about_equally_long(lengths: list[int]) -> None:
    groups = list(groups_of(np.array(lengths)))
    assert sum(group.count for group in groups) == len(lengths)
    first = 0
    for group in groups:
        own = lengths[first : first + group.count]
        assert (group.longest, group.pieces) == (max(own), sum(own))
        assert max(own) <= ALIKE * min(own)
        assert (group.places is None) == (len(set(own)) == 1)
        first += group.count


@given(LENGTHS, st.booleans())
def test_each_text_attends_to_itself_alone(lengths: list[int], in_order: bool) -> None:
    lengths = sorted(lengths) if in_order else lengths
    torch.manual_seed(0)
    parts = [torch.randn(sum(lengths), 2, 3, requires_grad=True) for _ in range(3)]  # query, key, value
    ours = attend_packed(*parts, 0.0, list(groups_of(np.array(lengths))))
    texts = zip(*(part.split(lengths) for part in parts), strict=True)
    alone = torch.cat([attend(*(part[None] for part in text), 0.0, None)[0] for text in texts])
    torch.testing.assert_close(ours, alone)
    weights = torch.randn_like(alone)
    for mine, expected in zip(*(torch.autograd.grad(o, parts, weights) for o in (ours, alone)), strict=True):
        torch.testing.assert_close(mine, expected)


def test_on_a_cpu_only_short_texts_have_dropout_in_their_attention() -> None:
    torch.manual_seed(0)
    for length, dropped in ((LONG, True), (LONG + 1, False)):
        parts = [torch.randn(1, length, 2, 3) for _ in range(3)]
        assert torch.equal(attend(*parts, 0.5, None), attend(*parts, 0.0, None)) == (not dropped)
