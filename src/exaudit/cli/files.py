"""Reading a user's file for a verb: the documents, and a line for every kind of thing that was passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exaudit.cli.options import say

if TYPE_CHECKING:
    from exaudit.data.document import Document

__all__ = ["iterate", "read"]


def read(path: Path, *, every_row: bool = False, **options: Any) -> list[Document]:
    """All documents of a file, with its harmless oddities counted on standard error.

    every_row : no row may be passed over, since the place of a document says what it belongs to.
    """
    from exaudit.data.notes import NO_WORDS, Notes
    from exaudit.data.readers import read_documents
    from exaudit.errors import DataError

    notes = Notes(path)
    documents = read_documents(path, notes=notes, **{k: v for k, v in options.items() if v is not None})
    if every_row and NO_WORDS in notes.problems:
        raise DataError(
            "a document has no words, and these files are paired row by row; take its row out of both files, or name "
            "the column that pairs them with --pair-column",
            path,
            notes.problems[NO_WORDS].lines[0],
        )
    for line in notes.warnings():
        say(line)
    return documents


def iterate(path: Path, **options: Any) -> Iterator[Document]:
    """The documents of a file one by one, with the same checks; its oddities are told at its end."""
    from exaudit.data.notes import Notes
    from exaudit.data.readers import checked, iter_documents

    notes = Notes(path)
    yield from checked(iter_documents(path, notes=notes, **options), path)
    for line in notes.warnings():
        say(line)
