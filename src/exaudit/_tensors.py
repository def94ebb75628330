"""Named arrays in a file of safetensors, with a checksum of all of them.

The safetensors library would copy the arrays twice to write them and gives no map to read them, so the few lines of
the format are here: eight bytes of header length, the header in JSON, then the arrays.
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
from numpy.typing import NDArray

from exaudit._files import replace_file

__all__ = ["DamagedTensorsError", "TensorFile", "read_tensors", "write_tensors"]

# numpy has no bfloat16: its bits come and go as int16.
_TYPES: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.int16,
    "I64": np.int64,
    "I32": np.int32,
    "U8": np.uint8,
}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_LONGEST = 1 << 20  # bytes of a header


class DamagedTensorsError(Exception):
    """The file is not what was written."""


@dataclass(frozen=True)
class TensorFile:
    """What is in such a file."""

    path: Path
    arrays: Mapping[str, NDArray[Any]]
    header: Mapping[str, Any]
    data: NDArray[np.uint8]  # the arrays, end to end
    checksum: str

    def check(self) -> None:
        """Compare all of it with the checksum; raise DamagedTensorsError where it differs."""
        if _checksum(self.header, [self.data]) != self.checksum:
            raise DamagedTensorsError(f"{self.path}: its checksum differs")


def write_tensors(path: Path, arrays: Mapping[str, Sequence[NDArray[Any]]]) -> None:
    """Write arrays, each in parts that come end to end, under a temporary name; the file appears when it is whole.

    Those of the widest types come first, so that every array is aligned.
    """
    header: dict[str, Any] = {}
    offset = 0
    for name, parts in arrays.items():
        size = sum(part.nbytes for part in parts)
        header[name] = {
            "dtype": _NAMES[parts[0].dtype],
            "shape": [sum(len(part) for part in parts), *parts[0].shape[1:]],
            "data_offsets": [offset, offset + size],
        }
        offset += size
    data = [
        np.ascontiguousarray(part).reshape(-1).view(np.uint8) for parts in arrays.values() for part in parts
    ]
    text = json.dumps(header | {"__metadata__": {"checksum": _checksum(header, data)}}).encode()
    text += b" " * (-len(text) % 8)
    with replace_file(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for part in data:
            file.write(part.data)


def read_tensors(path: Path, *, mapped: bool) -> TensorFile:
    """Map a file, or read all of it. One that is cut short or is something else raises DamagedTensorsError."""
    try:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LONGEST:
                raise DamagedTensorsError(f"{path}: it is no file of tensors")
            header = json.loads(file.read(length))
            # A map is private: torch wants it writable, the file stays as it is.
            data = np.memmap(file, np.uint8, "c")[8 + length :] if mapped else np.fromfile(file, np.uint8)
        if "__metadata__" not in header:
            raise DamagedTensorsError(f"{path}: it has no checksum, as exaudit 0.1 wrote it")
        checksum = str(header.pop("__metadata__")["checksum"])
        end = max(entry["data_offsets"][1] for entry in header.values())
        if end != len(data):
            raise DamagedTensorsError(f"{path}: {len(data)} bytes of tensors, expected {end}")
        arrays = {name: _array(data, entry) for name, entry in header.items()}
        return TensorFile(path, arrays, header, data, checksum)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        struct.error,
        RecursionError,
    ) as error:
        raise DamagedTensorsError(f"{path}: {error}") from error


def _array(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    first, last = entry["data_offsets"]
    return np.asarray(data[first:last].view(_TYPES[entry["dtype"]]).reshape(entry["shape"]))


def _checksum(header: Mapping[str, Any], data: Sequence[NDArray[np.uint8]]) -> str:
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for part in data:
        found.update(part.data)
    return found.hexdigest()
