"""What the last layer looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from exaudit.benchmark.explainers.classifier import Classifier, Floats, Reading

__all__ = ["attention"]


@torch.no_grad()
def attention(classifier: Classifier, reading: Reading) -> Floats:
    """The attention that a word gets in the last layer, from all heads and all pieces that the classifier pools, less
    what the average word of its document gets: attention itself has no zero, and knows no class."""
    encoder = classifier.encoder
    with _weights(encoder.module), encoder.autocast():
        output = encoder.module(inputs_embeds=classifier.embed(reading)[0], output_attentions=True)
    weights = output.attentions[-1].float().mean(1)  # (W, L, L) from, to
    given = (weights * reading.pooled[:, :, None]).sum(1) / reading.pooled.sum()  # (W, L)
    words = reading.by_word(given)
    return np.asarray(words - words.mean())


@contextmanager
def _weights(module: Any) -> Iterator[None]:
    """The quick ways to compute attention keep no weights."""
    before = module.config._attn_implementation
    module.set_attn_implementation("eager")
    try:
        yield
    finally:
        module.set_attn_implementation(before)
