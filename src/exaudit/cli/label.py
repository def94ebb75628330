"""exaudit label: a decision for every document and for every word of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exaudit._escape import json_text
from exaudit.cli.auditor import admission_rule, chosen_rule, opened, refuse_without_rule
from exaudit.cli.options import (
    Admit,
    AdmitRule,
    Device,
    Encoder,
    Model,
    Precision,
    RuleName,
    Stream,
    SupportAt,
    UseKNN,
    say,
    with_notes,
)
from exaudit.cli.reading import Reading, reads

__all__ = ["label"]


@reads
def label(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents, with or without labels.")],
    reading: Reading,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; standard output by default.")
    ] = None,
    rule: RuleName = None,
    knn: UseKNN = False,
    admit: Admit = False,
    admit_rule: AdmitRule = None,
    support: SupportAt = None,
    stream: Stream = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
) -> None:
    """Write one JSON object a document: its decision and score, and those of every word.

    With --rule, --knn or --admit the words are decided by, or checked against, the exemplars of the support set.
    """
    from exaudit.cli.outputs import check_output, output
    from exaudit.model.folder import load_model

    chosen, admitting = chosen_rule(rule, knn), admission_rule(admit, admit_rule)
    check_output(out, model, support, file, reading.token_labels)
    documents = reading.iterate(file)
    if chosen is None and not admit:
        refuse_without_rule(support, stream)
        loaded = load_model(model, device=device, encoder=encoder, precision=precision)
        with output(out) as stream_out:
            for scores in loaded.iter_label(with_notes(loaded, documents)):
                stream_out.write(json_text(scores.to_json(loaded.labels)) + "\n")
        return
    with opened(
        model, support, device=device, encoder=encoder, precision=precision, stream=stream
    ) as auditor:
        promising = auditor.promises(admitting)
        if promising and (change := auditor.check_promise(keep=False)):
            say(change)
        stale = auditor.staleness() if admit and not promising else None
        told = with_notes(auditor.model, documents)
        labelled = auditor.iter_label(told, rule=chosen, admit=admitting, nearest=True)
        with output(out) as stream_out:
            for audited in labelled:
                if stale is not None:
                    stale.count(audited)
                stream_out.write(json_text(audited.to_json(auditor.labels)) + "\n")
            auditor.wait_verified()  # before a file is put in its place
        if stale is not None:
            say(stale.render())
        if promising and auditor.promise is not None:
            for sentence in auditor.promise.sentences(auditor.labels):
                say(sentence)
