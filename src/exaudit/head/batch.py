"""What the head takes: documents laid end to end, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from exaudit.encode.packed import Packed

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch:
    """B documents of T word pieces and W words in all.

    There are no padding positions, so none can win the max-pool, and no document knows of its batch mates.
    """

    vectors: Tensor  # (T, D) the encoder's part of t_n
    bounds: Tensor  # (B + 1,) on the CPU: document b owns pieces bounds[b]:bounds[b + 1]
    words: Tensor  # (T,) the word each piece belongs to, counted through the whole batch
    word_bounds: Tensor  # (B + 1,) on the CPU: document b owns words word_bounds[b]:word_bounds[b + 1]
    word_ids: Tensor | None = None  # (T,) vocabulary row of that word, where the head has word embeddings

    @classmethod
    def of(
        cls, packed: Packed, word_counts: Sequence[int], word_ids: Sequence[np.ndarray] | None = None
    ) -> Batch:
        """Add to packed features what is known of the words: how many each document has, and their rows."""
        device = packed.vectors.device
        word_bounds = torch.zeros(len(word_counts) + 1, dtype=torch.long)  # (B + 1,)
        torch.cumsum(torch.as_tensor(word_counts, dtype=torch.long), 0, out=word_bounds[1:])
        first_word = torch.repeat_interleave(word_bounds[:-1], packed.bounds.diff())  # (T,)
        words = packed.words + first_word.to(device)  # (T,)
        rows = None
        if word_ids is not None:
            rows = torch.from_numpy(np.concatenate(word_ids)).to(device)[words]  # (T,)
        return cls(packed.vectors, packed.bounds, words, word_bounds, rows)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def documents(self) -> Tensor:
        """The document each piece belongs to."""
        rows = torch.repeat_interleave(torch.arange(len(self)), self.bounds.diff())
        return rows.to(self.vectors.device)  # (T,)

    @property
    def device(self) -> torch.device:
        return self.vectors.device
