"""exaudit knn: fit the K-NN that stands in for the model, and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import opened
from exaudit.cli.options import AsJson, Device, Encoder, Model, Stream, SupportAt, tell, tell_json
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.audit.fitted import ClassKNN, FittedKNN
    from exaudit.data.labels import LabelSet

__all__ = ["app"]

app = typer.Typer(help="The K-NN over exemplars.", no_args_is_help=True)


@app.command()
@reads
def fit(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Held-out documents; labels are not needed.")],
    reading: Reading,
    kind: Annotated[str, typer.Option(help="dist, const or equal: how exemplars are weighted.")] = "dist",
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Exemplars for each token.")] = 8,
    exemplar_labels: Annotated[
        str, typer.Option(help="Labels in the label term: document, token, or auto.")
    ] = "auto",
    epochs: Annotated[int, typer.Option(min=1, help="How often the learning half is seen.")] = 40,
    recipe: Annotated[
        str,
        typer.Option(help="stable, by Adam (the default); or paper, by Adadelta, as in the paper's code."),
    ] = "stable",
    seed: Annotated[int, typer.Option(min=0, help="Of the halves and of the order.")] = 0,
    support: SupportAt = None,
    stream: Stream = False,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Learn the K-NN's parameters on one half of FILE, choose the epoch on the other, and store them."""
    from typing import cast

    from exaudit.decide.knn import Kind
    from exaudit.errors import SettingError

    choices = {"auto": None, "document": False, "token": True}
    if exemplar_labels not in choices:
        raise SettingError(f"--exemplar-labels is document, token or auto, not {exemplar_labels!r}")
    documents = reading.read(file)
    with opened(model, support, device=device, encoder=encoder, stream=stream) as auditor:
        fitted = auditor.fit_knn(
            documents,
            kind=cast("Kind", kind),
            k=k,
            use_token_labels=choices[exemplar_labels],
            epochs=epochs,
            recipe=recipe,
            seed=seed,
        )
    _print(fitted, auditor.labels, as_json)


@app.command()
def show(model: Model, as_json: AsJson = False) -> None:
    """The parameters of the K-NN, and how well it stands in for the model."""
    from exaudit.errors import SupportError

    with opened(model) as auditor:
        fitted = auditor.knn
    if fitted is None:
        raise SupportError(f"{model}: no K-NN was fitted yet; fit one first (exaudit knn fit)")
    _print(fitted, auditor.labels, as_json)


def _print(fitted: FittedKNN, labels: LabelSet, as_json: bool) -> None:
    if as_json:
        value = fitted.to_json()
        if len(fitted.views) > 1:
            value["classes"] = list(labels.names)
        tell_json(value)
        return
    knn, several = fitted.views[0].knn, len(fitted.views) > 1
    of_labels = "token labels" if knn.use_token_labels else "document labels"
    typer.echo(f"K-NN {knn.kind}, K = {knn.k}, {of_labels} of the exemplars")
    for view, names in zip(fitted.views, labels.views, strict=True):
        if several:
            tell(names.positive)
        _print_view(view, fitted)
    if several:
        typer.echo(f"all classes: agreement {100 * fitted.agreement:.2f}%")
    if all(view.metrics is None for view in fitted.views):
        typer.echo("  no token labels in the file: F-scores are not known")


def _print_view(view: ClassKNN, fitted: FittedKNN) -> None:
    knn = view.knn
    typer.echo(f"  tau {knn.tau:.4f}  gamma {knn.gamma:.4f}  beta {knn.beta:.4f}  boundary {knn.offset:g}")
    if knn.raw_weights:
        typer.echo("  weights " + " ".join(f"{weight:.4f}" for weight in knn.raw_weights))
    typer.echo(
        f"  delta {view.delta} of {fitted.tokens} tokens: agrees with the model on "
        f"{100 * (1 - view.delta / fitted.tokens):.2f}% of K-NN dev ({len(fitted.dev_documents)} documents); "
        f"epoch {view.epoch}"
    )
    if view.metrics is not None:
        typer.echo(f"  {'tokens':<8}" + "".join(f"{name:>11}" for name in view.metrics["model"]))
        for who, values in view.metrics.items():
            typer.echo(f"  {who:<8}" + "".join(f"{100 * value:>11.2f}" for value in values.values()))
