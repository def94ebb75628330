"""Which documents are read together: those of like lengths, longest first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exaudit.encode.pieces import Ints
from exaudit.encode.reading import few_sizes

__all__ = ["by_length", "evenly"]

SMALL = 32  # pieces: where each thread would have fewer, one is as good as all of them


def by_length(lengths: Ints, window: int, extra: int, budget: int) -> Iterator[Ints]:
    """Split documents, longest first, into batches of at most `budget` padded pieces, or of one document."""
    order = np.argsort(-lengths, kind="stable")
    width = np.minimum(lengths[order], window) + extra
    windows = np.ceil(lengths[order] / window).clip(1)  # about how many each document needs
    first = 0
    while first < len(order):
        longest = int(width[first])
        size = max(1, budget // longest)
        near = (
            width[first : first + size] * 2 >= longest
        )  # beside a far longer document, most would be padding
        counts = np.cumsum(windows[first : first + size])
        last = first + max(1, min(int(near.sum()), int(np.searchsorted(counts, size, side="right"))))
        yield order[first:last]
        first = last


def evenly(lengths: Ints, budget: int, threads: int) -> list[Ints]:
    """The same without padding, in batches of about the same size, as many for each thread."""
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])  # (D,)
    total = int(lengths.sum())
    count = -(-total // budget)
    if total >= SMALL * threads:
        count = -(-count // threads) * threads
    batches: list[Ints] = []
    first = past = 0
    while first < len(order):
        share = -(-(total - past) // max(1, count - len(batches)))
        most = min(budget, few_sizes(share))  # rows that would be nobody's are better used
        last = max(first + 1, int(np.searchsorted(ends, past + most, side="right")))
        batches.append(order[first:last])
        first, past = last, int(ends[last - 1])
    return batches
