"""The shape of a word: what an uncased tokenizer throws away, and a tuned encoder can learn to read again.

An uncased encoder takes "I" and "i" for the same, and "Monday" and "monday". Where it is tuned, it gets one more
embedding, of the word's shape, added to that of the word piece. It starts at zero, so that nothing changes
before the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import nn

__all__ = ["NONE", "SHAPES", "add_shapes", "restore_shapes", "shapes_of"]

NONE, LOWER, CAPITAL, UPPER, TITLE, MIXED, OTHER = range(7)  # NONE: special tokens and padding
SHAPES = 7
_WEIGHT = "shapes.weight"  # its name in the encoder's own file


def shapes_of(tokens: Sequence[str]) -> NDArray[np.int64]:
    """The shape of each word."""
    return np.array([_shape(token) for token in tokens], np.int64)  # (W,)


@lru_cache(maxsize=1 << 16)
def _shape(word: str) -> int:
    if word.islower():
        return LOWER
    if word.isupper():
        return CAPITAL if sum(map(str.isalpha, word)) == 1 else UPPER  # "I", "A"; "BBC"
    if word[:1].isupper():
        return TITLE
    return MIXED if any(map(str.isalpha, word)) else OTHER


def add_shapes(module: Any) -> None:
    """Give a Transformer an embedding of shapes, at zero."""
    words = module.get_input_embeddings().weight  # (V, E)
    zeros = words.new_zeros(SHAPES, words.shape[1])
    module.shapes = nn.Embedding(SHAPES, words.shape[1], _weight=zeros)  # without a draw of random numbers


def restore_shapes(module: Any, folder: Path) -> None:
    """Give it the one that it was saved with, if it was: Transformers itself knows nothing of it."""
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "pt") as file:
            if _WEIGHT in file.keys():  # noqa: SIM118 (not a dictionary)
                add_shapes(module)
                with torch.no_grad():
                    module.shapes.weight.copy_(file.get_tensor(_WEIGHT))
