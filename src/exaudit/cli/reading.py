"""The options of every verb that reads a user's file, as one argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from exaudit.cli.files import iterate, read
from exaudit.errors import DataError

if TYPE_CHECKING:
    from exaudit.data.document import Document

__all__ = ["PANEL", "Reading", "reads"]

PANEL = "Reading files"  # of the help
# Arguments that hold documents: where one alone is given, an error without a file's name is about that one.
FILES = ("file", "a", "b", "boundary", "dev", "like", "preview", "reference", "targets", "test", "test_pairs")


@dataclass(frozen=True)
class Reading:
    """How a file is to be read. Each field is an option on the command line."""

    format: Annotated[
        str | None,
        typer.Option(
            help="jsonl, csv, tsv, conll, lines, text, parquet, arrow, excel or dataset; by default from the file."
        ),
    ] = None
    text_column: Annotated[str | None, typer.Option(help="The column that holds the text, in tables.")] = None
    label_column: Annotated[str | None, typer.Option(help="The column that holds the label, in tables.")] = (
        None
    )
    id_column: Annotated[
        str | None, typer.Option(help="The column that holds the document's id, in tables.")
    ] = None
    columns: Annotated[
        str | None, typer.Option(help="Column names of a table without a header, as in id,label,text.")
    ] = None
    label_separator: Annotated[
        str | None, typer.Option(help="What stands between several labels of a document, as in '|'.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of a text file; by default UTF-8 or what it looks like.")
    ] = None
    token_labels: Annotated[
        Path | None, typer.Option(help="A parallel file of token labels, for `0|1 text` lines.")
    ] = None
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Leave out documents without a label.")
    ] = False

    def read(self, path: Path, **more: Any) -> list[Document]:
        """The file that the verb is about."""
        return read(path, **self.options() | more)

    def iterate(self, path: Path, **more: Any) -> Iterator[Document]:
        """The same one by one, for verbs that need not have all of it in memory."""
        return iterate(path, **self.options() | more)

    def read_beside(self, path: Path, **more: Any) -> list[Document]:
        """A second file of the same kind; the parallel token labels are not its own."""
        return self.read(path, token_labels=None, **more)

    def options(self) -> dict[str, Any]:
        """As `iter_documents` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def reads(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb that takes `reading: Reading` take each of its options on the command line instead."""
    hints = get_type_hints(Reading, include_extras=True)
    for hint in hints.values():
        hint.__metadata__[0].rich_help_panel = PANEL
    names = [field.name for field in fields(Reading)]
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(Reading)
    ]
    signature = inspect.signature(verb, eval_str=True)
    own = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for p in signature.parameters.values()
        if p.name != "reading"
    ]

    @functools.wraps(verb)
    def command(**arguments: Any) -> None:
        reading = Reading(**{name: arguments.pop(name) for name in names})
        given = [arguments[name] for name in FILES if arguments.get(name) is not None]
        try:
            verb(**arguments, reading=reading)
        except DataError as error:
            if error.path is not None or len(given) != 1:
                raise
            raise error.at(given[0]) from error

    command.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *options]}
    del command.__wrapped__  # typer would look through to the verb's own signature
    return command
