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

__all__ = ["read_json", "replace_file", "sha256_file", "share", "write_json"]


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
        share(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def share(path: Path) -> None:
    """Let a file, or a folder with all that is in it, be as readable as any other; temporary ones start private."""
    umask = os.umask(0)
    os.umask(umask)
    for each in (path, *path.rglob("*")):
        os.chmod(each, (0o777 if each.is_dir() else 0o666) & ~umask)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    with replace_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def sha256_file(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
