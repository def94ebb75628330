"""Options that several verbs share, with one meaning and one help text each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit._escape import json_text, visible
from exaudit.cli.wording import name_options

if TYPE_CHECKING:
    from exaudit.data.document import Document, Label
    from exaudit.model.model import Model as TrainedModel

__all__ = [
    "Admit",
    "AdmitRule",
    "AsJson",
    "Author",
    "Device",
    "Encoder",
    "Model",
    "Precision",
    "PreviewFile",
    "PreviewRule",
    "Reason",
    "RuleName",
    "Stream",
    "SupportAt",
    "UseKNN",
    "named",
    "say",
    "tell",
    "tell_json",
    "tuning_line",
    "with_notes",
]

CHUNK = 2048  # documents looked at together

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder, as `exaudit train --out` writes it.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Encoder = Annotated[str | None, typer.Option(help="Where the model's Transformer is now, if it has moved.")]
Precision = Annotated[
    str | None,
    typer.Option(
        help="What the encoder reads in: auto (bfloat16 where the hardware has it), float32 or bfloat16; by default as "
        "the model was trained. Texts that are compared with a support set are read in its precision."
    ),
]
SupportAt = Annotated[
    str | None,
    typer.Option("--support", help="Where the support set is; by default support/ in the model folder."),
]
Author = Annotated[
    str | None, typer.Option(help="Who makes the edit, for the log; by default the user's name.")
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PreviewFile = Annotated[
    Path | None,
    typer.Option("--preview", metavar="FILE", help="Write nothing; show which decisions on FILE would flip."),
]
PreviewRule = Annotated[
    str | None, typer.Option("--rule", help="Of the preview: exag, exat or knn; knn where one was fitted.")
]
RuleName = Annotated[
    str | None,
    typer.Option("--rule", help="exag or exat: admit a positive word only if its nearest exemplar does."),
]
UseKNN = Annotated[bool, typer.Option("--knn", help="Decide the words by the K-NN over exemplars.")]
Admit = Annotated[bool, typer.Option("--admit", help="Tell which answers may be relied on, and why not.")]
AdmitRule = Annotated[
    str | None,
    typer.Option(
        "--admit-rule",
        help="Of --admit: promise (where one was made), or mean: the limits, for answers of the K-NN.",
    ),
]
Stream = Annotated[
    bool,
    typer.Option("--stream", help="Search from disk: slower, but the support set need not fit in memory."),
]


def say(message: str) -> None:
    """A line for the person at the terminal; standard output stays for results."""
    typer.echo(visible(name_options(message)), err=True)


def tuning_line(record: Mapping[str, Any]) -> str | None:
    """What a report of training says of tuning, if it does."""
    if "tuning_epoch" in record:
        return f"tuning ({record['tuning']}), epoch {record['tuning_epoch']}  loss {record['loss']:.4f}"
    if "seconds_to_go" in record:
        threads, device = record["threads"], record["device"]
        where = f"{threads} {'thread' if threads == 1 else 'threads'}" if device == "cpu" else device
        return f"tuning the encoder: {_about(record['seconds_to_go'])} on this machine ({where}, {record['precision']})"
    return None


def _about(seconds: float) -> str:
    """A time to go, no more exact than it can be known."""
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return f"about {seconds / length:.0f} {unit}s"
    return "about a minute" if seconds >= 30 else "less than a minute"


def tell(result: str) -> None:
    """A result, for people."""
    typer.echo(visible(result))


def tell_json(result: Any) -> None:
    """A result, for programs."""
    typer.echo(json_text(result))


def with_notes(model: TrainedModel, documents: Iterable[Document]) -> Iterator[Document]:
    """The documents as they come; the first time that some are longer than the model reads, say so, and at the start
    if its encoder does not know their language."""
    rest, first, whole, told = iter(documents), True, True, False
    while chunk := list(islice(rest, CHUNK)):
        if first and (note := model.note_on_language(chunk)):
            say(f"note: {note}")
        first, whole = False, whole and len(chunk) < CHUNK
        if not told and (note := model.note_on_length(chunk)):
            say(note if whole else f"lines {chunk[0].line} to {chunk[-1].line}: {note}")
            told = True
        whole = False
        yield from chunk


def named(label: Label) -> str:
    """A label for a terminal: a class, or several."""
    return label if isinstance(label, str) else " + ".join(label) or "none"
