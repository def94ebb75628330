"""exaudit label: a decision for every document and for every word of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import Columns, Device, Encoder, Format, IdColumn, LabelColumn, Model, TextColumn

__all__ = ["label"]


def label(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents, with or without labels.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; standard output by default.")
    ] = None,
    device: Device = "auto",
    encoder: Encoder = None,
    format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    columns: Columns = None,
) -> None:
    """Write one JSON object a document: its decision and score, and those of every word."""
    from exaudit.cli.files import output, read
    from exaudit.model.labeler import Labeler

    documents = read(
        file,
        format=format,
        text_column=text_column,
        label_column=label_column,
        id_column=id_column,
        columns=columns,
    )
    labeler = Labeler.load(model, device=device, encoder=encoder)
    with output(out) as stream:
        for scores in labeler.iter_label(documents, total=len(documents)):
            stream.write(json.dumps(scores.to_json(labeler.names_), ensure_ascii=False) + "\n")
