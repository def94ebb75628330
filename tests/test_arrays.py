"""Index arithmetic against literal loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exaudit._arrays import ranges


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=8))
def test_ranges(parts: list[tuple[int, int]]) -> None:
    starts, lengths = (np.array([part[i] for part in parts], np.int64) for i in (0, 1))
    assert ranges(starts, lengths).tolist() == [s + i for s, n in parts for i in range(n)]
    assert ranges(starts, lengths.astype(np.int32)).dtype == np.int64
