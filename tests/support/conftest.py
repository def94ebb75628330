"""Small support sets of both kinds, with vectors that follow from the document's id."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.support.exemplars import SupportBatch
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from exaudit.support.support_set import SupportSet

LABELS = ("negative", "positive")


def batch_of(ids: Sequence[str], *, width: int = 4, tokens: int | None = None, salt: int = 0) -> SupportBatch:
    """Documents of 0 to 5 tokens (or of `tokens`), everything about them drawn from their ids."""
    documents, vectors, scores, token_labels = [], [], [], []
    for id in ids:
        rng = np.random.default_rng(zlib.crc32(id.encode()) + salt)
        n = int(rng.integers(0, 6)) if tokens is None else tokens
        words = [f"{id}.{i}" for i in range(n)]
        label = LABELS[int(rng.integers(2))]
        documents.append(Document.from_tokens(words, id=id, label=label, meta={"from": id}))
        vectors.append(rng.standard_normal((n, width), dtype=np.float32))
        scores.append(rng.standard_normal(n, dtype=np.float32))
        token_labels.append(rng.integers(-1, 2, n))
    return SupportBatch(
        documents, np.concatenate(vectors), np.concatenate(scores), np.concatenate(token_labels)
    )


@pytest.fixture(name="batch_of")
def _batch_of() -> Callable[..., SupportBatch]:
    return batch_of


@pytest.fixture(params=["memory", "lance"])
def support(request: pytest.FixtureRequest, tmp_path: Path) -> SupportSet:
    """An empty set of width 4."""
    if request.param == "memory":
        return MemorySupportSet.create(width=4, labels=LABELS, model="m")
    return LanceSupportSet.create(tmp_path / "support", width=4, labels=LABELS, model="m")


@pytest.fixture
def unsealed() -> Callable[[LanceSupportSet], None]:
    """Forgets the checksums of a set's files, so that damage has to be found by what is in them."""

    def forget(support: LanceSupportSet) -> None:
        path = Path(support.where) / "head.json"
        head = json.loads(path.read_text())
        path.write_text(json.dumps({"head": head["head"], "tables": head["tables"]}))

    return forget


@pytest.fixture
def stored(tmp_path: Path) -> LanceSupportSet:
    """A set on disk with the documents a, b and c of three tokens each."""
    support = LanceSupportSet.create(tmp_path / "support", width=4, labels=LABELS, model="m")
    support.add(batch_of(["a", "b", "c"], tokens=3))
    return support
