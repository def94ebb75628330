"""What the fuzzers share: ways to run ten thousand commands in the time of a thousand, and to tell how far they are."""

from __future__ import annotations

import functools
import os
import tempfile
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import typer.main

__all__ = ["commands_built_once", "progress", "temporary_folder"]

MEMORY = "/dev/shm"  # where Linux has files in memory: nothing waits for a disk


def commands_built_once() -> AbstractContextManager[Any]:
    """The tree of verbs is made for every command line that is run, of which a process has one, but not here."""
    return mock.patch.object(typer.main, "get_command", functools.cache(typer.main.get_command))


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder, in memory where that is possible."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=MEMORY if os.access(MEMORY, os.W_OK) else None)


def progress(done: int, line: str, *, good: bool) -> None:
    """Show a defect as it comes, and how many cases are done now and then."""
    if not good:
        print(line, end="", flush=True)
    if done % 500 == 0:
        print(f"{done} cases", flush=True)
