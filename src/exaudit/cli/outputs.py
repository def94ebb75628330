"""Where a verb writes: standard output, a file that appears only when it is whole, a device, pipe or descriptor; or a
folder."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from exaudit._files import replace_file
from exaudit.errors import SettingError

__all__ = ["check_folder", "check_output", "output", "plain_file"]

DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/(?:self|thread-self|(?P<process>\d+))/fd)/(?P<number>\d+)")


def check_output(path: Path | None, *read: Path | str | None) -> None:
    """Refuse what cannot or must not be written, before the work that is to be written is done.

    read : the files and folders that the verb reads, which it must not write into.
    """
    if path is None or str(path) == "-" or _descriptor(path) is not None:
        return
    place, kind = _followed(path)
    if why := _obstacle(place, kind):
        raise SettingError(f"cannot write {path}: {why}")
    if stat.S_ISCHR(kind):
        return  # a terminal is read and written at once
    for each in read:
        source = None if each is None else Path(os.path.realpath(each))
        if source is None or not source.exists():
            continue
        if kind and os.path.samefile(place, source):
            raise SettingError(f"cannot write {path}: the command reads it; choose another file")
        if any(os.path.samefile(folder, source) for folder in place.parents if source.is_dir()):
            raise SettingError(
                f"cannot write {path}: it lies in {each}, which the command reads; choose another place"
            )
    if model := _model_around(place):
        raise SettingError(f"cannot write {path}: it lies in the model {model}; choose another place")


def check_folder(path: Path, *read: Path | None) -> None:
    """The same of a folder that a verb writes files into; it need not be there yet. No verb writes into a model."""
    place, kind = _followed(path)
    if kind and not stat.S_ISDIR(kind):
        what = "a file" if stat.S_ISREG(kind) else "a device or pipe"
        raise SettingError(f"cannot write into {path}: it is {what}; name a folder")
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    if not there.is_dir():
        raise SettingError(f"cannot write into {path}: {there} is no folder; choose another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise SettingError(f"cannot write into {path}: nothing may be written into {there}")
    if any(kind and each is not None and each.exists() and os.path.samefile(place, each) for each in read):
        raise SettingError(f"cannot write into {path}: the command reads it; choose another folder")
    if model := _model_around(place):
        raise SettingError(f"cannot write into {path}: it lies in the model {model}; choose another folder")


def _model_around(place: Path) -> Path | None:
    """The model folder that a place is, or lies in."""
    files = ("model.json", "head.safetensors")
    around = (place, *place.parents)
    return next((folder for folder in around if all((folder / name).is_file() for name in files)), None)


def _followed(path: Path) -> tuple[Path, int]:
    """Where a path leads, if it is a link, and what is there: its mode, or 0 for nothing."""
    place = Path(os.path.realpath(path))
    try:
        return place, place.stat().st_mode
    except FileNotFoundError:
        return place, 0
    except OSError as error:
        raise SettingError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def output(path: Path | None) -> Iterator[TextIO]:
    """The stream to write to. Of a link, the file that it points to is replaced."""
    check_output(path)
    if path is None or str(path) == "-":
        yield sys.stdout
        return
    number = _descriptor(path)
    if number is not None:
        sys.stdout.flush()  # it may be the same file
        with open(
            os.dup(number), "w", encoding="utf-8"
        ) as file:  # opened anew, a file would be cut, not gone on with
            yield file
        return
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with open(place, "w", encoding="utf-8") as file:
            yield file
        return
    with replace_file(place) as temporary, open(temporary, "w", encoding="utf-8") as file:
        yield file


@contextmanager
def plain_file(path: Path | None) -> Iterator[Path]:
    """The same for what is no text, and not written from its start to its end: a path that becomes the file."""
    check_output(path)
    if (
        path is None
        or str(path) == "-"
        or _descriptor(path) is not None
        or (path.exists() and not path.is_file())
    ):
        raise SettingError("Parquet is written into a file; name it with --out, or choose --as jsonl")
    with replace_file(os.path.realpath(path)) as temporary:
        yield temporary


def _obstacle(place: Path, kind: int) -> str | None:
    """Why nothing can be written there."""
    if stat.S_ISDIR(kind):
        return "it is a folder"
    if not place.parent.is_dir():
        return f"its folder does not exist; make it first: mkdir -p {place.parent}"
    if kind and not os.access(place, os.W_OK):
        return "it may only be read"
    if (not kind or stat.S_ISREG(kind)) and not os.access(place.parent, os.W_OK | os.X_OK):
        return "nothing may be written into its folder"
    return None


def _descriptor(path: Path) -> int | None:
    """The number of an open file of this process, where the path is one, as are /dev/stdout and <(...) of a shell."""
    place = os.path.abspath(path)
    for _ in range(40):  # as many links as Linux follows
        found = DESCRIPTOR.fullmatch(place)
        if found and found["process"] in (None, str(os.getpid())):
            number = int(found["number"])
            try:
                os.fstat(number)
            except (OSError, OverflowError):
                raise SettingError(f"cannot write {path}: no such file is open") from None
            return number
        if not os.path.islink(place):
            return None
        place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
    return None
