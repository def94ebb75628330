"""exaudit report: all analyses of a file in one page."""

from __future__ import annotations

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
    say,
)
from exaudit.cli.reliability import As, Out, Reference

__all__ = ["report"]


def report(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents, best with labels.")],
    out: Out,
    as_: As = None,
    ngrams: Annotated[str, typer.Option(help="Sizes of the n-grams, as in 1-5 or 1,3.")] = "1-5",
    by: Annotated[str, typer.Option(help="Rank n-grams by mean or total score.")] = "mean",
    top: Annotated[int, typer.Option(help="How many n-grams to show from each end.")] = 10,
    exemplars: Annotated[int, typer.Option(help="How many documents to show with their exemplars.")] = 10,
    reference: Reference = None,
    support: Annotated[Path | None, typer.Option(help="The support set, if not in the model folder.")] = None,
    device: Device = "auto",
    encoder: Encoder = None,
    format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    token_labels: TokenLabels = None,
) -> None:
    """How right the model is, what it goes by, when to trust it, and every document with its words marked."""
    from exaudit.analyse.report import Answers, find_format, render, report_page
    from exaudit.cli.features import ranking_of, sizes_of
    from exaudit.cli.files import output, read

    kind, sizes, ranking = find_format(out, as_), sizes_of(ngrams), ranking_of(by)
    reading = {
        "format": format,
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "columns": columns,
    }
    documents = read(file, token_labels=token_labels, **reading)
    in_domain = None if reference is None else read(reference, **reading)
    answers = Answers.of(
        model,
        documents,
        title=f"Report on {file.name}",
        reference=in_domain,
        support=support,
        device=device,
        encoder=encoder,
    )
    page = report_page(answers, sizes=sizes, by=ranking, top=top, exemplars=exemplars)
    with output(out) as stream:
        stream.write(render(page, kind))
    if str(out) != "-":
        say(f"written to {out}")
