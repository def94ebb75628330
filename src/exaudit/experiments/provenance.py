"""By which code a figure was made: the version, the commit where that is known, and a digest of the sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import exaudit
from exaudit._version import __version__

__all__ = ["code_used", "source_digest"]

SOURCES = (".py", ".json")


@cache
def source_digest() -> str:
    """Of every source file of the package: the same wherever it lies, with or without git."""
    root = Path(exaudit.__path__[0])
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in SOURCES):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def code_used() -> dict[str, Any]:
    """What a step keeps: `commit` is None outside a checkout, unless EXAUDIT_COMMIT says which one it is."""
    return {
        "version": __version__,
        "commit": os.environ.get("EXAUDIT_COMMIT") or _commit(),
        "source": source_digest(),
    }


def _commit() -> str | None:
    """The commit of the checkout that the package is in, with a plus where its sources were changed since."""
    root = Path(exaudit.__path__[0])
    try:
        head, changes = (
            subprocess.run(
                ["git", "-C", str(root), *command], capture_output=True, text=True, check=True, timeout=60
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "."])
        )
        # A package that lies in some other project's environment is not part of that project.
        tracked = subprocess.run(
            ["git", "-C", str(root), "ls-files", "--error-unmatch", "_version.py"],
            capture_output=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return None if tracked.returncode else head + ("+" if changes else "")
