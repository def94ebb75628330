"""Where a support set stands: the last entry of its log that counts, and the versions of its tables that go with it.

In a folder this is head.json. Who edits the set holds a lock, writes the tables, syncs them, and then replaces that
file: that is the moment of the edit. Whatever a killed process or a power cut has left half done lies beyond the
versions that head.json names, and is deleted by the next one who writes.

At an object store, which has neither locks nor renames, it is a table with a single row, changed by an atomic commit
of Lance; so it was in folders, too, until 0.1.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from exaudit._checksum import read_sealed, write_sealed
from exaudit._files import clear_leftovers, sync, sync_all
from exaudit.errors import SupportError
from exaudit.support.history import REPAIR
from exaudit.support.tables import Table, folder_of

__all__ = ["Head", "head_of"]


class Head(ABC):
    """The last entry of the log that counts."""

    pins = False  # whether it names versions of the tables, so that nobody reads newer ones

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a support set."""

    @abstractmethod
    def entry(self) -> str:
        """The id of the last entry."""

    @abstractmethod
    def create(self, entry: str) -> None:
        """The head of a new set."""

    @abstractmethod
    def move(self, before: str, after: str) -> bool:
        """Make another entry the last; False if somebody else was faster."""

    def version(self, table: str) -> int | None:
        """The version of a table that counts; None for the newest."""
        return None

    def checksum(self, table: str) -> str | None:
        """The checksum of the files of that version; None where it is not known."""
        return None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """To be held by who writes to the tables."""
        yield

    def hold(self) -> None:  # noqa: B027 (where the newest versions count, there is nothing to do)
        """Make new versions of the tables count, with the same content as before."""

    def tidy(self) -> None:  # noqa: B027 (without a lock nobody can tell)
        """Delete what edits that were never finished have left, unless somebody is writing."""

    def shrink(self) -> None:  # noqa: B027 (a file does not grow)
        """Reclaim space."""


def head_of(location: str, tables: Mapping[str, Table]) -> Head:
    folder, table = folder_of(location), _TableHead(f"{location.rstrip('/')}/head.lance")
    return table if folder is None else _FolderHead(folder, tables, table)


class _TableHead(Head):
    def __init__(self, uri: str) -> None:
        self._table = Table(uri)

    def exists(self) -> bool:
        return self._table.exists()

    def entry(self) -> str:
        heads = self._table.rows(["head"])["head"].to_pylist()
        if len(heads) != 1 or self._table.has_lost_newest():
            raise SupportError(f"{self._table.uri}: this table is damaged; {REPAIR}")
        return str(heads[0])

    def create(self, entry: str) -> None:
        self._table.create(pa.table({"head": [entry]}))

    def move(self, before: str, after: str) -> bool:
        return self._table.swap("head", before, after)

    def shrink(self) -> None:
        for _ in self._table.shrink():
            pass


class _FolderHead(Head):
    pins = True

    def __init__(self, folder: Path, tables: Mapping[str, Table], until_0_1: _TableHead) -> None:
        self._folder, self._tables, self._until_0_1 = folder, tables, until_0_1
        self._file = folder / "head.json"
        self._lock = FileLock(folder / ".lock")

    def exists(self) -> bool:
        return self._file.exists() or (self._folder / "head.lance").is_dir()

    def entry(self) -> str:
        head = self._read()
        return self._until_0_1.entry() if head is None else str(head["head"])

    def version(self, table: str) -> int | None:
        head = self._read()
        return None if head is None else int(head["tables"][table])

    def checksum(self, table: str) -> str | None:
        head = self._read()
        return None if head is None else head.get("checksums", {}).get(table)

    def _read(self) -> dict[str, Any] | None:
        """None in a set that was written by 0.1, and not edited since."""
        try:
            head = read_sealed(self._file)
            if isinstance(head["head"], str) and all(
                type(head["tables"][name]) is int for name in self._tables
            ):
                return dict(head)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError):
            pass
        except OSError as error:
            raise SupportError(f"{self._file}: cannot read this file of the support set: {error}") from error
        raise SupportError(f"{self._file}: this file is damaged; {REPAIR}")

    def create(self, entry: str) -> None:
        self._write(entry)

    def move(self, before: str, after: str) -> bool:
        if self.entry() != before:
            return False
        self._write(after)
        return True

    def hold(self) -> None:
        self._write(self.entry())

    def _write(self, entry: str) -> None:
        written = {name: table.unsynced() for name, table in self._tables.items()}
        versions = {name: version for name, (version, _) in written.items()}
        with self._trying():
            sync_all([path for _, paths in written.values() for path in paths])
            checksums = {name: table.checksum() for name, table in self._tables.items()}
            write_sealed(self._file, {"head": entry, "tables": versions, "checksums": checksums})

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self._lock.is_locked:
            yield
            return
        with self._trying():
            self._lock.acquire(poll_interval=0.01)
        try:
            if self._read() is None:
                self._adopt()
            for table in self._tables.values():
                table.roll_back()
            try:
                yield
            except BaseException:
                self._clear()
                raise
        finally:
            self._lock.release()

    def _adopt(self) -> None:
        """Take over from the table that was the head until 0.1."""
        self.hold()
        shutil.rmtree(self._folder / "head.lance")
        sync(self._folder)

    def tidy(self) -> None:
        clear_leftovers(self._folder)
        clear_leftovers(self._file)
        if not self._leftovers():
            return
        try:
            with self._lock.acquire(timeout=0):
                self._clear()
        except (OSError, Timeout):  # somebody is writing, or we may not: another time
            return

    def _clear(self) -> None:
        for file in self._leftovers():
            file.unlink(missing_ok=True)

    def _leftovers(self) -> list[Path]:
        if self._read() is None:
            return []
        since = self._file.stat().st_mtime
        return [file for table in self._tables.values() for file in table.leftovers(since)]

    @contextmanager
    def _trying(self) -> Iterator[None]:
        try:
            yield
        except (OSError, NotImplementedError) as error:
            raise SupportError(f"{self._folder}: cannot write to the support set: {error}") from error
