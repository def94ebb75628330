"""exaudit train: from a file of labelled documents to a model folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit.cli.many import RayAt, Workers, pool_at
from exaudit.cli.options import Device, say, tuning_line
from exaudit.cli.reading import PANEL, Reading, reads

if TYPE_CHECKING:
    from exaudit.data.document import Document
    from exaudit.model.model import Model
    from exaudit.model.settings import Settings

__all__ = ["train"]

ENCODER, HEAD, TRAINING, DECISIONS, FILES = "Encoder", "Head", "Training", "Decisions", "Files"
WORSE = 0.01  # of F1 on the dev documents: less is not a clear difference


@reads
def train(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model folder to write.")],
    reading: Reading,
    dev: Annotated[
        Path | None, typer.Option(help="Documents for choosing the epoch; by default a tenth of FILE.")
    ] = None,
    loss: Annotated[str, typer.Option(help="document, min-max or token.")] = "document",
    positive: Annotated[
        str | None, typer.Option(help="The positive class; of several, the one to tell from the rest.")
    ] = None,
    tokens: Annotated[
        str,
        typer.Option(
            metavar="words|whitespace",
            help="How texts are cut: into words, punctuation and HTML apart; or at white space.",
            rich_help_panel=PANEL,
        ),
    ] = "words",
    encoder: Annotated[
        str, typer.Option(help="minilm, a folder, a hub name, or none for word embeddings only.")
    ] = "minilm",
    tune_encoder: Annotated[
        bool, typer.Option("--tune-encoder", help="Fine-tune the Transformer first.")
    ] = False,
    init: Annotated[
        Path | None, typer.Option(help="A model folder to go on from: encoder, words and weights.")
    ] = None,
    seed: Annotated[int, typer.Option(help="One seed for everything random.")] = 0,
    device: Device = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace a model; one with a support set is kept beside it, as OUT.bak-1."
        ),
    ] = False,
    layers: Annotated[
        str | None, typer.Option(help="Hidden layers to use, as in 3,4,5,6 or 3-6.", rich_help_panel=ENCODER)
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(help="Cut documents after so many word pieces.", rich_help_panel=ENCODER)
    ] = None,
    pretrain: Annotated[
        bool | None,
        typer.Option(
            help="Before tuning, pre-train on synthetic errors, or not; by default, if that tells the dev documents "
            "apart (with --loss token: not).",
            rich_help_panel=ENCODER,
        ),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            help="What the encoder reads in: float32, bfloat16, or auto: bfloat16 on CPUs and GPUs that have it, "
            "float32 elsewhere, with --recipe paper, and while the encoder is tuned on a GPU.",
            rich_help_panel=ENCODER,
        ),
    ] = "auto",
    cache: Annotated[
        str | None,
        typer.Option(
            help="Folder of the feature cache; '' keeps none.", metavar="<path>", rich_help_panel=ENCODER
        ),
    ] = None,
    filters: Annotated[int, typer.Option(help="Filters of each width (M).", rich_help_panel=HEAD)] = 1000,
    widths: Annotated[
        str, typer.Option(help="Filter widths (Q), as in 1 or 3,4,5.", rich_help_panel=HEAD)
    ] = "1",
    pool: Annotated[
        str | None,
        typer.Option(help="max, or none to score each token by its own filters.", rich_help_panel=HEAD),
    ] = None,
    passage: Annotated[
        int | None,
        typer.Option(
            help="Word pieces of a passage: a longer document has a max-pool for each (256; 0, one over the whole "
            "document, with --recipe paper and --tune-encoder).",
            rich_help_panel=HEAD,
        ),
    ] = None,
    dropout: Annotated[float, typer.Option(help="On the pooled output.", rich_help_panel=HEAD)] = 0.5,
    vocabulary: Annotated[
        int, typer.Option(help="Words with a trainable embedding; 0 for none.", rich_help_panel=HEAD)
    ] = 7500,
    word_dimension: Annotated[
        int, typer.Option(help="Width of the word embeddings.", rich_help_panel=HEAD)
    ] = 300,
    word_vectors: Annotated[
        Path | None,
        typer.Option(help="A word2vec or GloVe file to start them from.", rich_help_panel=HEAD),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="How often the head sees the documents; by default 12, or a few on a tuned encoder.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    min_max: Annotated[
        str | None,
        typer.Option(
            metavar="words|padded",
            help="The min-max loss over the words, as in the paper's equations (the default), or padded, as in its "
            "code (the default with --recipe paper): padding takes part with a score of 0.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Documents a step.", rich_help_panel=TRAINING)] = 50,
    learning_rate: Annotated[float, typer.Option(help="Of Adadelta.", rich_help_panel=TRAINING)] = 1.0,
    recipe: Annotated[
        str,
        typer.Option(
            help="stable (the default), or paper, to the letter of its code: last four layers, constant rate, single "
            "best epoch, boundaries at zero.",
            rich_help_panel=TRAINING,
        ),
    ] = "stable",
    select: Annotated[
        str | None,
        typer.Option(
            help="Choose the epoch by f1, accuracy, loss, token-f0.5 or linear-f1 (by the final linear layer, as in "
            "the paper's code) on dev.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            metavar="f0.5|f1|documents|zero",
            help="Where a word is flagged: f0.5 for few and right ones (the default after document labels), f1 for "
            "right and missed ones alike, documents where one word decides, or zero, as in the paper. `exaudit "
            "boundary` moves it later.",
            rich_help_panel=DECISIONS,
        ),
    ] = None,
    backup: Annotated[
        bool,
        typer.Option(
            help="With --overwrite, keep a model that has a support set, or files of yours, as OUT.bak-1, or not.",
            rich_help_panel=FILES,
        ),
    ] = True,
    ray: RayAt = None,
    workers: Workers = None,
) -> None:
    """Train a model on documents with labels; token labels are needed only for --loss token."""
    from exaudit._files import make_folder, sync
    from exaudit.batch.encoding import encode_ahead
    from exaudit.errors import SettingError
    from exaudit.model.folder import load_model, save_model
    from exaudit.model.options import RunOptions
    from exaudit.model.settings import Settings
    from exaudit.model.train import train as fit

    settings = Settings(
        tokens=tokens,
        encoder=encoder,
        layers=_numbers(layers, "--layers") if layers else None,
        max_length=max_length,
        tune_encoder=tune_encoder,
        pretrain=pretrain,
        vocabulary=vocabulary,
        word_dimension=word_dimension,
        word_vectors=None if word_vectors is None else str(word_vectors),
        filters=filters,
        widths=_numbers(widths, "--widths"),
        dropout=dropout,
        pool=pool,
        passage=passage,
        loss=loss,
        min_max=min_max,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        recipe=recipe,
        boundary=boundary,
        select=select,
        positive=positive,
        seed=seed,
        device=device,
        precision=precision,
        cache=cache,
    )
    _refuse_what_has_no_effect(context, settings, overwrite=overwrite)
    work = _work_folder(out, resume=resume, overwrite=overwrite)
    start = None if init is None else load_model(init, device=device)
    if start is not None:
        _refuse_what_is_inherited(context)
        tokens = start.settings.tokens
    documents = reading.read(file, need_labels=True, tokens=tokens)
    held_out = None if dev is None else reading.read_beside(dev, need_labels=True, tokens=tokens)
    say(
        f"{len(documents):,} documents for training, {len(held_out) if held_out else 'a tenth of them'} for dev"
    )
    if (
        held_out
        and len({str(document.label) for document in held_out}) == 1
        and held_out[0].label is not None
    ):
        say(
            f"warning: all dev documents are of class {held_out[0].label!r}, so they cannot tell which epoch is best, "
            "nor where the boundaries belong; give some of every class"
        )
    if note := _note_on_language(encoder, start, documents):
        say(f"note: {note}; choose another with `encoder`")
    if ray is not None or workers is not None:
        if start is not None:
            raise SettingError("`ray` encodes ahead for a new model; with `init`, leave it out")
        with pool_at(ray, workers, device) as cluster:
            if cluster is not None:
                encode_ahead(settings, [*documents, *(held_out or ())], cluster.map)
    if work.exists() and not resume:
        shutil.rmtree(work)
    there = next(folder for folder in work.parents if folder.exists())
    make_folder(work)
    options = RunOptions(work, resume, lambda record: _report(record, settings.head_epochs))
    try:
        model = fit(settings, documents, held_out, init=start, options=options)
        aside = save_model(model, out, overwrite=overwrite, backup=backup)
    except BaseException:
        if any(work.iterdir()):
            say(f"what was trained so far is kept in {work}; go on with the same command and --resume")
        else:
            shutil.rmtree(work, ignore_errors=True)
            for folder in work.parents[: work.parents.index(there)]:
                folder.rmdir()
        raise
    shutil.rmtree(work)  # only now: the model is on the disk
    sync(work.parent)
    for line in _closing(model):
        say(line)
    if aside is not None:
        say(f"the model that was there, with its support set, is now {aside}")
    say(f"model written to {out}\nnext: exaudit label {out} FILE --out labelled.jsonl")


def _note_on_language(encoder: str, start: Model | None, documents: list[Document]) -> str | None:
    from exaudit.encode.language import note_on_language
    from exaudit.encode.locate import locate

    if start is not None:
        return start.note_on_language(documents)
    if encoder == "none":
        return None
    return note_on_language(locate(encoder), (document.tokens for document in documents))


def _refuse_what_is_inherited(context: typer.Context) -> None:
    """Options that could have no effect are better refused than forgotten."""
    from exaudit.errors import SettingError
    from exaudit.model.settings import INHERITED

    for name in INHERITED:
        if _is_given(context, name):
            raise SettingError(
                f"`{name}` cannot go with `init`: the model to go on from has its own; leave it out"
            )


def _refuse_what_has_no_effect(context: typer.Context, settings: Settings, *, overwrite: bool) -> None:
    """What the library cannot tell from a default."""
    from exaudit.errors import SettingError

    no_encoder, tuned = settings.encoder == "none", settings.tune_encoder and settings.encoder != "none"
    cases = {
        "`encoder=none` runs no encoder": (no_encoder, ["precision", "cache"]),
        "`tune_encoder` leaves word embeddings out": (tuned, ["vocabulary", "word_dimension"]),
        "`vocabulary=0` leaves word embeddings out": (settings.vocabulary == 0, ["word_dimension"]),
        "`word_vectors` have a width of their own": (settings.word_vectors is not None, ["word_dimension"]),
    }
    for why, (holds, names) in cases.items():
        for name in names:
            if holds and _is_given(context, name):
                raise SettingError(f"{why}: `{name}` has no effect; leave it out")
    if not overwrite and _is_given(context, "backup"):
        option = "--backup" if context.params["backup"] else "--no-backup"
        raise SettingError(f"without `overwrite` no model is replaced: {option} has no effect; leave it out")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _closing(model: Model) -> list[str]:
    """What training ended with, and what to look out for."""
    from exaudit.data.labels import plain_positive
    from exaudit.model.trust import sentences

    labels, record = model.labels, model.record
    lines = [_kept(record)]
    if labels.kind == "binary" and model.settings.positive is None and plain_positive(labels.names) is None:
        negative, positive = labels.names
        lines.append(
            f"the words of {positive!r} are marked, as the positive class; for those of {negative!r}, train with "
            f"--positive {negative!r}"
        )
    if record["initial"] is not None:
        before, after = (part["document"]["f1"] for part in (record["initial"]["dev"], record["dev"]))
        if after < before - WORSE:
            lines.append(
                f"warning: the dev documents are decided worse than before (F1 {100 * before:.1f}, now "
                f"{100 * after:.1f}); the model to go on from may be the better one"
            )
    names = [repr(view.positive) for view in labels.views]
    return lines + sentences(record.get("words"), model.word_boundaries, names)


def _kept(record: dict[str, Any]) -> str:
    tuning = record["tuning"] or {}
    pretraining = tuning.get("pretraining")
    after = ""
    if pretraining:
        order = f"({100 * pretraining['dev_order']:.1f}% of pairs of dev documents in the right order"
        if pretraining["kept"]:
            after = f"after pre-training on synthetic errors {order}), "
        else:
            needed = f"{100 * pretraining['needed']:.0f}%"
            alone = pretraining.get("trial_alone", False)
            when, instead = (" after a trial", "does it in full") if alone else ("", "keeps it")
            found = f"{order}, less than {needed}; --pretrain {instead}"
            after = f"pre-training on synthetic errors dropped{when} {found}), "
    if "kept" not in tuning:
        return f"{after}kept epoch {record['history']['best']}"
    merits = ", ".join(f"{who} {100 * merit:.1f}" for who, merit in tuning["dev"].items())
    return f"{after}kept the {tuning['kept']} (dev documents: {merits})"


def _work_folder(out: Path, *, resume: bool, overwrite: bool) -> Path:
    """Where a run keeps its checkpoints until the model is whole."""
    from exaudit.errors import SettingError
    from exaudit.model.folder import check_place

    check_place(out, overwrite=overwrite)
    work = out.with_name(out.name + ".partial")
    if work.exists() and not (resume or overwrite):
        raise SettingError(
            f"{work} holds a run that was stopped; go on with `resume`, or start anew with `overwrite`"
        )
    if resume and not work.exists():
        raise SettingError(f"there is nothing to resume: {work} does not exist")
    return work


def _report(record: dict[str, Any], epochs: int) -> None:
    if line := tuning_line(record):
        say(line)
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
