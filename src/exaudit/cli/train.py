"""exaudit train: from a file of labelled documents to a model folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit.cli.options import Device, say
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.data.labels import LabelNames

__all__ = ["train"]


@reads
def train(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model folder to write.")],
    reading: Reading,
    dev: Annotated[
        Path | None, typer.Option(help="Documents for choosing the epoch; by default a tenth of FILE.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option(help="A model folder to go on from: encoder, words and weights.")
    ] = None,
    loss: Annotated[str, typer.Option(help="document, min-max or token.")] = "document",
    positive: Annotated[str | None, typer.Option(help="The name of the positive class.")] = None,
    encoder: Annotated[
        str, typer.Option(help="minilm, a folder, a hub name, or none for word embeddings only.")
    ] = "minilm",
    layers: Annotated[str | None, typer.Option(help="Hidden layers to use, as in 3,4,5,6 or 3-6.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Cut documents after so many word pieces.")] = None,
    tune_encoder: Annotated[
        bool, typer.Option("--tune-encoder", help="Fine-tune the Transformer first.")
    ] = False,
    rehearse: Annotated[
        bool | None,
        typer.Option(
            help="Let the encoder first learn to spot changed words, or not; by default, if that tells the dev "
            "documents apart (with --loss token: only with --clean)."
        ),
    ] = None,
    clean: Annotated[
        Path | None,
        typer.Option(
            help="Texts without a positive word, one a line, to rehearse with before --loss token --tune-encoder."
        ),
    ] = None,
    teachers: Annotated[
        int,
        typer.Option(min=1, help="That a tuned student of document labels learns from; more take longer."),
    ] = 1,
    filters: Annotated[int, typer.Option(help="Filters of each width (M).")] = 1000,
    widths: Annotated[str, typer.Option(help="Filter widths (Q), as in 1 or 3,4,5.")] = "1",
    vocabulary: Annotated[int, typer.Option(help="Words with a trainable embedding; 0 for none.")] = 7500,
    word_dimension: Annotated[int, typer.Option(help="Width of the word embeddings.")] = 300,
    word_vectors: Annotated[
        Path | None, typer.Option(help="A word2vec or GloVe file to start them from.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="max, or none to score each token by its own filters.")
    ] = None,
    dropout: Annotated[float, typer.Option(help="On the pooled output.")] = 0.5,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="How often the head sees the documents; by default 12, or a few on a tuned encoder."
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Documents a step.")] = 50,
    learning_rate: Annotated[float, typer.Option(help="Of Adadelta.")] = 1.0,
    recipe: Annotated[
        str, typer.Option(help="stable (the default), or paper: constant rate, single best epoch.")
    ] = "stable",
    select: Annotated[
        str | None, typer.Option(help="Choose the epoch by f1, accuracy, loss or token-f0.5 on dev.")
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|documents|zero",
            help="Token-labelled documents to tune the boundary of the tokens on; or documents, the labels of the dev "
            "documents (the default after document labels), or zero.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="One seed for everything random.")] = 0,
    device: Device = "auto",
    bf16: Annotated[bool, typer.Option("--bf16", help="Run the encoder in bfloat16 on a GPU.")] = False,
    cache: Annotated[Path | None, typer.Option(help="Folder of the feature cache.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model folder.")] = False,
) -> None:
    """Train a model on documents with labels; token labels are needed only for --loss token."""
    from exaudit.data.labels import LabelNames
    from exaudit.errors import DataError
    from exaudit.model.fitting import epochs_of
    from exaudit.model.labeler import Labeler

    work = _work_folder(out, resume=resume, overwrite=overwrite)
    documents = reading.read(file, need_labels=True)
    held_out = None if dev is None else reading.read_beside(dev, need_labels=True)
    named = boundary if boundary in ("documents", "zero") else None
    labelled = None if boundary is None or named else reading.read_beside(Path(boundary))
    if boundary is not None and labelled is not None and any(d.token_labels is None for d in labelled):
        raise DataError(
            "the boundary of the tokens is tuned with token labels, and some documents have none", boundary
        )
    texts = None
    if clean is not None:
        texts = _read_clean(clean, reading, LabelNames.infer(documents, positive=positive, path=file))
    start = None if init is None else Labeler.load(init, device=device)
    if start is not None:
        _refuse_what_is_inherited(context)
    labeler = Labeler(
        encoder=encoder,
        layers=_numbers(layers, "--layers") if layers else None,
        max_length=max_length,
        tune_encoder=tune_encoder,
        rehearse=rehearse,
        teachers=teachers,
        vocabulary=vocabulary,
        word_dimension=word_dimension,
        word_vectors=None if word_vectors is None else str(word_vectors),
        filters=filters,
        widths=_numbers(widths, "--widths"),
        dropout=dropout,
        pool=pool,
        loss=loss,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        recipe=recipe,
        boundary=named,
        select=select,
        positive=positive,
        seed=seed,
        device=device,
        precision="bfloat16" if bf16 else "float32",
        cache=None if cache is None else str(cache),
    )
    say(
        f"{len(documents):,} documents for training, {len(held_out) if held_out else 'a tenth of them'} for dev"
        + (f", {len(texts):,} clean texts" if texts else "")
    )
    work.mkdir(parents=True, exist_ok=True)
    try:
        labeler.fit(
            documents,
            dev=held_out,
            init=start,
            clean=texts,
            work=work,
            resume=resume,
            report=lambda record: _report(record, epochs_of(labeler)),
        )
        if labelled is not None:
            labeler.tune_boundary(labelled)
            say(f"decision boundary of the tokens: {labeler.offset_:.3f}")
        if overwrite and out.exists():
            shutil.rmtree(out)
        labeler.save(out)
    except BaseException:
        if any(work.iterdir()):
            say(f"what was trained so far is kept in {work}; go on with the same command and --resume")
        else:
            shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work)
    say(
        f"{_kept(labeler.record_)}; model written to {out}\nnext: exaudit label {out} FILE --out labelled.jsonl"
    )


def _refuse_what_is_inherited(context: typer.Context) -> None:
    """Options that could have no effect are better refused than forgotten."""
    from exaudit.errors import SettingError
    from exaudit.model.fitting import INHERITED

    for name in INHERITED:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise SettingError(
                f"{option} cannot go with --init: the model to go on from has its own; leave it out"
            )


def _kept(record: dict[str, Any]) -> str:
    """What training ended with."""
    tuning = record["tuning"] or {}
    rehearsal = tuning.get("rehearsal")
    after = ""
    if rehearsal:
        after = f"({100 * rehearsal['dev_order']:.0f}% of pairs of dev documents in the right order"
        if rehearsal["kept"]:
            after = f"after a rehearsal {after}), "
        else:
            needed = f"{100 * rehearsal['needed']:.0f}%"
            after = f"rehearsal dropped {after}, less than {needed}; --rehearse keeps it all the same), "
    if "kept" not in tuning:
        return f"{after}kept epoch {record['history']['best']}"
    merits = ", ".join(f"{who} {100 * merit:.1f}" for who, merit in tuning["dev"].items())
    return f"{after}kept the {tuning['kept']} (dev documents: {merits})"


def _read_clean(path: Path, reading: Reading, names: LabelNames) -> list[tuple[str, ...]]:
    """Texts of a file of any kind, whatever FILE is, but with its columns; plain text, if it does not tell its kind."""
    from exaudit.model.rehearsal import clean_texts

    documents = reading.read_beside(path, format=None, columns=None, id_column="", untold="text")
    return clean_texts(documents, names, path=path)


def _work_folder(out: Path, *, resume: bool, overwrite: bool) -> Path:
    """Where a run keeps its checkpoints until the model is whole."""
    from exaudit.errors import SettingError

    if out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise SettingError(f"{out} exists already; choose another --out, or give --overwrite")
    work = out.with_name(out.name + ".partial")
    if work.exists() and not resume:
        if not overwrite:
            raise SettingError(
                f"{work} holds a run that was stopped; go on with --resume, or start anew with --overwrite"
            )
        shutil.rmtree(work)
    if resume and not work.exists():
        raise SettingError(f"there is nothing to resume: {work} does not exist")
    return work


def _report(record: dict[str, Any], epochs: int) -> None:
    if "tuning_epoch" in record:
        say(f"tuning ({record['tuning']}), epoch {record['tuning_epoch']}  loss {record['loss']:.4f}")
        return
    document = record["document"]
    line = f"epoch {record['epoch']:>2}/{epochs}  loss {record['loss']:.4f}  dev f1 {document['f1']:.4f}"
    line += f"  accuracy {document['accuracy']:.4f}"
    if "token" in record:
        line += f"  token f0.5 {record['token']['f0.5']:.4f}"
    say(line)


def _numbers(text: str, option: str) -> tuple[int, ...]:
    """3,4,5 or 3-5 as numbers."""
    from exaudit.errors import SettingError

    numbers: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    except ValueError:
        raise SettingError(f"{option} is {text!r}; give numbers, as in 3,4,5 or 3-6") from None
    return tuple(numbers)
