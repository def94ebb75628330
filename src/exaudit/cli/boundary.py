"""exaudit boundary: move the decision boundary of the tokens, with a few labelled documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import Device, Encoder, Model
from exaudit.cli.reading import Reading, reads

__all__ = ["boundary"]


@reads
def boundary(
    model: Model,
    reading: Reading,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Documents with labels.")] = None,
    documents: Annotated[int | None, typer.Option(help="Use only the first so many documents.")] = None,
    beta: Annotated[float, typer.Option(help="Which F-score to raise; 0.5 prefers precision.")] = 0.5,
    by: Annotated[
        str, typer.Option(help="Which labels to use: token, or document where words were never labelled.")
    ] = "token",
    reset: Annotated[bool, typer.Option("--reset", help="Put the boundary back to 0.")] = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Tune one number, the offset of the token decisions, and store it in the model folder."""
    from exaudit.errors import SettingError
    from exaudit.model import folder
    from exaudit.model.labeler import Labeler

    if file is None and not reset:
        raise SettingError("give a FILE to tune the boundary on, or --reset to put it back to 0")
    labeler = Labeler.load(model, device=device, encoder=encoder)
    if file is None or reset:
        labeler.offset_ = 0.0
        labeler.record_.pop("boundary", None)
    else:
        labeler.tune_boundary(reading.read(file)[:documents], beta=beta, level=by)
    folder.update(labeler, model)
    typer.echo(f"decision boundary of the tokens: {labeler.offset_:.4f}")
