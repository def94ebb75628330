"""exaudit admission: fit the limits within which an answer is relied on, and look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import opened
from exaudit.cli.options import AsJson, Device, Encoder, Model, Stream, SupportAt, tell, tell_json
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.audit import Auditor, FittedAdmission

__all__ = ["app"]

app = typer.Typer(help="Limits within which answers are admitted.", no_args_is_help=True)


@app.command()
@reads
def fit(
    model: Model,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The documents that the K-NN was fitted on, with labels.")
    ],
    reading: Reading,
    kind: Annotated[
        str, typer.Option(help="distance, magnitude or both: which limits apply to tokens.")
    ] = "both",
    quantile: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Limits that this share of correct answers keeps, not their means."),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Also limit the number of admitted tokens of a document.")
    ] = False,
    recipe: Annotated[
        str,
        typer.Option(
            help="stable (the default), or paper, means as in the paper's code: distances of agreeing matches only, "
            "counts of documents with an admitted token only."
        ),
    ] = "stable",
    support: SupportAt = None,
    stream: Stream = False,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Fit the limits on the half of FILE that was K-NN dev, and store them."""
    from typing import cast, get_args

    from exaudit.decide.admission import AdmissionKind
    from exaudit.errors import SettingError

    if kind not in get_args(AdmissionKind):
        raise SettingError(f"`kind` is {kind!r}; choose one of {', '.join(get_args(AdmissionKind))}")
    documents = reading.read(file, need_labels=True)
    with opened(model, support, device=device, encoder=encoder, stream=stream) as auditor:
        fitted = auditor.fit_admission(
            documents,
            kind=cast("AdmissionKind", kind),
            quantile=quantile,
            use_count=count,
            recipe=recipe,
        )
        _print(auditor, fitted, as_json)


@app.command()
def show(model: Model, support: SupportAt = None, as_json: AsJson = False) -> None:
    """The limits, and whether the support set has changed since they were fitted."""
    from exaudit.errors import SupportError

    with opened(model, support) as auditor:
        if auditor.admission is None:
            raise SupportError(
                f"{model}: no admission limits were fitted yet; fit them first (exaudit admission fit)"
            )
        _print(auditor, auditor.admission, as_json)


def _print(auditor: Auditor, fitted: FittedAdmission, as_json: bool) -> None:
    from exaudit.audit.staleness import limits_text

    stale = fitted.is_stale(auditor.support.version)
    if as_json:
        limits = [view.to_json() for view in fitted.views]
        of_class = {"classes": dict(zip(auditor.labels.names, limits, strict=False))}
        value = {
            **(limits[0] if len(limits) == 1 else of_class),
            "documents": len(fitted.documents),
            "stale": stale,
        }
        tell_json(value)
        return
    for what, limit in limits_text(fitted.views, auditor.labels).items():
        tell(f"{what:<34} {limit:>14}")
    told = "stale: the support set has changed since" if stale else "the support set as it is"
    typer.echo(
        f"fitted on {len(fitted.documents)} documents and version {fitted.support_version[:8]} ({told})"
    )
