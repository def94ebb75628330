"""Options that several verbs share, with one meaning and one help text each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.wording import name_options

if TYPE_CHECKING:
    from exaudit.data.document import Document
    from exaudit.model.model import Model as TrainedModel

__all__ = ["Device", "Encoder", "Model", "say", "telling_length"]

CHUNK = 2048  # documents looked at together

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder, as `exaudit train --out` writes it.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Encoder = Annotated[str | None, typer.Option(help="Where the model's Transformer is now, if it has moved.")]


def say(message: str) -> None:
    """A line for the person at the terminal; standard output stays for results."""
    typer.echo(name_options(message), err=True)


def telling_length(model: TrainedModel, documents: Iterable[Document]) -> Iterator[Document]:
    """The documents as they come; the first time that some are longer than the model reads, say so."""
    rest, whole, told = iter(documents), True, False
    while chunk := list(islice(rest, CHUNK)):
        whole = whole and len(chunk) < CHUNK
        if not told and (note := model.note_on_length(chunk)):
            say(note if whole else f"lines {chunk[0].line} to {chunk[-1].line}: {note}")
            told = True
        whole = False
        yield from chunk
