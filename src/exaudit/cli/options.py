"""Options that several verbs share, with one meaning and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Device", "Encoder", "Model", "say"]

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder, as `exaudit train --out` writes it.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Encoder = Annotated[str | None, typer.Option(help="Where the model's Transformer is now, if it has moved.")]


def say(message: str) -> None:
    """A line for the person at the terminal; standard output stays for results."""
    typer.echo(message, err=True)
