"""exaudit reliability: when the predictions can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import Device, Encoder, Model, say
from exaudit.cli.reading import Reading, reads

__all__ = ["As", "Out", "Reference", "reliability"]

Out = Annotated[
    Path, typer.Option("--out", "-o", help="The file to write: .html, .md or .json; - prints it.")
]
As = Annotated[
    str | None, typer.Option("--as", help="html, md or json; by default from the ending of --out.")
]
Reference = Annotated[
    Path | None,
    typer.Option(help="In-domain documents to compare distances with; by default those of admission."),
]


@reads
def reliability(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents, best with labels.")],
    out: Out,
    reading: Reading,
    as_: As = None,
    reference: Reference = None,
    support: Annotated[Path | None, typer.Option(help="The support set, if not in the model folder.")] = None,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Right and wrong by the size of the output and by distance; of the K-NN as well where one was fitted."""
    from exaudit.analyse.report import Answers, find_format, reliability_page, render
    from exaudit.cli.outputs import check_output, output

    kind = find_format(out, as_)
    check_output(out, model, support, file, reference, reading.token_labels)
    documents = reading.read(file)
    in_domain = None if reference is None else reading.read_beside(reference)
    answers = Answers.of(
        model,
        documents,
        title=f"Reliability on {file.name}",
        reference=in_domain,
        support=support,
        device=device,
        encoder=encoder,
    )
    with output(out) as stream:
        stream.write(render(reliability_page(answers), kind))
    if str(out) != "-":
        say(f"written to {out}")
