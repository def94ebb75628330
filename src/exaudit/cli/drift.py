"""exaudit drift: whether new documents are like those that a model was calibrated on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import opened
from exaudit.cli.options import AsJson, Device, Encoder, Model, Precision, SupportAt, say, tell, tell_json
from exaudit.cli.reading import Reading, reads
from exaudit.cli.reliability import As

if TYPE_CHECKING:
    from exaudit.audit import Drift

__all__ = ["drift"]


@reads
def drift(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New documents; labels are not needed.")],
    reading: Reading,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Documents to compare with; by default those that were kept, or those of admission."
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the figures of --reference (no texts) in the model folder.")
    ] = False,
    rate: Annotated[
        float, typer.Option("--false-alarms", help="Files of the same source that are reported, at most.")
    ] = 0.01,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a page with plots: .html, .md or .json.")
    ] = None,
    as_: As = None,
    support: SupportAt = None,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
) -> None:
    """Compare new documents with the reference: length, vocabulary, distances to exemplars, scores, content."""
    from exaudit.analyse.report import drift_page, find_format, render
    from exaudit.cli.outputs import check_output, output
    from exaudit.errors import SettingError

    if keep and reference is None:
        raise SettingError("`keep` is about `reference`; give both")
    kind = "json" if out is None else find_format(out, as_)
    check_output(out, model, support, file, reference, reading.token_labels)
    documents = reading.read(file)
    known = None if reference is None else reading.read_beside(reference)
    with opened(model, support, device=device, encoder=encoder, precision=precision) as auditor:
        found = auditor.drift(documents, reference=known, keep=keep, rate=rate)
    if out is not None:
        with output(out) as stream:
            stream.write(render(drift_page(found, title=f"Drift of {file.name}"), kind))
    if str(out) == "-":
        return
    if as_json:
        tell_json(found.to_json())
    else:
        _tell(found)
    if out is not None:
        say(f"written to {out}")


def _tell(found: Drift) -> None:
    tell(found.verdict)
    for shift in found.found:
        tell(f"  {shift.sentence}")
    same = [shift.measure for shift in found.shifts if shift not in found.found]
    if found.detected and same:
        tell(f"No shift was found in: {', '.join(same)}")
    for note in found.notes:
        tell(f"Note: {note}.")
    if found.detected:
        tell("Farthest from the reference:")
        for document in found.farthest:
            tell("  " + " ".join(f"{document.id}: {document.sentence}: {document.text}".split()))
