"""What training reads: the frozen features of many documents, wherever they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from exaudit._arrays import ranges
from exaudit.encode.packed import Packed

__all__ = ["Block", "Features"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """Documents that lie end to end in one place: a memory-mapped file, main memory or a GPU."""

    vectors: Tensor  # (T, D) float16
    words: Tensor  # (T,) int32


class Features:
    """Features of `len(self)` documents; `packed` reads any of them, in any order, as one batch."""

    def __init__(
        self, blocks: Sequence[Block], block: Ints, start: Ints, lengths: Ints, dimension: int
    ) -> None:
        self._blocks = list(blocks)
        self._block, self._start = block, start  # (B,) where each document lies
        self.lengths = lengths  # (B,) pieces
        self.dimension = dimension

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def of_words(cls, token_lists: Sequence[Sequence[str]]) -> Features:
        """No Transformer: one piece per word, and nothing in its vector."""
        lengths = np.array([len(tokens) for tokens in token_lists], np.int64)
        words = torch.from_numpy(ranges(np.zeros_like(lengths), lengths).astype(np.int32))
        start = np.cumsum(lengths) - lengths
        block = Block(torch.zeros(len(words), 0, dtype=torch.float16), words)
        return cls([block], np.zeros_like(lengths), start, lengths, 0)

    def packed(self, indices: Sequence[int] | Ints) -> Packed:
        """These documents as one batch, float32."""
        chosen = np.asarray(indices, np.int64).reshape(-1)
        lengths = self.lengths[chosen]
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        if len(self._blocks) == 1 and self._blocks[0].vectors.device.type != "cpu":
            return self._gathered(chosen, lengths, bounds)
        start = self._start[chosen]
        places = list(
            zip(self._block[chosen].tolist(), start.tolist(), (start + lengths).tolist(), strict=True)
        )
        vectors = [self._blocks[block].vectors[first:last] for block, first, last in places]
        words = [self._blocks[block].words[first:last] for block, first, last in places]
        if not places:
            return Packed(torch.zeros(0, self.dimension), torch.from_numpy(bounds), torch.zeros(0).long())
        return Packed(torch.cat(vectors).float(), torch.from_numpy(bounds), torch.cat(words).long())

    def _gathered(self, chosen: Ints, lengths: Ints, bounds: Ints) -> Packed:
        """One gather: on a GPU, fifty small copies would cost more than the network."""
        block = self._blocks[0]
        rows = torch.from_numpy(ranges(self._start[chosen], lengths)).to(block.vectors.device)  # (T,)
        return Packed(block.vectors[rows].float(), torch.from_numpy(bounds), block.words[rows].long())

    def resident(self, device: str | torch.device, *, consume: bool = False) -> Features:
        """The same features, all of them held in the memory of a device (float16).

        consume : forget each block once it is copied, so that memory never holds two copies of everything.
        """
        device = torch.device(device)
        if len(self._blocks) == 1 and self._blocks[0].vectors.device.type == device.type != "cpu":
            return self
        total = int(self.lengths.sum())
        vectors = torch.empty(total, self.dimension, dtype=torch.float16, device=device)  # (T, D)
        words = torch.empty(total, dtype=torch.int32, device=device)  # (T,)
        start, filled = np.zeros_like(self._start), 0
        for number, block in enumerate(self._blocks):  # one block at a time, so that memory holds one copy
            own = np.flatnonzero(self._block == number)
            lengths = self.lengths[own]
            rows = torch.from_numpy(ranges(self._start[own], lengths)).to(block.vectors.device)
            start[own] = filled + np.cumsum(lengths) - lengths
            vectors[filled : filled + len(rows)] = block.vectors[rows].to(device)
            words[filled : filled + len(rows)] = block.words[rows].to(device)
            filled += len(rows)
            if consume:
                self._blocks[number] = Block(torch.empty(0, self.dimension), torch.empty(0))
        return Features([Block(vectors, words)], np.zeros_like(start), start, self.lengths, self.dimension)
