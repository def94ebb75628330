"""Layers whose weights were rounded once: what autocast reads, followed where weights change."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from exaudit.encode import bert, rounded
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


def vectors(encoder: Transformer) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """In float32, by rounded layers, and by autocast."""
    exact, ours = (encoder.at(precision).pack(DOCUMENTS).vectors for precision in ("float32", "bfloat16"))
    encoder._rounded = lambda: None  # type: ignore[method-assign]
    return exact, ours, encoder.pack(DOCUMENTS).vectors


def test_what_autocast_would_read(encoder: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded, "SHORT", 0)  # torch's attention for all
    monkeypatch.setattr(bert, "STEP", 1)  # which adds up in another order where texts are padded
    _, ours, theirs = vectors(encoder)
    assert torch.equal(ours, theirs)


def test_plain_products_are_as_near_to_float32(encoder: Transformer) -> None:
    exact, ours, theirs = vectors(encoder)
    assert not torch.equal(ours, theirs)
    assert (ours - exact).norm() < 1.5 * (theirs - exact).norm()


def test_products_come_in_few_sizes(encoder: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, product = set(), torch.nn.functional.linear
    monkeypatch.setattr(rounded.F, "linear", lambda rows, *more: sizes.add(len(rows)) or product(rows, *more))
    for words in range(1, 60):
        encoder.pack([["the"] * words, ["cat"]])
    assert sizes
    assert all(size % 16 == 0 for size in sizes)
    assert [rounded.few_sizes(n) for n in (128, 129, 1024, 1025)] == [128, 192, 1024, 1280]


def test_weights_that_change_are_rounded_again(encoder: Transformer) -> None:
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
