"""exaudit label: a decision for every document and for every word of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit.cli.auditor import admission_rule, chosen_rule, opened, refuse_without_rule
from exaudit.cli.many import OnError, RayAt, Workers, label_many, refuse_alone
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

if TYPE_CHECKING:
    from exaudit.audit import Auditor, DriftWatch, Rule
    from exaudit.batch.answers import Format, Write
    from exaudit.data.labels import LabelSet
    from exaudit.model.scores import Scores

__all__ = ["label"]


@reads
def label(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Documents, with or without labels; also a folder, pattern or address of many files.",
        ),
    ],
    reading: Reading,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Where to write; standard output by default. Of many files, a folder."
        ),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option("--as", help="jsonl or parquet; by default from the ending of --out, or jsonl."),
    ] = None,
    rule: RuleName = None,
    knn: UseKNN = False,
    admit: Admit = False,
    watch_drift: Annotated[
        bool,
        typer.Option(
            "--watch-drift",
            help="Warn once the documents are no longer like the reference, and mark the rest.",
        ),
    ] = False,
    admit_rule: AdmitRule = None,
    support: SupportAt = None,
    stream: Stream = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
    on_error: OnError = "stop",
    ray: RayAt = None,
    workers: Workers = None,
) -> None:
    """Write one JSON object, or row of Parquet, a document: its decision and score, and those of every word.

    With --rule, --knn or --admit the words are decided by, or checked against, the exemplars of the support set. With
    --watch-drift, answers from where drift was noticed have the reason as their `drift`. A promise about the answers
    that --admit lets through is taken back by drift, which is then watched for in any case: nothing more is admitted.

    Many files, or any with --ray, are labelled shard by shard into a folder; run again, the command goes on where it
    was stopped.
    """
    from exaudit.batch.place import WorkerModel
    from exaudit.batch.sources import is_many
    from exaudit.cli.outputs import check_output
    from exaudit.errors import SettingError
    from exaudit.model.folder import load_model

    chosen, admitting = chosen_rule(rule, knn), admission_rule(admit, admit_rule)
    format = _format(as_, out)
    if format == "parquet" and (admit or watch_drift):
        raise SettingError(
            "the answers of --admit and --watch-drift have no columns; write them with --as jsonl"
        )
    if ray is not None or is_many(file):
        if admit or watch_drift:
            raise SettingError(
                "--admit and --watch-drift follow documents in their order, and shards have none; label one file at a "
                "time, without --ray"
            )
        if chosen is None:
            refuse_without_rule(support, stream)
        place = WorkerModel.of(
            model, support=support, encoder=encoder, stream=stream, device=device, precision=precision
        )
        label_many(
            place, file, reading, out, rule=chosen, format=format, ray=ray, workers=workers, on_error=on_error
        )
        return
    refuse_alone(on_error, workers)
    check_output(out, model, support, file, reading.token_labels)
    documents = reading.iterate(file)
    if chosen is None and not admit:
        refuse_without_rule(support, stream)
        loaded = load_model(model, device=device, encoder=encoder, precision=precision)
        watch = None
        if watch_drift:
            with opened(model, device=device, encoder=encoder, precision=precision) as auditor:
                watch = _watch(auditor)
        with _answers(out, format, loaded.labels, None) as write:
            for scores in loaded.iter_label(with_notes(loaded, documents)):
                write(_answer(scores, loaded.labels, watch))
        return
    with opened(
        model, support, device=device, encoder=encoder, precision=precision, stream=stream
    ) as auditor:
        promising = auditor.promises(admitting)
        if promising and (change := auditor.check_promise(keep=False)):
            say(change)
        stale = auditor.staleness() if admit and not promising else None
        watch = _watch(auditor) if watch_drift or promising else None
        told = with_notes(auditor.model, documents)
        labelled = auditor.iter_label(told, rule=chosen, admit=admitting, nearest=True)
        with _answers(out, format, auditor.labels, chosen) as write:
            for audited in labelled:
                if stale is not None:
                    stale.count(audited)
                write(_answer(audited, auditor.labels, watch))
            auditor.wait_verified()  # before a file is put in its place
        if stale is not None:
            say(stale.render())
        if promising and auditor.promise is not None:
            promise = auditor.promise
            if watch is not None and watch.detected:
                promise = promise.withdrawn(f"{watch.reason}, by document {watch.since:,}")
            for sentence in promise.sentences(auditor.labels):
                say(sentence)


def _watch(auditor: Auditor) -> DriftWatch:
    from exaudit.audit import DriftWatch

    return DriftWatch(auditor.drift_reference(), auditor.model)


def _format(name: str | None, out: Path | None) -> Format:
    from exaudit.errors import SettingError

    found = name or ("parquet" if out is not None and out.suffix.lower() in (".parquet", ".pq") else "jsonl")
    if found == "jsonl":
        return "jsonl"
    if found == "parquet":
        return "parquet"
    raise SettingError(f"--as is {found!r}; choose jsonl or parquet")


@contextmanager
def _answers(out: Path | None, format: Format, labels: LabelSet, rule: Rule | None) -> Iterator[Write]:
    """What writes one answer after another: to standard output or any file as JSON, into a plain file as Parquet."""
    from exaudit.batch.answers import json_lines, parquet_rows
    from exaudit.cli.outputs import output, plain_file

    if format == "jsonl":
        with output(out) as stream:
            yield json_lines(stream)
        return
    with plain_file(out) as path, parquet_rows(path, labels, rule) as write:
        yield write


def _answer(scores: Scores, labels: LabelSet, watch: DriftWatch | None) -> dict[str, Any]:
    """The answer; from where drift was noticed, with the reason why it may not be relied on."""
    line = scores.to_json(labels)
    if watch is not None and not watch.detected and watch.see(scores):
        say(
            f"warning: by document {watch.since:,} ({scores.document.id}), they are no longer like the reference: "
            f"{watch.reason}; answers from here on are marked with this as their drift"
        )
    if watch is not None and watch.detected:
        line["drift"] = watch.reason
        if line.get("promise") is not None:
            _withdraw(line, watch.reason)
    return line


def _withdraw(line: dict[str, Any], reason: str | None) -> None:
    """Admit nothing more: what was promised was about documents like those of the reference."""
    line["promise"] = {**line["promise"], "withdrawn": reason}
    for answer in (line, *line["tokens"]):
        if answer.get("admitted") is not None:
            answer |= {"admitted": False, "reason": f"the promise is withdrawn: {reason}"}
