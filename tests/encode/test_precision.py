"""Encoders that read in bfloat16: close to float32, cached apart from it, and tuned in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from exaudit import _device
from exaudit.encode.cache import CachedTransformer, FeatureCache
from exaudit.encode.transformer import Transformer
from exaudit.errors import SettingError

Tiny = Callable[[str], Path]
DOCUMENTS = [["The", "cat", "sat", "on", "a", "bad", "movie", "."], ["cats", "saw"], ["the", "cat"] * 40]


@pytest.fixture(params=[True, False], ids=["with bfloat16", "without"])
def has(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A machine with bfloat16, or without."""
    monkeypatch.setattr(_device, "has_bfloat16", lambda device: request.param)
    return bool(request.param)


@pytest.mark.parametrize("name", ["bert-uncased", "roberta"])
@pytest.mark.parametrize("plain", [True, False])
def test_close_to_float32(tiny: Tiny, name: str, plain: bool) -> None:
    encoder = Transformer.load(tiny(name), layers=(1, 3, 5), device="cpu", plain=plain)
    exact, rounded = (encoder.at(p).pack(DOCUMENTS).vectors for p in ("float32", "bfloat16"))
    assert exact.dtype == rounded.dtype == torch.float32
    far = (rounded - exact).norm(dim=1) / exact.norm(dim=1)  # (T,)
    assert 0 < far.mean() < 0.03  # large random weights; MiniLM's is 0.005


def test_minilm_is_within_one_percent() -> None:
    encoder = Transformer.load("minilm", device="cpu", plain=True)
    exact, rounded = (encoder.at(p).pack(DOCUMENTS).vectors for p in ("float32", "bfloat16"))
    assert 0 < (rounded - exact).norm() / exact.norm() < 0.01


def test_auto_is_what_the_machine_has(tiny: Tiny, has: bool) -> None:
    encoder = Transformer.load(tiny("bert-uncased"), device="cpu", precision="auto")
    assert (encoder.precision, encoder.dtype) == ("auto", "bfloat16" if has else "float32")
    named = encoder.at(encoder.dtype)
    assert torch.equal(encoder.pack(DOCUMENTS).vectors, named.pack(DOCUMENTS).vectors)
    assert named.module is encoder.module  # the weights are there once


def test_an_encoder_is_tuned_in_what_it_reads_in(tiny: Tiny, has: bool) -> None:
    encoder = Transformer.load(tiny("bert-uncased"), device="cpu", precision="auto")
    found = {}
    for precision in ("auto", "float32", "bfloat16"):
        own = encoder.at(precision)
        own.module.train()
        torch.manual_seed(0)
        found[precision] = own.pack(DOCUMENTS).vectors.detach()
        own.module.eval()
    assert torch.equal(found["auto"], found["bfloat16" if has else "float32"])
    assert not torch.equal(found["bfloat16"], found["float32"])


def test_cached_by_the_precision_that_it_came_to(tiny: Tiny, tmp_path: Path) -> None:
    cache, encoder = FeatureCache(tmp_path), Transformer.load(tiny("bert-uncased"), device="cpu")
    for precision in ("float32", "bfloat16", "auto"):
        cache.features(encoder.at(precision), DOCUMENTS)
    folders = sorted(path.name.rsplit("-", 1)[1] for path in (tmp_path / "features").iterdir())
    assert folders == ["bfloat16", "float32"]
    cached = CachedTransformer(encoder, cache)
    exact, rounded = (next(cached.at(p).batches(DOCUMENTS))[1].vectors for p in ("float32", "bfloat16"))
    assert not torch.equal(exact, rounded)


def test_unknown_precision(tiny: Tiny) -> None:
    with pytest.raises(SettingError, match="'half'"):
        Transformer.load(tiny("bert-uncased"), device="cpu", precision="half")
