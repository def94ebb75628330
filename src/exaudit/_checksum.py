"""Checksums kept inside files, so that a changed number or a flipped bit is an error when the file is read.

A JSON file has a `checksum` beside its other fields, over their content and not their layout; a safetensors file has
one of its tensors among its metadata. Files of exaudit 0.1 have none, and are read without.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._files import read_json, write_json

__all__ = ["array_checksum", "read_sealed", "write_sealed"]

_FIELD = "checksum"


def write_sealed(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum."""
    plain = {name: each for name, each in value.items() if name != _FIELD}
    write_json(path, {**plain, _FIELD: _content(plain)})


def read_sealed(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object without its checksum; a ValueError where it is not one, or was changed since it was written."""
    try:
        value = read_json(path)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    found = value.pop(_FIELD, None)
    if found is not None and found != _content(value):
        raise ValueError("it was changed after it was written: its checksum differs")
    return value


def array_checksum(arrays: Mapping[str, npt.NDArray[Any]], *said: str) -> str:
    """A checksum of named arrays, in whatever order, and of texts that belong to them."""
    digest = hashlib.sha256(json.dumps(said).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _content(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
