"""Windows against literal loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exaudit.encode.pieces import windows_of


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 40), max_size=4), st.integers(1, 12))
def test_windows(lengths: list[int], size: int) -> None:
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    windows = windows_of(bounds, size)
    kept: list[int] = []
    columns = (column.tolist() for column in (windows.start, windows.length, windows.skip, windows.keep))
    table = list(zip(*columns, strict=True))
    for start, length, skip, keep in table:
        assert length <= size
        assert 0 <= skip <= skip + keep <= length
        for piece in range(start + skip, start + skip + keep):
            here = min(piece - start, start + length - 1 - piece)
            for other, wide, _, _ in table:
                same = np.searchsorted(bounds, other, "right") == np.searchsorted(bounds, start, "right")
                if same and other <= piece < other + wide:
                    assert here >= min(piece - other, other + wide - 1 - piece)
            kept.append(piece)
    assert kept == list(range(sum(lengths)))
    for (a, n, _, _), (b, _, _, _) in pairwise(table):
        if b < a + n:  # neighbours in one document share a quarter at least
            assert a + n - b >= size // 4
