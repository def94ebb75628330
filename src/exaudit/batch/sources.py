"""The files that a folder, a pattern or an address of an object store means."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from exaudit.data.readers import COMPRESSED, ENDINGS
from exaudit.data.source import check_path
from exaudit.errors import DataError

__all__ = ["SourceFile", "find_files", "is_many"]

ADDRESS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+):/+"
)  # two letters: C:/ is a drive. A Path has one slash of two
KNOWN = {*ENDINGS, ".tsv", ".tab", ".txt", ".json"}
WEB = {"http", "https", "ftp"}  # where files cannot be listed
ARROW = {"file", "s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss"}  # the others are for fsspec
DATASET = ("state.json", "dataset_dict.json")  # a folder that `datasets` saved is one source


@dataclass(frozen=True)
class SourceFile:
    """A file of documents, here or in an object store."""

    name: str  # below the folder that was given, with slashes
    place: str  # its path or address
    size: int
    changed: int  # in nanoseconds

    @contextmanager
    def local(self) -> Iterator[Path]:
        """The file on this machine, for as long as the block lasts."""
        if not ADDRESS.match(self.place):
            yield Path(self.place)
            return
        with tempfile.TemporaryDirectory(prefix="exaudit-") as folder:
            copy = Path(folder, PurePosixPath(self.name).name)
            with _reading(self.place):
                system, path = _filesystem(self.place)
                with system.open_input_stream(path, compression=None) as source, open(copy, "wb") as target:
                    while block := source.read(1 << 20):
                        target.write(block)
            yield copy


def is_many(source: str | os.PathLike[str]) -> bool:
    """Whether a source means any number of files, rather than one on this machine."""
    place = os.fspath(source)
    if ADDRESS.match(place):
        return _scheme(place) not in WEB
    if os.path.isdir(place):
        return not any(os.path.isfile(os.path.join(place, name)) for name in DATASET)
    return has_magic(place) and not os.path.exists(place)


def find_files(source: str | os.PathLike[str], *, every: bool = False) -> tuple[list[SourceFile], list[str]]:
    """The files, sorted by name, and the names of those that are passed over: their endings are of no format.

    every : take them all. Names that start with a dot or an underscore are never looked at.
    """
    place = os.fspath(source)
    found = _found_there(place) if ADDRESS.match(place) else _found_here(place)
    one = len(found) == 1 and found[0].name == os.path.basename(place)
    shown = sorted((file for file in found if one or not _is_hidden(file.name)), key=lambda file: file.name)
    known = {file: one or every or _is_known(file.name) for file in shown}
    taken = [file for file in shown if known[file]]
    if not taken:
        advice = "; name their format with `format`" if shown else "; check the path"
        raise DataError(f"there are no files of documents here{advice}", place)
    return taken, [file.name for file in shown if not known[file]]


def _found_here(place: str) -> list[SourceFile]:
    if os.path.isdir(place):
        base = place
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    else:
        magic = has_magic(place) and not os.path.exists(place)
        paths = [path for path in glob(place, recursive=True) if os.path.isfile(path)] if magic else [place]
        base = _base(place) if magic else os.path.dirname(place)
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            raise DataError(f"the file cannot be read ({error.strerror})", path) from None
        name = os.path.relpath(path, base or ".").replace(os.sep, "/")
        if not name.isascii() and name != name.encode(errors="replace").decode():
            raise DataError("the name of this file is not UTF-8; rename it", path)
        found.append(SourceFile(name, os.path.abspath(path), status.st_size, status.st_mtime_ns))
    return found


def _found_there(address: str) -> list[SourceFile]:
    from pyarrow.fs import FileSelector, FileType

    if _scheme(address) in WEB:
        check_path(address)  # which says what to do
    with _reading(address):
        system, path = _filesystem(address)
        base = _base(path) if has_magic(path) else path
        about = system.get_file_info(base)
        if about.type == FileType.File:
            entries, base = [about], str(PurePosixPath(base).parent)
        else:
            entries = system.get_file_info(FileSelector(base, recursive=True))
    whole, mark, options = _full(address).partition("?")  # such as a region, which every file needs, too
    start = whole.removesuffix(path) if whole.endswith(path) else f"{_scheme(address)}://"
    return [
        SourceFile(
            str(PurePosixPath(entry.path).relative_to(base)),
            start + entry.path + mark + options,
            entry.size or 0,
            entry.mtime_ns or 0,
        )
        for entry in entries
        if entry.type == FileType.File and (not has_magic(path) or _matches(entry.path, path))
    ]


def _base(pattern: str) -> str:
    """The folder above the first part of a pattern that has a wildcard."""
    parts = list(takewhile(lambda part: not has_magic(part), pattern.split("/")))
    return "/".join(parts) or ("/" if pattern.startswith("/") else "")


def _matches(path: str, pattern: str) -> bool:
    """As `glob` does: a star stays within a folder, two of them go below."""
    return fnmatchcase(path, pattern) and ("**" in pattern or path.count("/") == pattern.count("/"))


def _filesystem(address: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    if _scheme(address) in ARROW:
        system, path = FileSystem.from_uri(_full(address))
    else:
        from fsspec.core import url_to_fs

        other, path = url_to_fs(_full(address))
        system = PyFileSystem(FSSpecHandler(other))
    return system, path


def _full(address: str) -> str:
    scheme = _scheme(address)
    return ADDRESS.sub(f"{scheme}:///" if scheme == "file" else f"{scheme}://", address, count=1)


def _scheme(address: str) -> str:
    found = ADDRESS.match(address)
    return found[1].lower() if found else ""


@contextmanager
def _reading(address: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ImportError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:160]
        raise DataError(f"this address cannot be read ({reason})", _full(address)) from None


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _is_known(name: str) -> bool:
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in KNOWN
