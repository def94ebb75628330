"""Several documents laid end to end, without padding: what the encoder gives and the head reads."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

__all__ = ["Packed"]


@dataclass(frozen=True)
class Packed:
    """Several documents laid end to end, without padding.

    Document b owns the pieces `bounds[b]:bounds[b + 1]`. `bounds` stays on the CPU, where loops and slices need it;
    `vectors` and `words` share a device. `words` says which word of its own document each piece belongs to.
    """

    vectors: Tensor  # (T, D) float32
    bounds: Tensor  # (B + 1,) int64, on the CPU
    words: Tensor  # (T,) int64

    def __len__(self) -> int:
        """How many documents."""
        return len(self.bounds) - 1
