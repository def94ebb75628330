"""The documents of many files, one after another, each with an id that no other has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from exaudit.batch.sources import SourceFile
from exaudit.data.document import Document
from exaudit.data.notes import Notes
from exaudit.data.readers import checked, iter_documents
from exaudit.errors import DataError

__all__ = ["FileReader", "OnError"]

OnError = Callable[[SourceFile, DataError], None]


@dataclass(frozen=True)
class FileReader:
    """How each of the files is read.

    options : of `iter_documents`.
    named : whether the name of its file goes before the id of a document that is only numbered, as in `a.csv:7`.
    """

    options: dict[str, Any] = field(default_factory=dict)
    named: bool = False

    def read(self, file: SourceFile, remarks: list[str]) -> Iterator[Document]:
        """The documents of a file; what is odd in it is added to `remarks` at its end."""
        with file.local() as path:
            notes = Notes(path)
            try:
                for document in checked(iter_documents(path, notes=notes, **self.options), path):
                    numbered = self.named and "id" not in notes.columns
                    yield replace(document, id=f"{file.name}:{document.id}") if numbered else document
            except DataError as error:
                raise error.at(file.place) from None
            notes.path = file.place
            remarks += notes.warnings()

    def read_all(
        self, files: Iterable[SourceFile], remarks: list[str], failed: OnError
    ) -> Iterator[Document]:
        """The documents of all files. Of a file that is damaged none are given, so each is read before it is."""
        places: dict[int, str] = {}  # of every id, by its hash
        for file in files:
            try:
                documents = list(self.read(file, remarks))
                for document in documents:
                    other = places.setdefault(hash(document.id), file.place)
                    if other != file.place:
                        raise DataError(
                            f"the document {document.id!r} is in {other}, too; make the ids unique, or name another "
                            "column with `id_column` ('' numbers the documents)",
                            file.place,
                            document.line,
                        )
            except DataError as error:
                failed(file, error)
                continue
            yield from documents
