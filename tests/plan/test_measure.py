from __future__ import annotations

import numpy as np

from exaudit.plan.measure import made_vectors


def test_made_vectors_have_leading_directions() -> None:
    """An eighth of the directions holds some 95.5% of the spread, as of real exemplars."""
    vectors, queries = made_vectors(6000, 10, 64)
    assert (vectors.shape, queries.shape) == ((6000, 64), (10, 64))
    spread = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    assert 0.93 < spread[:8].sum() / spread.sum() < 0.98
    assert np.array_equal(made_vectors(6000, 10, 64)[0], vectors)
