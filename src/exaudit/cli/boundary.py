"""exaudit boundary: move the decision boundary of the words, with a few labelled documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exaudit.cli.options import Device, Encoder, Model, tell
from exaudit.cli.reading import Reading, reads

__all__ = ["boundary"]


@reads
def boundary(
    model: Model,
    reading: Reading,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Documents with labels.")] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="tokens|f1|f0.5|documents|zero",
            help="Set it by the labels of tokens; where words were never labelled, for f1 or f0.5 (as found in "
            "training, or by the labels of the documents in FILE) or by documents that one word decides; or at zero, "
            "as in the paper.",
        ),
    ] = "tokens",
    documents: Annotated[int | None, typer.Option(help="Use only the first so many documents.")] = None,
    beta: Annotated[float, typer.Option(help="Which F-score to raise; 0.5 prefers precision.")] = 0.5,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Set the boundary above which a word is flagged, and store it in the model folder.

    By the labels of tokens, it also tells the F-score, precision and recall to expect, with 95% intervals: see how much
    10 or 20 marked documents tell. Where these mark phrases, scores are averaged over some words from then on.
    `exaudit suggest` picks documents to mark.
    """
    from exaudit.errors import SettingError
    from exaudit.model.boundaries import BETA, with_boundary, with_boundary_at_zero, with_choice
    from exaudit.model.choices import BETAS
    from exaudit.model.folder import load_model, update_model

    if file is not None and by == "zero":
        raise SettingError("a boundary at zero needs no FILE")
    if file is None and by not in ("zero", *BETAS):
        raise SettingError("give a FILE to set the boundary by, or `by=f1`, `by=f0.5` or `by=zero`")
    if by in BETAS and beta != BETA:
        raise SettingError(f"`by={by}` says which F-score to raise: leave out `beta`")
    if file is None and (documents is not None or beta != BETA or reading != Reading()):
        raise SettingError(
            "without a FILE there are no documents: leave out `beta`, `documents` and the like"
        )
    if documents is not None and documents < 1:
        raise SettingError(f"`documents` is {documents}; it must be 1 or more")
    loaded = load_model(model, device=device, encoder=encoder)
    if file is None:
        moved = with_boundary_at_zero(loaded) if by == "zero" else with_choice(loaded, by)
    else:
        moved = with_boundary(loaded, reading.read(file, need_labels=True)[:documents], beta=beta, by=by)
    update_model(moved, model)
    known = (moved.record.get("boundary") or {}).get("known")
    for k, (view, value) in enumerate(zip(moved.labels.views, moved.word_boundaries, strict=True)):
        tell(f"decision boundary of the words, {view.positive}: {value:.4f}")
        if moved.smoothing and moved.smoothing[k] > 1:
            tell(f"  scores are averaged over {moved.smoothing[k]} words, since phrases are marked")
        if known is not None:
            tell(f"  {_known(moved.record['boundary'], k)}")


def _known(record: dict[str, Any], k: int) -> str:
    """What the marked documents tell of a class: each figure with its 95% interval."""
    if record["known"][k] is None and not record["marked_words"][k]:
        return "no word is marked with it, so its boundary stays where it was"
    if record["known"][k] is None:
        count = record["documents"]
        return (
            f"{count} document{' is' if count == 1 else 's are'} too few to tell how well it does; mark more"
        )
    names = {"f": f"F{record['beta']:g}", "precision": "precision", "recall": "recall"}
    figures = [
        f"{names[name]} {value:.2f} ({low:.2f} to {high:.2f})"
        for name, (value, low, high) in record["known"][k].items()
    ]
    documents, words = record["documents"], record["marked_words"][k]
    return (
        f"{', '.join(figures)} on {documents:,} marked document{'' if documents == 1 else 's'} with {words:,} such "
        f"word{'' if words == 1 else 's'}"
    )
