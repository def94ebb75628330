"""A stand-in for Transformer that takes no time to load. Run as a program, it fills a cache and can be killed.

python encoder_double.py CACHE_FOLDER DOCUMENTS SECONDS_PER_BATCH
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import Any

import torch

from exaudit.encode.cache import FeatureCache
from exaudit.encode.packed import Packed


class Double:
    """Two pieces a word; the vector of a piece depends on its word and place alone."""

    name = "double"
    fingerprint, layers, dimension, max_length, dtype = "f" * 64, (1,), 8, None, "float32"
    device = torch.device("cpu")
    changed = False

    def __init__(self, per_batch: int = 4, pause: float = 0.0) -> None:
        self.encoded: list[tuple[str, ...]] = []
        self._per_batch, self._pause = per_batch, pause

    def vectors(self, tokens: Sequence[str]) -> torch.Tensor:
        rows = [
            [(zlib.crc32(f"{t} {i} {d}".encode()) % 2048) / 2048 for d in range(8)]
            for i, t in enumerate(tokens)
        ]
        return torch.tensor(rows).reshape(-1, 8).repeat_interleave(2, 0)  # (T, D), all exact in float16

    def batches(
        self, token_lists: Sequence[Sequence[str]], *, desc: str | None = None
    ) -> Iterator[tuple[list[int], Packed]]:
        order = sorted(range(len(token_lists)), key=lambda i: -len(token_lists[i]))
        for first in range(0, len(order), self._per_batch):
            time.sleep(self._pause)
            indices = order[first : first + self._per_batch]
            parts = [self.vectors(token_lists[i]) for i in indices]
            self.encoded += [tuple(token_lists[i]) for i in indices]
            bounds = torch.tensor([0, *(len(part) for part in parts)]).cumsum(0)
            words = torch.cat([torch.arange(len(part)) // 2 for part in parts])
            yield indices, Packed(torch.cat(parts), bounds, words)

    def each_batch(
        self,
        work: Callable[[list[int], Packed], Any],
        token_lists: Sequence[Sequence[str]],
        *,
        desc: str | None = None,
    ) -> Iterator[Any]:
        return starmap(work, self.batches(token_lists, desc=desc))


def documents(count: int) -> list[list[str]]:
    return [[f"word{i}-{j}" for j in range(i % 7)] + [f"last{i}"] for i in range(count)]


if __name__ == "__main__":
    cache = FeatureCache(sys.argv[1], shard_bytes=512)
    cache.features(Double(pause=float(sys.argv[3])), documents(int(sys.argv[2])))  # type: ignore[arg-type]
    print("done")
