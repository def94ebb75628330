"""Two small tasks, and settings with which a model trains in a second."""

from __future__ import annotations

import pytest

from exaudit.benchmark.task import Task
from exaudit.model.settings import Settings
from tiny import SMALL, cued, reviews


@pytest.fixture
def small() -> Settings:
    return Settings(**SMALL)


@pytest.fixture
def film() -> Task:
    return Task.of("film", reviews(60), reviews(20, seed=1), reviews(20, seed=2))


@pytest.fixture
def meals() -> Task:
    """Three classes."""
    return Task.of("meals", cued(60), cued(21, seed=1), cued(21, seed=2))
