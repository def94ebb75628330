"""Index arithmetic that several rooms need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ranges"]


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """`starts[0], starts[0] + 1, ...` for each start and its length, end to end."""
    ends = np.cumsum(lengths, dtype=np.int64)
    shift: NDArray[np.int64] = np.repeat(starts - (ends - lengths), lengths)
    return np.add(np.arange(len(shift), dtype=np.int64), shift)
