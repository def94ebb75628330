"""Options that several verbs share, with one meaning and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Columns",
    "Device",
    "Encoder",
    "Format",
    "IdColumn",
    "LabelColumn",
    "Model",
    "TextColumn",
    "TokenLabels",
    "say",
]

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder, as `exaudit train --out` writes it.")
]
Format = Annotated[
    str | None, typer.Option(help="jsonl, csv, tsv, conll or lines; by default from the file's name.")
]
TextColumn = Annotated[str | None, typer.Option(help="The column that holds the text, in CSV and TSV files.")]
LabelColumn = Annotated[
    str | None, typer.Option(help="The column that holds the label, in CSV and TSV files.")
]
IdColumn = Annotated[
    str | None, typer.Option(help="The column that holds the document's id, in CSV and TSV files.")
]
Columns = Annotated[
    str | None, typer.Option(help="Column names of a table without a header, as in id,label,text.")
]
TokenLabels = Annotated[
    Path | None, typer.Option(help="A parallel file of token labels, for `0|1 text` lines.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Encoder = Annotated[str | None, typer.Option(help="Where the model's Transformer is now, if it has moved.")]


def say(message: str) -> None:
    """A line for the person at the terminal; standard output stays for results."""
    typer.echo(message, err=True)
