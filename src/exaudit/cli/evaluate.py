"""exaudit evaluate: how well a model does on documents whose labels are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import (
    Columns,
    Device,
    Encoder,
    Format,
    IdColumn,
    LabelColumn,
    Model,
    TextColumn,
    TokenLabels,
)

__all__ = ["evaluate"]


def evaluate(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, fractions of one, and nothing else.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="Add bootstrap intervals (95%), drawn over documents.")
    ] = False,
    device: Device = "auto",
    encoder: Encoder = None,
    format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    token_labels: TokenLabels = None,
) -> None:
    """Document and token metrics, with random and majority baselines beside them."""
    from exaudit.analyse.evaluation import Evaluation
    from exaudit.cli.files import read
    from exaudit.model.labeler import Labeler

    documents = read(
        file,
        format=format,
        text_column=text_column,
        label_column=label_column,
        id_column=id_column,
        columns=columns,
        token_labels=token_labels,
    )
    labeler = Labeler.load(model, device=device, encoder=encoder)
    evaluation = Evaluation.of(labeler.iter_label(documents, total=len(documents)), labeler.names_)
    if as_json:
        typer.echo(json.dumps(evaluation.to_json(ci=ci)))
    else:
        typer.echo(evaluation.render(ci=ci))
