"""Random tables of neighbours, and a hypothesis strategy for small ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

from exaudit.decide import Neighbours

settings.register_profile("decide", deadline=None)  # a busy machine is not a defect
settings.load_profile("decide")


def make_neighbours(n: int, k: int, seed: int = 0, *, unknown: bool = True) -> Neighbours:
    """Neighbours with ties, zero distances, zero scores and, unless told otherwise, unknown labels."""
    rng = np.random.default_rng(seed)
    signs = [-1, 0, 1] if unknown else [-1, 1]
    distances = np.sort(np.round(rng.gamma(2.0, 8.0, (n, k)), 1), axis=1)
    return Neighbours(
        distances=distances.astype(np.float32),
        scores=np.round(rng.normal(0, 2, (n, k)), 1).astype(np.float32),
        labels=rng.choice(signs, (n, k)).astype(np.int8),
        token_labels=rng.choice(signs, (n, k)).astype(np.int8),
        rows=rng.integers(0, 10**6, (n, k)),
    )


@pytest.fixture(name="make_neighbours", scope="session")
def _make_neighbours() -> Callable[..., Neighbours]:
    return make_neighbours
