"""The built-in samples of twenty classes and of several labels, with the default encoder.

One training run finds documents and words of all classes, the words about as well as a model for each class would.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.data.sample import SampleKind, sample_splits
from exaudit.encode.locate import locate
from exaudit.errors import EncoderError
from exaudit.metrics import f_beta
from exaudit.model.model import Model
from exaudit.model.settings import Settings
from exaudit.model.train import train

COMPARED = 3  # classes that also get a model of their own


@pytest.fixture(scope="module", autouse=True)
def _default_encoder() -> None:
    try:
        locate("minilm", download=False)
    except EncoderError as error:
        pytest.skip(str(error))


def word_f1(model: Model, documents: list[Document], labels: LabelSet) -> dict[str, float]:
    """F1 of the words of each class that the model decides."""
    truth = np.concatenate([labels.token_targets(d) for d in documents])  # (W, C)
    scores = model.label(documents)
    found = {}
    for k, view in enumerate(model.labels.views):
        decided = np.concatenate([one.views[k].decisions for one in scores])
        found[view.positive] = f_beta(decided, truth[:, labels.names.index(view.positive)])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "accuracy"), [("requests", 0.8), ("complaints", 0.3)])
def test_one_run_for_all_classes(kind: SampleKind, accuracy: float) -> None:
    splits = sample_splits(kind, sizes={"train": 600, "dev": 150, "test": 150})
    known = [[d.without_token_labels() for d in splits[name]] for name in ("train", "dev")]
    settings = Settings(filters=250, epochs=8, cache="", device="cpu", precision="float32")
    model = train(settings, *known)
    labels = model.labels
    assert len(labels) == (20 if kind == "requests" else 8)
    right = [one.decided == labels.document_classes(one.document) for one in model.label(splits["test"])]
    assert np.mean(right) > accuracy
    together = word_f1(model, splits["test"], labels)
    chosen = labels.names[:COMPARED]
    apart = [
        word_f1(train(replace(settings, positive=name), *known), splits["test"], labels)[name]
        for name in chosen
    ]
    assert np.mean([together[name] for name in chosen]) >= 0.9 * np.mean(apart)
