"""Attention within texts: padded ones, or texts laid end to end, of which only attention sees padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from exaudit._arrays import ranges

__all__ = ["Attend", "Group", "attend", "attend_packed", "groups_of"]

ALIKE = 1.5  # times as long, at most: texts that are padded to the same length
LONG = 128  # pieces of a text

Attend = Callable[[Tensor, Tensor, Tensor, float], Tensor]  # query, key, value (..., L, H, E / H) and dropout


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: float, seen: Tensor | None) -> Tensor:
    """All (B, L, H, E / H). `seen` (B, 1, L, L) is false for padding.

    On a CPU, long texts go without dropout here: torch has no fused kernel with it, and the attention of every piece to
    every other would be held several times over, most of the time and of the memory that tuning takes.
    """
    if query.device.type == "cpu" and query.shape[1] > LONG:
        dropout = 0.0
    q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)  # (B, H, L, E / H)
    return scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout).transpose(1, 2)


def attend_packed(
    query: Tensor, key: Tensor, value: Tensor, dropout: float, groups: Sequence[Group]
) -> Tensor:
    """All (T, H, E / H), without padding: the pieces of the groups, one after another."""
    mixed, first = [], 0
    for group in groups:
        own = slice(first, first + group.pieces)
        q, k, v = (group.pad(part[own]) for part in (query, key, value))  # (B, L, H, E / H)
        mixed.append(group.cut(attend(q, k, v, dropout, group.seen)))
        first += group.pieces
    return torch.cat(mixed)


@dataclass(frozen=True)
class Group:
    """Texts that stand together, to be padded to the longest of them, or a little more."""

    count: int
    longest: int
    pieces: int
    places: Tensor | None  # (T,) of the pieces among the padded ones; None where nothing is padded
    seen: Tensor | None  # (B, 1, L, L)

    @classmethod
    def of(cls, lengths: NDArray[np.int64], step: int = 1) -> Group:
        count, pieces = len(lengths), int(lengths.sum())
        longest = -(-int(lengths.max()) // step) * step
        if count * longest == pieces:
            return cls(count, longest, pieces, None, None)
        places = torch.from_numpy(ranges(np.arange(count) * longest, lengths))  # (T,)
        real = torch.from_numpy(np.arange(longest) < lengths[:, None])  # (B, L)
        return cls(count, longest, pieces, places, real[:, None, None].expand(-1, -1, longest, -1))

    def pad(self, rows: Tensor) -> Tensor:
        if self.places is not None:
            empty = rows.new_zeros(self.count * self.longest, *rows.shape[1:])
            rows = empty.index_copy(0, self.places, rows)
        return rows.reshape(self.count, self.longest, *rows.shape[1:])  # (B, L, ...)

    def cut(self, padded: Tensor) -> Tensor:
        rows = padded.flatten(0, 1)  # (B * L, ...)
        return rows if self.places is None else rows.index_select(0, self.places)  # (T, ...)


def groups_of(lengths: NDArray[np.int64], step: int = 1) -> Iterator[Group]:
    """Texts cut into groups of about the same length, padded to a multiple of `step`; those of like lengths should
    stand together already."""
    first = 0
    while first < len(lengths):
        longest = np.maximum.accumulate(lengths[first:])  # of the texts up to each
        shortest = np.minimum.accumulate(lengths[first:])
        count = int((longest <= ALIKE * shortest).sum())  # the first one at least
        yield Group.of(lengths[first : first + count], step)
        first += count
