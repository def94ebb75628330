"""exaudit data: what is in a file of documents, and sample files to try things on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.reading import Reading, reads

__all__ = ["app"]

app = typer.Typer(help="Files of documents.", no_args_is_help=True)


@app.command()
@reads
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    reading: Reading,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What is in this file, and what is wrong with it. Exit status 1 if something must be mended."""
    from exaudit.data.check import check as inspect
    from exaudit.errors import DataError

    if not file.is_file():
        raise DataError("there is no such file; check the path", file)
    report = inspect(file, **asdict(reading))
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
