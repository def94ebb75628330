"""exaudit suggest: which documents to mark the words of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from exaudit._escape import json_text, visible
from exaudit.cli.options import Device, Encoder, Model, say, with_notes
from exaudit.cli.reading import Reading, reads

__all__ = ["suggest"]

BY_HAND = re.compile(r'"marked": *true|^# marked = true', re.MULTILINE | re.IGNORECASE)


@reads
def suggest(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(metavar="POOL", help="Documents to choose from, like those to be labelled later."),
    ],
    reading: Reading,
    count: Annotated[int, typer.Option("--count", "-n", help="How many documents to choose.")] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; standard output by default.")
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="jsonl|conll",
            help="JSON lines, or a word and its label on each line (conll); by default from the ending of --out.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one chooses others.")] = 0,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Choose the documents of a pool whose words are worth marking, for `exaudit boundary`.

    Every word has the model's decision as its label, to be corrected. Then set `marked` to true in each document, and
    leave `stands_for` as it is: it tells how many documents of the pool one was chosen for.
    """
    from exaudit.cli.outputs import check_output, output
    from exaudit.errors import SettingError
    from exaudit.model.folder import load_model
    from exaudit.model.suggestion import suggest

    as_ = as_ or ("conll" if out is not None and out.suffix in (".conll", ".tsv") else "jsonl")
    if as_ not in ("jsonl", "conll"):
        raise SettingError(f"--as is jsonl or conll, not {as_!r}")
    if count < 1:
        raise SettingError(f"`count` is {count}; it must be 1 or more")
    check_output(out, model, file, reading.token_labels)
    if out is not None and out.is_file() and BY_HAND.search(out.read_text("utf-8", errors="replace")):
        raise SettingError(f"{out} has documents whose words a person has marked; write to another file")
    documents = reading.read(file)
    loaded = load_model(model, device=device, encoder=encoder)
    chosen = suggest(loaded, with_notes(loaded, documents), count, seed=seed)
    with output(out) as stream:
        for one in chosen:
            stream.write(
                visible(one.to_conll()) + "\n" if as_ == "conll" else json_text(one.to_json()) + "\n"
            )
    for one in chosen:
        say(f"{one.scores.document.id}: {one.why}")
    if len(chosen) < count:
        say(f"the pool has only {len(chosen):,} documents that are not much alike")
    separator = " --label-separator '|'" if as_ == "conll" and loaded.labels.kind == "multilabel" else ""
    where = "them" if out is None or str(out) == "-" else str(out)
    say(
        f"{len(chosen):,} of {len(documents):,} documents chosen; correct the labels of their words in {where}, set "
        f"marked to true, then: exaudit boundary {model} FILE{separator}"
    )
