"""Files in shards, and what of them is done: a shard that is done is a file of its own in the output folder.

Where there are few files, the large ones are cut, so that several processes can share them; otherwise each file is a
shard. The output folder keeps a record, `_exaudit.json`, of what it is the output of, so that a second run goes on
with the same work only, and cuts as the first one did.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from exaudit._files import clear_leftovers, make_folder, read_json, write_json
from exaudit.batch.sources import SourceFile
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError

__all__ = ["OutputFolder", "Shard", "shards"]

RECORD = "_exaudit.json"
MANY = 64  # files that need not be cut: there are enough for all who work
LARGE = 1 << 20  # bytes of a file that is cut, where there are few
DOCUMENTS = (
    2048  # of a shard that is cut: as many as a model reads together, so that all is rounded as in one file
)
PART = re.compile(r"(?s)((.+)\.part-[0-9]{5,})\.([a-z]+)")


@dataclass(frozen=True)
class Shard:
    """What is done at once, or not at all: a file, or some of its documents, which are read already."""

    file: SourceFile
    part: int = 0
    documents: tuple[Document, ...] | None = None

    @property
    def name(self) -> str:
        """The file of its output, but for the ending."""
        return f"{self.file.name}.part-{self.part:05}"


class OutputFolder:
    """Where the output of every shard goes, under a name of its own."""

    def __init__(
        self, folder: Path, job: dict[str, Any], files: Sequence[SourceFile], ending: str = "jsonl"
    ) -> None:
        """Go on with what is there, if it is of the same job.

        job : all that the output depends on, beside the files.
        ending : of the files of output.
        """
        self.folder = folder
        self._ending = ending
        self.passed = 0
        self._record = folder / RECORD
        before = self._read()
        if before is None and folder.is_dir() and any(folder.iterdir()):
            raise SettingError(
                f"{folder} is not empty, and not of `exaudit label`; choose another folder for `out`"
            )
        if before is not None and before["job"] != job:
            differ = sorted(key for key in {*job, *before["job"]} if job.get(key) != before["job"].get(key))
            raise SettingError(
                f"{folder} has the output of another job ({', '.join(differ)} differ); choose another folder for "
                "`out`, or delete it"
            )
        self._done = self._parts()
        known: dict[str, Any] = {} if before is None else before["files"]
        self._cut: dict[str, bool] = {}
        for file in files:
            told = known.get(file.name) if file.name in self._done else None
            if told is not None and told[:2] != [file.size, file.changed]:
                raise DataError(
                    f"the file has changed since a part of it was labelled; delete "
                    f"{folder / Shard(file).name}.{ending} and the parts beside it, or choose another folder for `out`",
                    file.place,
                )
            self._cut[file.name] = len(files) < MANY and file.size > LARGE if told is None else told[2]
        told_now = {f.name: [f.size, f.changed, self._cut[f.name]] for f in files}
        self._told = {"job": job, "files": known | told_now, "set_aside": {}}
        make_folder(folder)
        write_json(self._record, self._told)

    def has(self, shard: Shard) -> bool:
        """Whether the shard was done before; `passed` counts those."""
        done = shard.name in self._done.get(shard.file.name, ())
        self.passed += done
        return done

    def is_cut(self, file: SourceFile) -> bool:
        return self._cut[file.name]

    def set_aside(self, failed: dict[SourceFile, str]) -> None:
        """Delete what was written of files that turned out to be damaged, and keep the reasons."""
        written = self._parts()
        for file in failed:
            for part in written.get(file.name, ()):
                (self.folder / f"{part}.{self._ending}").unlink()
        self._told["set_aside"] = {file.name: reason for file, reason in failed.items()}
        write_json(self._record, self._told)

    def tidy(self) -> None:
        """Delete what workers that were killed left behind."""
        for path in self.folder.rglob(f".*.part-*.{self._ending}.*.tmp"):
            clear_leftovers(path.with_name(path.name[1:].rsplit(".", 2)[0]))

    def _parts(self) -> dict[str, set[str]]:
        """The shards that are there, by the name of their file."""
        found: dict[str, set[str]] = {}
        for folder, _, names in os.walk(self.folder):
            below = os.path.relpath(folder, self.folder).replace(os.sep, "/")
            for name in names:
                part = PART.fullmatch(name if below == "." else f"{below}/{name}")
                if part is not None and part[3] == self._ending:
                    found.setdefault(part[2], set()).add(part[1])
        return found

    def _read(self) -> dict[str, Any] | None:
        try:
            told = read_json(self._record)
            if not isinstance(told["job"], dict) or not isinstance(told["files"], dict):
                raise TypeError("it is of another make")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise SettingError(
                f"{self._record} is damaged ({error}); choose another folder for `out`"
            ) from None
        return dict(told)


def shards(
    files: Iterable[SourceFile],
    out: OutputFolder,
    read: Callable[[SourceFile], Iterator[Document]],
    failed: Callable[[SourceFile, DataError], None],
) -> Iterator[Shard]:
    """All shards that are not done yet. A file that is cut is read here, one shard ahead of who asks for the next.

    failed : is told of a file that cannot be read to its end.
    """
    for file in files:
        if not out.is_cut(file):
            if not out.has(Shard(file)):
                yield Shard(file)
            continue
        try:
            documents = read(file)
            part = 0
            while chunk := tuple(islice(documents, DOCUMENTS)):
                if not out.has(shard := Shard(file, part, chunk)):
                    yield shard
                part += 1
        except DataError as error:
            failed(file, error)
