"""Writing files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exaudit.errors import ModelError

__all__ = ["read_json", "replace_file", "sha256_file", "to_json", "write_json"]


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well it becomes `path`, otherwise it is deleted."""
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files private; ours are as readable as any other
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def to_json(value: Any, **layout: Any) -> str:
    """The one way in which figures leave as JSON, which knows no NaN: readers of other languages stop at one."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    except ValueError:
        raise ModelError(
            "a figure is not a number (NaN or infinite), so nothing was written; the weights of the model or of its "
            "encoder may be damaged: restore them, or train again"
        ) from None


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    with replace_file(path) as temporary:
        temporary.write_text(to_json(value, indent=2) + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def sha256_file(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
