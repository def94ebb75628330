"""One file of the feature cache: some documents' features as safetensors, read through a memory map.

    features  (rows, D) float16    half the bytes of float32; only training reads them, predictions never do
    words     (rows,)   int32      which word of its document each piece belongs to
    bounds    (n + 1,)  int64      document i owns the rows bounds[i]:bounds[i + 1]
    keys      (n, 16)   uint8      a digest of the document's tokens

The header's metadata hold a checksum of the arrays, which `Shard.check` compares with what is there.

The safetensors library would copy a shard twice to write it and gives no map to read it, so the few lines of the
format are here: eight bytes of header length, the header in JSON, then the arrays.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._files import replace_file
from exaudit.encode.features import Block

__all__ = ["DamagedShardError", "Shard", "digest", "read_shard", "write_shard"]

_TYPES: dict[str, Any] = {"F16": np.float16, "I32": np.int32, "I64": np.int64, "U8": np.uint8}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}


class DamagedShardError(Exception):
    """The file is not a whole shard."""


@dataclass(frozen=True)
class Shard:
    """A shard, mapped into memory."""

    path: Path
    block: Block
    bounds: NDArray[np.int64]
    keys: list[bytes]
    header: Mapping[str, Any]
    data: NDArray[np.uint8]  # the arrays, end to end
    checksum: str

    def check(self) -> None:
        """Read all of it; raise DamagedShardError where it is not what was written."""
        if _checksum(self.header, [self.data]) != self.checksum:
            raise DamagedShardError(f"{self.path}: its checksum differs")


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
    """Write batches of features, end to end, under a temporary name; the shard appears when it is whole."""
    rows, dimension = sum(len(part) for part in features), features[0].shape[1]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    key_table = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
    arrays: list[tuple[str, tuple[int, ...], Sequence[NDArray[Any]]]] = [
        ("bounds", bounds.shape, [bounds]),  # widest type first, so that every array is aligned
        ("words", (rows,), words),
        ("features", (rows, dimension), features),
        ("keys", key_table.shape, [key_table]),
    ]
    header: dict[str, Any] = {}
    offset = 0
    for name, shape, parts in arrays:
        size = sum(part.nbytes for part in parts)
        header[name] = {
            "dtype": _NAMES[parts[0].dtype],
            "shape": list(shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    data = [np.ascontiguousarray(part) for _, _, parts in arrays for part in parts]
    text = json.dumps(header | {"__metadata__": {"checksum": _checksum(header, data)}}).encode()
    text += b" " * (-len(text) % 8)
    with replace_file(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for part in data:
            file.write(part.data)


def read_shard(path: Path, dimension: int) -> Shard:
    """Map a shard. A file that is cut short or is something else raises DamagedShardError."""
    try:
        header, data, checksum = _map(path)
        arrays = {name: _array(data, entry) for name, entry in header.items()}
        features, words, bounds, keys = (arrays[name] for name in ("features", "words", "bounds", "keys"))
        if (
            features.shape != (len(words), dimension)
            or keys.shape != (len(bounds) - 1, 16)
            or bounds[0] != 0
            or bounds[-1] != len(words)
            or (np.diff(bounds) < 0).any()
        ):
            raise DamagedShardError(f"{path}: the parts do not fit together")
        block = Block(torch.from_numpy(features), torch.from_numpy(words))
        table = keys.tobytes()
        names = [table[i : i + 16] for i in range(0, len(table), 16)]
        return Shard(path, block, np.array(bounds), names, header, data, checksum)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        struct.error,
        RecursionError,
    ) as error:
        raise DamagedShardError(f"{path}: {error}") from error


def _map(path: Path) -> tuple[dict[str, Any], NDArray[np.uint8], str]:
    """The header, what comes after it, and the checksum of both."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > 1 << 20:
            raise DamagedShardError(f"{path}: not a shard")
        header = json.loads(file.read(length))
        raw = np.memmap(
            file, np.uint8, "c", offset=0
        )  # private: torch wants it writable, the file stays as is
    if "__metadata__" not in header:
        raise DamagedShardError(f"{path}: it has no checksum, as exaudit 0.1 wrote it")
    checksum = str(header.pop("__metadata__")["checksum"])
    data = raw[8 + length :]
    end = max(entry["data_offsets"][1] for entry in header.values())
    if end != len(data):
        raise DamagedShardError(f"{path}: {len(data)} bytes of features, expected {end}")
    return header, data, checksum


def _array(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    first, last = entry["data_offsets"]
    return np.asarray(data[first:last].view(_TYPES[entry["dtype"]]).reshape(entry["shape"]))


def _checksum(header: Mapping[str, Any], data: Sequence[NDArray[Any]]) -> str:
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for part in data:
        found.update(part.data)
    return found.hexdigest()
