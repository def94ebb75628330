"""Layers to read with: what the layers themselves give, or autocast, followed where weights change."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from exaudit._product import Product
from exaudit.encode import reading, transformer
from exaudit.encode.bert import Bert
from exaudit.encode.transformer import Transformer

DOCUMENTS = [
    ["The", "cat", "sat", "on", "a", "bad", "movie", "."],
    ["cats", "saw", "."],
    ["the", "cat"] * 20,
    ["the", "mat"] * 21,
]


@pytest.fixture
def encoder(tmp_path: Path, tiny: object) -> Transformer:
    Transformer.load(tiny("bert-uncased"), layers=(5,), device="cpu").save(tmp_path / "bert")  # type: ignore[operator]
    found = Transformer.load(tmp_path / "bert", layers=(1, 5), device="cpu", precision="bfloat16", plain=True)
    if not isinstance(found.module, Bert):
        pytest.skip("what older versions of Transformers write is left to them")
    return found


def vectors(encoder: Transformer) -> tuple[torch.Tensor, torch.Tensor]:
    """By reading layers, and by the layers themselves: under autocast in bfloat16."""
    ours = encoder.pack(DOCUMENTS).vectors
    encoder._reading_layers = lambda: None  # type: ignore[method-assign]
    theirs = encoder.pack(DOCUMENTS).vectors
    assert not torch.equal(ours, theirs)  # another order of sums
    return ours, theirs


@pytest.mark.parametrize("short", [0, 512])
def test_what_the_layers_give(encoder: Transformer, monkeypatch: pytest.MonkeyPatch, short: int) -> None:
    monkeypatch.setattr(reading, "SHORT", short)
    torch.testing.assert_close(*vectors(encoder.at("float32")), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("short", [0, 512])
def test_as_near_to_float32_as_autocast(
    encoder: Transformer, monkeypatch: pytest.MonkeyPatch, short: int
) -> None:
    monkeypatch.setattr(reading, "SHORT", short)
    exact = encoder.at("float32").pack(DOCUMENTS).vectors
    ours, theirs = vectors(encoder)
    assert 0 < (ours - exact).norm() < 1.5 * (theirs - exact).norm()


def test_windows_of_long_documents_come_in_order(
    encoder: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "window", 9)
    monkeypatch.setattr(transformer, "_UNPADDED", 32)  # several parts
    torch.testing.assert_close(*vectors(encoder.at("float32")), atol=1e-5, rtol=1e-5)


def test_products_come_in_few_sizes(encoder: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, product = set(), Product.__call__
    monkeypatch.setattr(
        Product, "__call__", lambda p, rows, **more: sizes.add(len(rows)) or product(p, rows, **more)
    )
    for words in range(1, 60):
        encoder.pack([["the"] * words, ["cat"]])
    assert sizes - {1}  # the trial of a product has one row
    assert all(size % 16 == 0 for size in sizes - {1})
    assert [reading.few_sizes(n) for n in (128, 129, 1024, 1025)] == [128, 192, 1024, 1280]


def test_weights_that_change_are_taken_again(encoder: Transformer) -> None:
    before = encoder.pack(DOCUMENTS).vectors
    assert torch.equal(encoder.pack(DOCUMENTS).vectors, before)
    with torch.no_grad():
        encoder.module.encoder["layer"][0].output.dense.weight.mul_(2)
    assert not torch.equal(encoder.pack(DOCUMENTS).vectors, before)
    copy = encoder.copy()
    changed = encoder.pack(DOCUMENTS).vectors
    with torch.no_grad():
        copy.module.encoder["layer"][0].output.dense.weight.mul_(2)
    assert not torch.equal(copy.pack(DOCUMENTS).vectors, changed)
    assert torch.equal(encoder.pack(DOCUMENTS).vectors, changed)


def test_gradients_are_of_the_weights_themselves(encoder: Transformer) -> None:
    encoder.module.train()
    encoder.pack(DOCUMENTS).vectors.sum().backward()
    assert all(layer.output.dense.weight.grad is not None for layer in encoder.module.encoder["layer"])


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_by_several_threads(
    encoder: Transformer, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """In order, by layers that were made once, and the longest documents one after another."""
    made, before = [], torch.get_num_threads()
    reading_of = encoder.module.reading
    monkeypatch.setattr(encoder.module, "reading", lambda dtype: made.append(dtype) or reading_of(dtype))
    monkeypatch.setattr(transformer, "_UNPADDED", 100)
    documents = [*DOCUMENTS * 20, ["the", "cat"] * 60]
    torch.set_num_threads(threads)
    try:
        found = list(
            encoder.each_batch(
                lambda indices, batch: (indices, batch, torch.is_grad_enabled(), threading.get_ident()),
                documents,
                pieces_per_batch=90,
            )
        )
    finally:
        torch.set_num_threads(before)
    lengths = [len(documents[i]) for indices, *_ in found for i in indices]
    assert lengths == sorted(map(len, documents), reverse=True)
    assert not any(grad for *_, grad, _ in found)
    assert len(made) == 1
    ours = [thread == threading.get_ident() for *_, thread in found]
    assert ours == [True] * len(found) if threads == 1 else [True, *[False] * (len(found) - 1)]
    for indices, batch, *_ in found:
        alone = encoder.pack([documents[i] for i in indices])
        torch.testing.assert_close(batch.vectors, alone.vectors, atol=1e-5, rtol=1e-5)
        assert torch.equal(batch.words, alone.words)
