"""A small trained model, for labelling many files with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from exaudit.data.document import Document
from tiny import reviews, tiny_labeler


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch") / "model"
    tiny_labeler().fit(reviews(60)).save(folder)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Sequence[Document]], Path]:
    """Write documents as JSONL, below the folder of a test."""

    def put(name: str, documents: Sequence[Document], *, ids: bool = True) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": d.id, "text": d.text} if ids else {"text": d.text} for d in documents]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return put
