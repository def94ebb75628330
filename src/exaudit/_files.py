"""How files get onto the disk: old or new, never half of one, for a reader as for who comes after a power cut.

What is written goes under a temporary name (`.NAME.*.tmp`), is synced, renamed, and then its folder is synced: once
a function of this module has returned, the disk has it. Who writes holds a shared lock on the folder, which ends
with the process; the next one to write NAME deletes the temporary files of those that were killed.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exaudit.errors import ModelError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, temporary files of killed writers stay
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "clear_leftovers",
    "folder_beside",
    "make_folder",
    "put_folder",
    "read_json",
    "replace_file",
    "sha256_file",
    "sync",
    "sync_all",
    "sync_tree",
    "to_json",
    "write_json",
]

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of folders, on some network file systems
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS

LARGEST_JSON = 1 << 28  # bytes


@contextmanager
def replace_file(path: str | os.PathLike[str], *, clear: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well it becomes `path`, otherwise it is deleted.

    clear : look for what killed writers of `path` left. That reads all names in the folder, of which there may be many.
    """
    path = Path(path)
    with _writing_in(path, clear):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            _publish(temporary)
            os.replace(temporary, path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, for `put_folder`; what is left of it in the end is deleted."""
    with _writing_in(path):
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def put_folder(new: Path, path: Path, *, replace: bool = False, aside: Path | None = None) -> None:
    """Give a folder, written whole, the name `path`. With `replace`, a folder that has it becomes `aside`, or `new`."""
    sync_tree(new)
    if replace and path.is_dir():
        if aside is not None:
            os.rename(new, aside)
        _exchange(aside or new, path)
    else:
        os.rename(new, path)
    sync(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there; of a link, the folder that it points to."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        return
    if path.exists():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # it cannot be done, and need not be
        return
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if not (folder and error.errno in _NO_SYNC):
            raise
    finally:
        os.close(handle)


def sync_all(paths: Sequence[Path]) -> None:
    """Sync files and folders, in any order. The disk takes many at once in about the time of one."""
    if paths:
        with ThreadPoolExecutor(min(16, len(paths))) as pool:
            list(pool.map(sync, paths))


def sync_tree(folder: Path) -> None:
    """Sync a folder with all that is in it, and let others read it as the umask says."""
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            _publish(Path(root, name))
        os.chmod(root, 0o777 & ~_umask())
        sync(Path(root))


def clear_leftovers(path: Path) -> None:
    """Delete what writers of `path` left beside it when they were killed, unless somebody is writing there now."""
    leftovers = list(path.parent.glob(f".{path.name}.*.tmp"))
    if not leftovers or fcntl is None:
        return
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for each in leftovers:
            shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)
    except OSError:  # locked, or nothing that we may delete: another time
        return
    finally:
        os.close(handle)


@contextmanager
def _writing_in(path: Path, clear: bool = True) -> Iterator[None]:
    """Tell others that a temporary file beside `path` is in use, as long as this process lives."""
    if clear:
        clear_leftovers(path)
    if fcntl is None:
        yield
        return
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
        except OSError as error:
            if error.errno not in (*_NO_SYNC, errno.ENOLCK, errno.ENOSYS):
                raise  # on a file system without such locks nobody clears anything either
        yield
    finally:
        os.close(handle)


def _publish(file: Path) -> None:
    """Sync a file; temporary files are made private, ours are as readable as any other."""
    os.chmod(file, 0o666 & ~_umask())
    sync(file)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _exchange(one: Path, other: Path) -> None:
    """Swap two names: at one stroke where the system can, otherwise by renaming three times."""
    names = os.fsencode(one), os.fsencode(other)
    status, here = -1, -100  # AT_FDCWD
    if sys.platform == "linux":
        status = ctypes.CDLL(None).renameat2(here, names[0], here, names[1], _EXCHANGE)
    elif sys.platform == "darwin":
        status = ctypes.CDLL(None).renamex_np(*names, _EXCHANGE)
    if status != 0:
        aside = one.with_suffix(".old")
        os.rename(other, aside)
        os.rename(one, other)
        os.rename(aside, one)


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
    """What is in a file of JSON; a ValueError where it is none, or more than any of ours."""
    if os.path.getsize(path) > LARGEST_JSON:
        raise ValueError(f"it has more than {LARGEST_JSON >> 20} MB")
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def sha256_file(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
