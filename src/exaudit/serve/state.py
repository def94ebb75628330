"""What people do in the workbench, on disk from the moment it is answered: a reload or a crash loses nothing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exaudit._files import make_folder, read_json, to_json, write_json
from exaudit.errors import ExauditError

__all__ = ["ConflictError", "Journal", "StateFolder"]


class ConflictError(ExauditError):
    """Somebody else has changed the same thing since it was shown."""


class Journal:
    """Records by key in a file of lines, of which the last one of a key counts. Each has a revision, from 1; who writes
    says which one they saw, so that of two who change the same record the later one is told."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._records: dict[str, tuple[int, Any]] = {}
        if not path.exists():
            return
        whole = 0
        with open(path, "rb") as file:
            for line in file:
                try:
                    key, revision, value = json.loads(line)
                except ValueError:
                    break  # torn by a crash: it was never answered
                if not line.endswith(b"\n"):
                    break
                self._records[key] = revision, value
                whole += len(line)
        if whole < path.stat().st_size:
            os.truncate(path, whole)

    def __len__(self) -> int:
        return sum(value is not None for _, value in self._records.values())

    def get(self, key: str) -> tuple[int, Any]:
        """The revision of a record and its value; 0 and None where there never was one."""
        return self._records.get(key, (0, None))

    def items(self) -> dict[str, Any]:
        """All values, in the order in which the keys were first written."""
        return {key: value for key, (_, value) in list(self._records.items()) if value is not None}

    def put(self, key: str, value: Any, revision: int) -> int:
        """Write a record on top of the revision that was seen; None deletes it. Gives the new revision."""
        with self._lock:
            seen, _ = self.get(key)
            if seen != revision:
                raise ConflictError("somebody else has changed this meanwhile; look at it again")
            line = to_json([key, seen + 1, value]).encode() + b"\n"
            make_folder(self._path.parent)
            with open(self._path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._records[key] = seen + 1, value
            return seen + 1


class StateFolder:
    """The folder of a workbench, which is made when there is something to keep. Names in it are ours: none comes from a
    browser."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journals: dict[Path, Journal] = {}
        self._lock = threading.Lock()

    def journal(self, *names: str) -> Journal:
        path = self.folder.joinpath(*names)
        with self._lock:
            if path not in self._journals:
                self._journals[path] = Journal(path)
            return self._journals[path]

    def place(self, *names: str) -> Path:
        """A folder for more."""
        folder = self.folder.joinpath(*names)
        make_folder(folder)
        return folder

    def read(self, name: str, check: Callable[[Any], bool] = lambda value: True) -> Any:
        """A JSON file; None where there is none, or what it holds makes no sense."""
        try:
            value = read_json(self.folder / name)
        except (OSError, ValueError):
            return None
        return value if check(value) else None

    def write(self, name: str, value: Any) -> None:
        write_json(self.place() / name, value)

    def forget(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
