"""Reading a user's file for a verb: the documents, and a line for every kind of thing that was passed over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from exaudit.cli.options import say
from exaudit.data.document import Document

__all__ = ["output", "read"]


def read(path: Path, **options: Any) -> list[Document]:
    """All documents of a file, with its harmless oddities counted on standard error."""
    from exaudit.data.notes import Notes
    from exaudit.data.readers import read_documents

    notes = Notes(path)
    documents = read_documents(path, notes=notes, **{k: v for k, v in options.items() if v is not None})
    for line in notes.warnings():
        say(line)
    return documents


@contextmanager
def output(path: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears only when it is whole."""
    import sys

    from exaudit._files import replace_file
    from exaudit.errors import SettingError

    if path is None or str(path) == "-":
        yield sys.stdout
        return
    if path.is_dir() or not path.parent.is_dir():
        raise SettingError(
            f"cannot write {path}: " + ("it is a folder" if path.is_dir() else "its folder does not exist")
        )
    with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        yield file
