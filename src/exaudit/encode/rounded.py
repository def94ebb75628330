"""The layers of a BERT with weights in bfloat16, for reading on a CPU.

Autocast rounds weights anew at every call, and what it reads three times over for query, key and value. Here weights
are rounded once, and the three are one product. As under autocast, sums and norms stay in float32.

oneDNN compiles a product in bfloat16 for each size that it meets, and keeps what it compiled: a server that reads texts
of all lengths would grow without need. So texts come in few sizes here, with rows in the end that are nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from exaudit.encode.attention import Group

__all__ = ["STEP", "RoundedLayer", "few_sizes"]

STEP = 8  # pieces: attention sees texts padded to a multiple of so many
SHORT = 256  # pieces: up to here plain products are quicker than the attention of torch


@dataclass(frozen=True)
class _Linear:
    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, *parts: nn.Linear) -> _Linear:
        """As one product, with the outputs side by side."""
        weight = torch.cat([part.weight.detach() for part in parts]).bfloat16()
        return cls(weight, torch.cat([part.bias.detach() for part in parts]).bfloat16())

    def __call__(self, rows: Tensor) -> Tensor:
        return F.linear(rows, self.weight, self.bias)


@dataclass(frozen=True)
class RoundedLayer:
    """One layer, of the weights as they are now."""

    heads: int
    mixed: _Linear  # query, key and value
    attended: _Linear
    attended_norm: nn.LayerNorm
    inner: _Linear
    outer: _Linear
    outer_norm: nn.LayerNorm

    @classmethod
    def of(cls, layer: Any) -> RoundedLayer:
        attended, output = layer.attention["output"], layer.output
        return cls(
            layer.heads,
            _Linear.of(*layer.attention["self"].children()),
            _Linear.of(attended.dense),
            attended.LayerNorm,
            _Linear.of(layer.intermediate["dense"]),
            _Linear.of(output.dense),
            output.LayerNorm,
        )

    def __call__(self, hidden: Tensor, groups: Sequence[Group]) -> Tensor:
        """Texts laid end to end (T, E)."""
        mixed = self.mixed(hidden.bfloat16()).reshape(len(hidden), 3, self.heads, -1)  # (T, 3, H, E / H)
        first, parts = 0, []
        for group in groups:
            q, k, v = group.pad(mixed[first : first + group.pieces]).permute(
                2, 0, 3, 1, 4
            )  # (B, H, L, E / H)
            parts.append(group.cut(_attend(q, k, v, group.seen).transpose(1, 2)))
            first += group.pieces
        parts.append(mixed[first:, 0])  # nobody's rows
        attended = self.attended(torch.cat(parts).flatten(-2))  # (T, E)
        hidden = self.attended_norm(attended + hidden)
        out: Tensor = self.outer_norm(self.outer(F.gelu(self.inner(hidden.bfloat16()))) + hidden)
        return out


def few_sizes(rows: int) -> int:
    """So many rows or a few more."""
    step = 16 if rows <= 128 else 64 if rows <= 1024 else 256
    return -(-rows // step) * step


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None) -> Tensor:
    """All (B, H, L, E / H). `seen` (B, 1, L, L) is false for padding."""
    if query.shape[2] > SHORT:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=seen)
    likeness = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)  # (B, H, L, L)
    if seen is not None:
        likeness = likeness.masked_fill_(~seen[:, :, :1], -torch.inf)
    out: Tensor = likeness.softmax(-1) @ value
    return out
