"""Which documents are read together."""

from __future__ import annotations

import numpy as np
import pytest

from exaudit.encode.batching import SMALL, evenly


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 7, 100, 1000])
def test_batches_of_about_the_same_size_for_every_thread(count: int, threads: int) -> None:
    lengths = np.random.default_rng(count).integers(3, 40, count)
    batches = evenly(lengths, 1024, threads)
    together = np.concatenate(batches)
    assert sorted(together.tolist()) == list(range(count))
    assert (np.diff(lengths[together]) <= 0).all()  # longest first
    sizes = [int(lengths[indices].sum()) for indices in batches]
    assert max(sizes) <= 1024
    if sum(sizes) < SMALL * threads:
        assert len(batches) == 1
    else:
        assert len(batches) % threads == 0
        assert max(sizes) - min(sizes) < 150


def test_documents_larger_than_a_batch_are_alone() -> None:
    batches = evenly(np.array([5, 3000, 7, 2000]), 1024, 2)
    assert [indices.tolist() for indices in batches] == [[1], [3], [2, 0]]
    assert evenly(np.array([], np.int64), 1024, 2) == []
