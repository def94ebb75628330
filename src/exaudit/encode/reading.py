"""The layers of a BERT for reading alone, on a CPU: the same numbers, or weights in bfloat16, without gradients.

Weights are rounded and laid out once, and those of query, key and value are one product. What attention needs of texts
that lie end to end is gathered at once, and so is what it gives. As under autocast, sums and norms stay in float32.

oneDNN compiles a product for each size that it meets, and keeps what it compiled: a server that reads texts
of all lengths would grow without need. So texts come in few sizes here, with rows in the end that are nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from exaudit._product import Product
from exaudit.encode.attention import Group, groups_of

__all__ = ["Layout", "ReadingLayer", "few_sizes"]

STEP = 8  # pieces: attention sees texts padded to a multiple of so many
SHORT = 512  # pieces: up to here plain products are quicker than the attention of torch, and small enough


@dataclass(frozen=True)
class Layout:
    """Where attention finds what it needs of texts laid end to end, one head of one text after another."""

    groups: Sequence[Group]
    taken: Tensor  # rows of queries, keys and values (T * 3 * H, E / H): of each group (3, B, H, L)
    given: Tensor  # (T * H,) rows of what attention gives, of each group (B, H, L)

    @classmethod
    def of(cls, lengths: NDArray[np.int64], heads: int, rows: int) -> Layout:
        """Of texts of like lengths one after another, and rows that are nobody's up to so many."""
        groups, head = list(groups_of(lengths, STEP)), np.arange(heads)
        given = np.zeros((rows, heads), np.int64)
        taken, first, cells = [], 0, 0
        for group in groups:
            count, longest, last = group.count, group.longest, first + group.pieces
            places = np.arange(group.pieces) if group.places is None else group.places.numpy()
            pieces = np.full(count * longest, first)  # padding is a piece like any other: nobody looks at it
            pieces[places] = np.arange(first, last)
            queries = pieces.reshape(count, 1, longest) * 3 * heads + head[:, None]  # (B, H, L)
            taken += [(queries + part * heads).ravel() for part in range(3)]
            text, place = np.divmod(places[:, None], longest)
            given[first:last] = cells + (text * heads + head) * longest + place  # (pieces, H)
            first, cells = last, cells + queries.size
        return cls(groups, torch.from_numpy(np.concatenate(taken)), torch.from_numpy(given.ravel()))


@dataclass(frozen=True)
class ReadingLayer:
    """One layer, of the weights as they are now."""

    heads: int
    dtype: torch.dtype
    mixed: Product  # query, key and value
    attended: Product
    attended_norm: nn.LayerNorm
    inner: Product
    outer: Product
    outer_norm: nn.LayerNorm

    @classmethod
    def of(cls, layer: Any, dtype: torch.dtype) -> ReadingLayer:
        attended, output = layer.attention["output"], layer.output
        query, key, value = layer.attention["self"].children()
        scale = (len(query.bias) // layer.heads) ** -0.5  # of attention, once and for all
        mixed = [(query.weight * scale, query.bias * scale), *((p.weight, p.bias) for p in (key, value))]
        weight, bias = (torch.cat(parts) for parts in zip(*mixed, strict=True))

        def product(weight: Tensor, bias: Tensor) -> Product:
            return Product.of(weight.to(dtype), bias.to(dtype))

        return cls(
            layer.heads,
            dtype,
            product(weight, bias),
            product(attended.dense.weight, attended.dense.bias),
            attended.LayerNorm,
            product(layer.intermediate["dense"].weight, layer.intermediate["dense"].bias),
            product(output.dense.weight, output.dense.bias),
            output.LayerNorm,
        )

    def __call__(self, hidden: Tensor, layout: Layout) -> Tensor:
        """Texts laid end to end (T, E)."""
        mixed = self.mixed(hidden.to(self.dtype)).view(len(hidden) * 3 * self.heads, -1)  # (T * 3 * H, E / H)
        taken = mixed.index_select(0, layout.taken)
        parts, first = [], 0
        for group in layout.groups:
            last = first + 3 * group.count * self.heads * group.longest
            query, key, value = taken[first:last].view(3, group.count, self.heads, group.longest, -1)
            parts.append(_attend(query, key, value, group.seen).reshape(-1, taken.shape[1]))
            first = last
        given = parts[0] if len(parts) == 1 else torch.cat(parts)
        attended = self.attended(given.index_select(0, layout.given).view_as(hidden))  # (T, E)
        hidden = self.attended_norm(attended.float().add_(hidden))
        inner = self.inner(hidden.to(self.dtype), gelu=True)  # (T, I)
        out: Tensor = self.outer_norm(self.outer(inner).float().add_(hidden))
        return out


def few_sizes(rows: int) -> int:
    """So many rows or a few more."""
    step = 16 if rows <= 128 else 64 if rows <= 1024 else 256
    return -(-rows // step) * step


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None) -> Tensor:
    """All (B, H, L, E / H), queries scaled already. `seen` (B, 1, L, L) is false for padding."""
    texts, heads, longest, _ = query.shape
    if longest > SHORT:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=1.0)
    query, key, value = (part.flatten(0, 1) for part in (query, key, value))  # (B * H, L, E / H)
    if seen is None:
        likeness = torch.bmm(query, key.mT)  # (B * H, L, L)
    else:
        unseen = query.new_zeros(texts, heads, longest).masked_fill_(~seen[:, :, 0], -torch.inf)
        unseen = unseen.view(-1, 1, longest).expand(-1, longest, -1)  # (B * H, L, L)
        likeness = torch.baddbmm(unseen, query, key.mT)
    weights = likeness.softmax(-1, dtype=torch.float32)  # quicker than in bfloat16
    return torch.bmm(weights.to(value.dtype), value)  # (B * H, L, E / H)
