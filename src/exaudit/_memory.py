"""How much memory is left, and giving back what is no longer used."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from exaudit._cgroups import control_groups

__all__ = ["available_memory", "give_back_memory"]


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that can be had before the system, or the limit of the container, ends the process; None: unknown."""
    found = []
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError):
        pass
    for folder in control_groups("memory", root):
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            try:
                reclaimable = _stat(folder / "memory.stat", "inactive_file")
                most, now = int((folder / limit).read_text()), int((folder / used).read_text())
                found.append(max(0, most - now + reclaimable))
            except (OSError, ValueError):  # no such limit ("max")
                continue
    return min(found, default=None)


def give_back_memory() -> None:
    """Hand freed memory back to the system, where it is GNU's C library that keeps it: tensors of many batches, none as
    large as the one before, leave holes between them that add up."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; TypeError: Windows
        return None


def _stat(path: Path, key: str) -> int:
    """A figure of a control group; files that were read are given back when memory is short."""
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(value) for name, value in lines if name == key), 0)
