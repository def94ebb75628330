"""Labelling by one thread and by several: the same answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.encode import batching
from exaudit.encode.packed import Packed
from exaudit.encode.transformer import Transformer
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from tiny import reviews, tiny_bert, tiny_labeler

DOCUMENTS = reviews(60, seed=3)


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    monkeypatch.setattr(batching, "SMALL", 16)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=[(1,), (1, 2)], ids=["width 1", "widths 1 and 2"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("threads")
    Transformer.load(tiny_bert(folder / "bert"), device="cpu").save(folder / "encoder")
    model = tiny_labeler(encoder=str(folder / "encoder"), widths=request.param).fit(reviews(40)).model_
    if model.encoder is None or not model.encoder.packs:
        pytest.skip("what older versions of Transformers write is left to them")
    return model


def label(model: Model, threads: int, documents: list = DOCUMENTS) -> list[Scores]:
    torch.set_num_threads(threads)
    return model.label(documents, exemplars=model.settings.widths == (1,))


def assert_same(mine: list[Scores], yours: list[Scores]) -> None:
    assert [one.document.id for one in mine] == [one.document.id for one in yours]
    for one, other in zip(mine, yours, strict=True):
        (a,), (b,) = one.views, other.views
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
        np.testing.assert_allclose(a.output, b.output, atol=1e-5)
        assert (a.decision, a.decisions.tolist()) == (b.decision, b.decisions.tolist())
        if one.exemplars is not None and other.exemplars is not None:
            np.testing.assert_allclose(one.exemplars, other.exemplars, atol=1e-5)


def test_several_threads_say_what_one_says(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = label(model, 1)
    threads: set[str] = set()
    encode = Transformer._encode

    def watched(self: Transformer, *arguments: Any, **options: Any) -> Packed:
        threads.add(threading.current_thread().name)
        return encode(self, *arguments, **options)

    monkeypatch.setattr(Transformer, "_encode", watched)
    assert_same(label(model, 3), alone)
    assert all(name.startswith("side-by-side") for name in threads), threads


def test_several_callers_at_once(model: Model) -> None:
    parts = [DOCUMENTS[n : n + 30] for n in range(0, 30, 5)]
    model.head.train()  # and so it stays: decisions take no notice
    with ThreadPoolExecutor(3) as callers:
        found = list(callers.map(lambda part: label(model, 2, part), parts))
    assert model.head.training
    model.head.eval()
    for part, mine in zip(parts, found, strict=True):
        assert_same(mine, label(model, 1, part))
