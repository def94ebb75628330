"""Options that several verbs share, with one meaning and one help text each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from exaudit.data.document import Document
    from exaudit.model.labeler import Labeler

__all__ = ["Device", "Encoder", "Model", "say", "tell_length"]

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder, as `exaudit train --out` writes it.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Encoder = Annotated[str | None, typer.Option(help="Where the model's Transformer is now, if it has moved.")]


def say(message: str) -> None:
    """A line for the person at the terminal; standard output stays for results."""
    typer.echo(message, err=True)


def tell_length(labeler: Labeler, documents: Sequence[Document]) -> None:
    """Say so where documents are longer than the model reads."""
    if note := labeler.note_on_length(documents):
        say(note)
