"""exaudit data: what is in a file of documents, and sample files to try things on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import Columns, Format, IdColumn, LabelColumn, TextColumn, TokenLabels

__all__ = ["app"]

app = typer.Typer(help="Files of documents.", no_args_is_help=True)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    token_labels: TokenLabels = None,
) -> None:
    """What is in this file, and what is wrong with it. Exit status 1 if something must be mended."""
    from exaudit.data.check import check as inspect
    from exaudit.errors import DataError

    if not file.is_file():
        raise DataError("there is no such file; check the path", file)
    report = inspect(
        file,
        format=format,
        text_column=text_column,
        label_column=label_column,
        id_column=id_column,
        columns=columns,
        token_labels=token_labels,
    )
    typer.echo(json.dumps(report.to_json(), ensure_ascii=False) if as_json else report.render())
    if report.errors:
        raise typer.Exit(1)


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the files.")],
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Write the built-in sample: reviews and learner sentences, with token-level truth."""
    from exaudit.data.sample import write_sample

    for path in write_sample(folder, seed=seed):
        typer.echo(str(path))
