"""A Lance table of a support set: appended to, read by place, and now and then rid of what nobody needs.

Only this module and `store` know Lance.
"""

from __future__ import annotations

import copy
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance.optimize import Compaction

from exaudit._files import read_json
from exaudit.errors import SupportError
from exaudit.support.history import REPAIR

__all__ = ["KeyedTable", "Located", "Table", "folder_of", "matrix"]

Numbers = npt.NDArray[np.int64]
_WHOLE, _END = 4 << 20, 1 << 16  # bytes of a file that is compared whole, and of the end of a larger one
_FOLDERS = ("data", "_deletions", "_transactions", "_versions")  # of a table


def folder_of(uri: str) -> Path | None:
    """The folder that a location means; None for an object store."""
    local = uri.removeprefix("file://")
    return None if "://" in local else Path(local)


class Table:
    """A table in a folder or at an object-store URL.

    pinned : the version that counts, where there is one; without, it is the newest. What is newer than the pinned
        version was written by an edit that has not ended, or never will: nobody reads it.
    expected : the checksum of its files, where it is known. They are compared before Lance looks into them: what makes
        no sense to it can end the process.
    """

    def __init__(
        self,
        uri: str,
        pinned: Callable[[], int | None] = lambda: None,
        expected: Callable[[], str | None] = lambda: None,
        rows_per_file: int = 1 << 20,
    ) -> None:
        self.uri, self.rows_per_file = uri, rows_per_file
        self.folder = folder_of(uri)
        self._pinned, self._expected = pinned, expected
        self._dataset: Any = None
        self._sums: dict[Path, str] = {}  # of files, which never change

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Turn what Lance raises, a panic of its own included, into a SupportError."""
        try:
            yield
        except BaseException as error:
            lances = isinstance(error, (OSError, ValueError, LookupError, RuntimeError, pa.ArrowException))
            if not lances and type(error).__name__ != "PanicException":
                raise
            # Lance ends its messages with places in its own source, of no use to a reader
            said = (str(error).splitlines() or [type(error).__name__])[0].split(", /")[0]
            if "panic" in said or not lances:
                said = "its content makes no sense"
            advice = f"; if it is damaged, {REPAIR}" if what == "read" else ""
            raise SupportError(
                f"{self.uri}: cannot {what} this table of the support set: {said}{advice}"
            ) from error

    def exists(self) -> bool:
        with self.doing("read"):
            try:
                lance.dataset(self.uri)
            except ValueError as error:
                if "was not found" not in str(error):
                    raise
                return False
        return True

    def create(self, rows: pa.Table) -> None:
        """Write the first rows. Not to be done by two at once: the second would silently replace the first."""
        with self.doing("create"):
            lance.write_dataset(rows, self.uri, mode="create")

    def latest(self) -> Any:
        """The version of the table that counts."""
        with self.doing("read"):
            while True:
                version, expected = self._pinned(), self._expected()
                try:
                    if self._dataset is None or (version is not None and version != self._dataset.version):
                        self._dataset = self._open(version, expected)
                    elif version is None:
                        self._dataset.checkout_latest()
                    return self._dataset
                except (OSError, ValueError):  # unless another process has just compacted the table
                    if (self._pinned(), self._expected()) == (version, expected):
                        raise

    def _open(self, version: int | None, expected: str | None) -> Any:
        """Open a version whose files have the checksum expected."""
        if expected is None or version is None:
            dataset = lance.dataset(self.uri, version=version)
            if self.folder is not None:
                for part in dataset.get_fragments():
                    _try(part)
            return dataset
        manifest, files = expected[:64], expected[64:]
        if self._manifest_sum(version) != manifest:
            raise ValueError("the checksum of its manifest differs")
        dataset = lance.dataset(self.uri, version=version)
        if self._files_sum(dataset) != files:
            raise ValueError("the checksum of its files differs")
        return dataset

    def checksum(self) -> str:
        """Of the files of the newest version."""
        newest = self.newest()
        with self.doing("read"):
            return self._manifest_sum(newest.version) + self._files_sum(newest)

    def _manifest_sum(self, version: int) -> str:
        manifest = dict(self._manifests()).get(version)
        if manifest is None:
            raise OSError(f"its version {version} is gone")
        return hashlib.sha256(manifest.read_bytes()).hexdigest()

    def _files_sum(self, dataset: Any) -> str:
        lines = []
        for file in sorted(self._files(dataset)):
            if file not in self._sums:
                self._sums[file] = _file_sum(file)
            lines.append(f"{file.name} {self._sums[file]}\n")
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def newest(self) -> Any:
        """The last version that was written, for those who write more."""
        with self.doing("read"):
            return lance.dataset(self.uri)

    def append(self, rows: pa.Table) -> None:
        """Add rows, all or none of them. They come last only as long as nobody shrinks the table meanwhile."""
        with self.doing("write to"):
            lance.write_dataset(rows, self.uri, mode="append", max_rows_per_file=self.rows_per_file)

    def swap(self, column: str, before: str, after: str) -> bool:
        """Change a value in all rows that have it; False if none has. Of several who try, one succeeds."""
        dataset = self.latest()
        with self.doing("write to"):
            done = dataset.update({column: f"'{after}'"}, where=f"{column} = '{before}'")
            return bool(done["num_rows_updated"])

    def rows(self, columns: Sequence[str], start: int = 0) -> pa.Table:
        """Rows from place `start` on."""
        dataset = self.latest()
        with self.doing("read"):
            count = max(0, dataset.count_rows() - start)
            return dataset.scanner(columns=list(columns), offset=start, limit=count).to_table()

    def readable(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Of a damaged table in a folder: the rows of each file that can be read, in the newest version that can."""
        versions = sorted((version for version, _ in self._manifests()), reverse=True)
        with suppress(SupportError):
            versions.sort(key=lambda version: version != self._pinned())  # the one that counts comes first
        for version in versions:
            try:
                with self.doing("read"):
                    files = lance.dataset(self.uri, version=version).get_fragments()
            except SupportError:
                continue
            for file in files:
                try:
                    with self.doing("read"):
                        _try(file)
                        rows = file.to_table(columns=list(columns))
                except SupportError:
                    continue
                if len(rows):
                    yield rows
            return

    def has_lost_newest(self) -> bool:
        """Whether Lance, which notes the newest version beside the others, remembers a newer one than there is."""
        if self.folder is None:
            return False
        try:
            noted = int(read_json(self.folder / "_versions" / "latest_version_hint.json")["version"])
        except (OSError, ValueError, LookupError, TypeError):  # it is only a hint
            return False
        return noted > max((version for version, _ in self._manifests()), default=0)

    def merge_files(self, limit: int) -> None:
        """Keep a table of many small appends quick to read."""
        dataset = self.newest()
        try:
            if len(dataset.get_fragments()) >= limit:
                dataset.optimize.compact_files()
        except (OSError, RuntimeError):  # another writer is at it; the next time will do
            return

    def delete(self, condition: str) -> None:
        dataset = self.newest()
        with self.doing("write to"):
            dataset.delete(condition)

    def shrink(self) -> Iterator[None]:
        """Reclaim deleted rows and old versions, one file at a time, so that the table never takes twice its space.

        Each time it yields there is a new version, for the caller to make safe; then the old ones go. Without a
        lock, files that another writer is just writing are left alone.
        """
        options = {"target_rows_per_fragment": self.rows_per_file, "materialize_deletions_threshold": 0.0}
        with self.doing("compact"):
            dataset = self.newest()
            tasks = Compaction.plan(dataset, options).tasks
            self._check_room(tasks)
            for _ in range(len(dataset.get_fragments()) + 1):
                if tasks:
                    Compaction.commit(dataset, [tasks[0].execute(dataset)])
                yield
                dataset = self.newest()
                locked = self._pinned() is not None
                dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=locked)
                if not tasks:
                    return
                tasks = Compaction.plan(dataset, options).tasks

    def _check_room(self, tasks: Sequence[Any]) -> None:
        """Refuse to start where a file could not be written again before the old one goes."""
        sizes = [
            sum(file.file_size_bytes or 0 for part in task.fragments for file in part.files) for task in tasks
        ]
        if self.folder is not None and shutil.disk_usage(self.folder).free < max(sizes, default=0):
            raise OSError(errno.ENOSPC, f"No space left on device for a file of {max(sizes) >> 20} MB")

    # On the disk, where there is one. Lance itself syncs nothing.

    def unsynced(self) -> tuple[int, list[Path]]:
        """The newest version, and the files and folders to sync so that the disk has it, given the pinned one."""
        newest, pinned = self.newest(), self._pinned()
        if self.folder is None or newest.version == pinned:
            return int(newest.version), []
        with self.doing("write to"):
            known = set() if pinned is None else self._files(lance.dataset(self.uri, version=pinned))
            manifests = [file for version, file in self._manifests() if version > (pinned or 0)]
            folders = [self.folder / name for name in ("data", "_deletions", "_versions")]
            if pinned is None:  # made once, at the start, lest there be more to sync whenever Lance adds one
                for folder in folders:
                    folder.mkdir(exist_ok=True)
                folders += [self.folder, self.folder.parent]
            new = self._files(newest) - known
            touched = {file.parent for file in (*new, *manifests)}
            return int(newest.version), [
                *new,
                *manifests,
                *(f for f in folders if pinned is None or f in touched),
            ]

    def roll_back(self) -> None:
        """Forget versions beyond the pinned one: the edits that wrote them were never finished."""
        pinned = self._pinned()
        with self.doing("write to"):
            for version, manifest in self._manifests():
                if pinned is not None and version > pinned:
                    manifest.unlink()

    def leftovers(self, since: float) -> list[Path]:
        """Files of edits that were never finished, begun after `since`."""
        if self.folder is None:
            return []
        with self.doing("read"):
            needed = self._files(self.latest())
            pinned = self._pinned()
            found = [file for version, file in self._manifests() if pinned is not None and version > pinned]
            for name in _FOLDERS:
                for file in (self.folder / name).glob("*"):
                    unfinished = file.name.startswith(".tmp") or "#" in file.name
                    loose = name != "_versions" and file not in needed and file.stat().st_mtime > since
                    if unfinished or loose:
                        found.append(file)
            return found

    def _files(self, dataset: Any) -> set[Path]:
        """The files with the rows of a version."""
        assert self.folder is not None
        files = set()
        for fragment in dataset.get_fragments():
            files |= {self.folder / "data" / file.path for file in fragment.metadata.files}
            if deletions := fragment.deletion_file():
                files.add(self.folder / deletions)
        return files

    def _manifests(self) -> list[tuple[int, Path]]:
        """Versions and their files. Lance counts down in the names, so that the newest comes first."""
        assert self.folder is not None
        files = (self.folder / "_versions").glob("*.manifest")
        numbered = [(int(file.stem), file) for file in files if file.stem.isdigit()]
        return [(number if number < 1 << 63 else (1 << 64) - 1 - number, file) for number, file in numbered]


class KeyedTable(Table):
    """A table whose rows have names of ours: document numbers, or rows of exemplars.

    The table itself holds (batch, place in the batch), which never changes; `locate` turns these into names once
    the log says what became of the batch, and gives -1 for what does not count.
    """

    def __init__(
        self,
        uri: str,
        keys: Sequence[str],
        locate: Callable[..., Numbers],
        pinned: Callable[[], int | None] = lambda: None,
        expected: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(uri, pinned, expected)
        self.keys, self._locate = keys, locate
        self._snapshot: tuple[Any, list[tuple[int, int]], Numbers] = (None, [], np.zeros(0, np.int64))

    def copy(self) -> KeyedTable:
        """The same table, to be read in another thread."""
        other = copy.copy(self)
        other._dataset = None
        return other

    def places(self, names: Numbers) -> tuple[Any, Numbers]:
        """A version of the table and the places in it of the rows with these names, -1 for those it has not."""
        for attempt in range(3):
            dataset, _, place = self._snapshot if attempt == 0 else self._follow(afresh=attempt == 2)
            found = np.full(len(names), -1, np.int64)
            inside = (names >= 0) & (names < len(place))
            found[inside] = place[names[inside]]
            if (found >= 0).all():
                break
        return dataset, found

    def _follow(self, afresh: bool = False) -> tuple[Any, list[tuple[int, int]], Numbers]:
        """Look at the newest version. Files known from before are not looked at again unless asked for: what did
        not count may count by now, but that is rare."""
        dataset = self.latest()
        self._dataset = None  # the snapshot keeps this one, at this version
        with self.doing("read"):
            files = [(part.fragment_id, part.count_rows()) for part in dataset.get_fragments()]
            _, before, place = self._snapshot
            known = len(before) if not afresh and files[: len(before)] == before else 0
            start, total = sum(n for _, n in files[:known]), sum(n for _, n in files)
            if total > start or not known:
                new = dataset.scanner(columns=list(self.keys), offset=start, limit=total - start).to_table()
                names = self._locate(*(new[key].to_numpy() for key in self.keys))
                size = int(names.max(initial=-1)) + 1
                grown = np.full(max(size, len(place) if known else 0), -1, np.int64)
                if known:
                    grown[: len(place)] = place
                grown[names[names >= 0]] = start + np.flatnonzero(names >= 0)
                place = grown
        self._snapshot = (dataset, files, place)
        return self._snapshot

    def take(self, names: Numbers, columns: Sequence[str]) -> pa.Table:
        """The rows with these names, in that order."""
        return self._reading(names, lambda dataset, places: dataset.take(places, columns=list(columns)))

    def read_into(self, names: Numbers, column: str, out: npt.NDArray[Any]) -> None:
        """Read a column of vectors into `out`, in the order of the names."""
        if len(names):
            self._reading(names, lambda dataset, places: _read_into(dataset, places, column, out))

    def located(self, names: Numbers, *, afresh: bool = False) -> Located:
        """Where the rows with these names are; afresh: another process may have compacted the version last seen."""
        if afresh:
            self._follow(afresh=True)
        dataset, places = self.places(names)
        if dataset is None:  # there was nothing to look for so far
            dataset = self._follow()[0]
        self._check_there(names, places)
        uri = self.uri if self.folder is None else os.fspath(self.folder.absolute())
        return Located(uri, int(dataset.version), places)

    def _reading(self, names: Numbers, read: Callable[[Any, Numbers], Any]) -> Any:
        dataset, places = self.places(names)
        if (places >= 0).all():
            try:
                with self.doing("read"):
                    return read(dataset, places)
            except SupportError:  # has another process compacted this version away?
                self._follow(afresh=True)
                dataset, places = self.places(names)
        self._check_there(names, places)
        with self.doing("read"):
            return read(dataset, places)

    def _check_there(self, names: Numbers, places: Numbers) -> None:
        if (places < 0).any():
            raise SupportError(
                f"{self.uri}: {int(names[places < 0][0])} is not in this table (any more); "
                "if the support set was compacted elsewhere open it again, else restore it from a backup"
            )

    def delete_batches(self, plan: Mapping[int, Sequence[int] | None]) -> None:
        """Delete the documents at these places of each batch, or all of a batch (None)."""
        whole = [key for key, places in plan.items() if places is None]
        if whole:
            self.delete(f"batch IN ({', '.join(map(str, whole))})")
        for key, places in plan.items():
            if places is not None:
                self.delete(f"batch = {key} AND document IN ({', '.join(map(str, places))})")


@dataclass(frozen=True, slots=True)
class Located:
    """Some rows of a version of a table, for a process that has not opened the support set."""

    uri: str
    version: int
    places: Numbers

    def open(self) -> LocatedRows:
        table = Table(self.uri, lambda: self.version)
        return LocatedRows(table, table.latest(), self.places)


@dataclass(frozen=True, slots=True)
class LocatedRows:
    """The same, opened."""

    table: Table
    dataset: Any
    places: Numbers

    def take(self, some: slice, columns: Sequence[str]) -> pa.Table:
        with self.table.doing("read"):
            return self.dataset.take(self.places[some], columns=list(columns))

    def read_into(self, some: slice, column: str, out: npt.NDArray[Any]) -> None:
        """Read a column of vectors into `out`."""
        if some.stop > some.start:
            with self.table.doing("read"):
                _read_into(self.dataset, self.places[some], column, out)


def _read_into(dataset: Any, places: Numbers, column: str, out: npt.NDArray[Any]) -> None:
    low, high = int(places.min()), int(places.max())
    if high - low >= 2 * len(places):
        out[:] = matrix(dataset.take(places, columns=[column])[column])
        return
    together = dataset.scanner(columns=[column], offset=low, limit=high - low + 1).to_table()
    vectors = matrix(together[column])
    in_order = len(places) == len(vectors) and (np.diff(places) == 1).all()
    out[:] = vectors if in_order else vectors[places - low]


def _try(part: Any) -> None:
    """Read one row of a file that has no checksum, with all columns. Where damage has put a NUL byte into the names of
    their encodings, that is an error, while a scan would end the process."""
    if part.count_rows():
        part.take([0])


def _file_sum(file: Path) -> str:
    """Of a large file the end, where Lance keeps what it needs to make sense of the rest; the rest is vectors, which
    are compared when they are read."""
    with open(file, "rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(0 if size <= _WHOLE else size - _END)
        return f"{size} {hashlib.sha256(content.read()).hexdigest()}"


def matrix(vectors: Any) -> npt.NDArray[Any]:
    """A column of fixed-size lists as an array (n, M), without a copy."""
    parts = [part.flatten().to_numpy().reshape(len(part), -1) for part in vectors.chunks if len(part)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
