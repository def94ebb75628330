"""Two classes: training gives what 0.1 gave.

The figures were stored with 0.1: equal bit for bit on its machine, on others to the precision of float32.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.model.labeler import Labeler

STORED = json.loads(Path(__file__).with_name("binary_figures.json").read_text())
SMALL: dict[str, Any] = {
    "encoder": "none", "vocabulary": 200, "word_dimension": 12, "filters": 20, "epochs": 4, "device": "cpu",
    "cache": "", "batch_size": 10,
}  # fmt: skip


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Document]]:
    return sample_splits("reviews", sizes={"train": 120, "dev": 40, "test": 30})


@pytest.fixture(scope="module")
def base(splits: dict[str, list[Document]]) -> Labeler:
    return Labeler(**SMALL).fit(splits["train"], dev=splits["dev"])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("doc", {"boundary": "documents"}),
        ("minmax", {"loss": "min-max"}),
        ("token", {"loss": "token"}),
        ("wide", {"widths": (2, 3), "boundary": "documents"}),
        ("paper", {"recipe": "paper"}),
    ],
)
def test_training_gives_the_stored_figures(
    splits: dict[str, list[Document]], base: Labeler, name: str, settings: dict[str, Any]
) -> None:
    init = base if "loss" in settings else None
    dev = None if name == "paper" else splits["dev"]  # once with a tenth set aside
    model = Labeler(**SMALL | settings).fit(splits["train"], dev=dev, init=init)
    found, stored = model.label(splits["test"]), STORED[name]
    np.testing.assert_allclose([one.output for one in found[:10]], stored["outputs"], atol=2e-5)
    np.testing.assert_allclose(
        np.concatenate([one.scores for one in found])[:60], stored["scores"], atol=2e-5
    )
    assert found[0].offset == pytest.approx(stored["boundary"], abs=2e-5)
