"""A small model that finds a few words, and documents to audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.model.folder import save_model
from exaudit.model.labeler import Labeler
from exaudit.model.model import Model
from exaudit.support.memory import MemorySupportSet

Splits = dict[str, list[Document]]


@pytest.fixture(scope="session")
def splits() -> Splits:
    return sample_splits("reviews", sizes={"train": 300, "dev": 40, "test": 30})


@pytest.fixture(scope="session")
def trained(splits: Splits) -> Model:
    """Word embeddings only: the same word always has the same vector, so there are ties everywhere."""
    small = {"encoder": "none", "filters": 20, "vocabulary": 400, "word_dimension": 16, "device": "cpu"}
    labeler = Labeler(**small, epochs=10, batch_size=5, learning_rate=5.0, boundary="zero")
    return labeler.fit(splits["train"], dev=splits["dev"]).model_


@pytest.fixture
def model(trained: Model, tmp_path: Path) -> Path:
    save_model(trained, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def auditor(trained: Model, splits: Splits) -> Auditor:
    """Over a set in memory, of 60 documents."""
    auditor = Auditor(trained, MemorySupportSet.create(width=20, labels=trained.labels.names))
    auditor.build(splits["train"][:60])
    return auditor
