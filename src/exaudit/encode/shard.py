"""One file of the feature cache: some documents' features as safetensors, read through a memory map.

    features  (rows, D) float16    half the bytes of float32; only training reads them, predictions never do
    words     (rows,)   int32      which word of its document each piece belongs to
    bounds    (n + 1,)  int64      document i owns the rows bounds[i]:bounds[i + 1]
    keys      (n, 16)   uint8      a digest of the document's tokens

The checksum that is kept with them is compared by `Shard.check`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._tensors import DamagedTensorsError, TensorFile, read_tensors, write_tensors
from exaudit.encode.features import Block

__all__ = ["Shard", "digest", "read_shard", "write_shard"]


@dataclass(frozen=True)
class Shard:
    """A shard, mapped into memory."""

    path: Path
    block: Block
    bounds: NDArray[np.int64]
    keys: list[bytes]
    file: TensorFile

    def check(self) -> None:
        """Read all of it; raise DamagedTensorsError where it is not what was written."""
        self.file.check()


def digest(tokens: Sequence[str]) -> bytes:
    """The key of a document: its tokens and nothing else. JSON keeps ["a b"] and ["a", "b"] apart."""
    return hashlib.blake2b(json.dumps(list(tokens)).encode(), digest_size=16).digest()


def write_shard(
    path: Path,
    features: Sequence[NDArray[np.float16]],
    words: Sequence[NDArray[np.int32]],
    lengths: Sequence[int],
    keys: Sequence[bytes],
) -> None:
    """Write batches of features, end to end."""
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    table = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
    write_tensors(path, {"bounds": [bounds], "words": words, "features": features, "keys": [table]})


def read_shard(path: Path, dimension: int) -> Shard:
    """Map a shard. A file that is cut short or is something else raises DamagedTensorsError."""
    file = read_tensors(path, mapped=True)
    try:
        features, words, bounds, keys = (
            file.arrays[name] for name in ("features", "words", "bounds", "keys")
        )
        if (
            features.shape != (len(words), dimension)
            or keys.shape != (len(bounds) - 1, 16)
            or bounds[0] != 0
            or bounds[-1] != len(words)
            or (np.diff(bounds) < 0).any()
        ):
            raise DamagedTensorsError(f"{path}: the parts do not fit together")
        block = Block(torch.from_numpy(features), torch.from_numpy(words))
        table = keys.tobytes()
        names = [table[i : i + 16] for i in range(0, len(table), 16)]
        return Shard(path, block, np.array(bounds), names, file)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedTensorsError(f"{path}: {error}") from error
