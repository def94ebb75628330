"""exaudit report: all analyses of a file in one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import Device, Encoder, Model, say
from exaudit.cli.reading import Reading, reads
from exaudit.cli.reliability import As, Out, Reference

__all__ = ["report"]


@reads
def report(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents, best with labels.")],
    out: Out,
    reading: Reading,
    as_: As = None,
    ngrams: Annotated[str, typer.Option(help="Sizes of the n-grams, as in 1-5 or 1,3.")] = "1-5",
    by: Annotated[str, typer.Option(help="Rank n-grams by mean or total score.")] = "mean",
    top: Annotated[int, typer.Option(min=1, help="How many n-grams to show from each end.")] = 10,
    exemplars: Annotated[
        int, typer.Option(min=0, help="How many documents to show with their exemplars.")
    ] = 10,
    reference: Reference = None,
    support: Annotated[Path | None, typer.Option(help="The support set, if not in the model folder.")] = None,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """How right the model is, what it goes by, when to trust it, and every document with its words marked."""
    from exaudit.analyse.report import Answers, find_format, render, report_page
    from exaudit.cli.features import ranking_of, sizes_of
    from exaudit.cli.outputs import check_output, output

    kind, sizes, ranking = find_format(out, as_), sizes_of(ngrams), ranking_of(by)
    check_output(out, model, support, file, reference, reading.token_labels)
    documents = reading.read(file)
    in_domain = None if reference is None else reading.read_beside(reference)
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
