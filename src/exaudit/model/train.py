"""From documents to a model: labels, vocabulary, features, the recipe that the settings ask for, boundaries."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from exaudit._device import pick_device
from exaudit._files import make_folder
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet, Value
from exaudit.data.words import cut_like
from exaudit.errors import SettingError
from exaudit.head.training import evaluate
from exaudit.model import recipes
from exaudit.model.boundaries import boundaries_of
from exaudit.model.digests import pack
from exaudit.model.faithfulness import words_record
from exaudit.model.job import Job, Trained
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.parts import build_vocabulary, copy_head, load_encoder
from exaudit.model.settings import Settings
from exaudit.model.split import Split, hold_out

__all__ = ["train"]

SEEN = 10_000  # documents that tell how their tokens were cut


def train(
    settings: Settings,
    documents: list[Document],
    dev: list[Document] | None = None,
    *,
    init: Model | None = None,
    values: Mapping[str, Value] | None = None,
    options: RunOptions | None = None,
) -> Model:
    """Train a model on documents, choosing the epoch on `dev`, or on a tenth of the documents where there is none.

    Parameters
    ----------
    settings
        How to train.
    documents
        Documents with labels.
    dev
        Documents for choosing the epoch.
    init
        A model to start from; it provides encoder, vocabulary, classes and weights, and their settings.
    values
        The labels as the caller gave them, by name.
    options
        Checkpoints, progress reports and grouping; the folder of `work` is made where it is not there.
    """
    began = time.monotonic()
    settings = _as_cut(settings, documents) if init is None else settings.inheriting(init.settings)
    _check_effects(settings, init)
    pick_device(settings.device)
    options = options or RunOptions()
    if options.work is not None:
        make_folder(options.work)
    documents = [document.recut(settings.tokens) for document in documents]
    dev = None if dev is None else [document.recut(settings.tokens) for document in dev]
    labels = LabelSet.infer(documents, settings.positive, values=values) if init is None else init.labels
    if dev is None:
        documents, dev = hold_out(documents, labels, settings.seed)
    vocabulary = build_vocabulary(settings, documents) if init is None else init.vocabulary
    job = Job(
        settings,
        options,
        labels,
        Split.of(documents, labels, vocabulary),
        Split.of(dev, labels, vocabulary),
        vocabulary,
    )
    trained = _run(job, init)
    boundaries = boundaries_of(job, trained)
    training = settings.training()
    record = {
        "documents": len(documents),
        "dev_documents": len(dev),
        "digests": pack([*documents, *dev], "" if init is None else init.record.get("digests", "")),
        "criterion": training.criterion,
        "history": trained.history,
        "dev": evaluate(
            trained.head,
            trained.dev,
            by_tokens=training.by_tokens,
            word_boundaries=boundaries.words,
            document_boundaries=boundaries.documents,
            confidence=boundaries.confidence,
        ),
        "boundary": boundaries.record,
        "tuning": trained.tuning,
        "own_encoder": trained.tuning is not None or (init is not None and init.record["own_encoder"]),
        "initial": None if init is None else _initial(job, init),
        "loss": settings.loss,
        "seconds": round(time.monotonic() - began, 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(pick_device(settings.device)),
        "precision": None if trained.encoder is None else trained.encoder.dtype,
    }
    model = Model(
        settings=settings,
        labels=labels,
        head=trained.head.eval(),
        encoder=trained.encoder,
        vocabulary=vocabulary,
        by_tokens=training.by_tokens,
        word_boundaries=boundaries.words,
        document_boundaries=boundaries.documents,
        record=record,
        negative_boundary=boundaries.negative,
        confidence=boundaries.confidence,
    )
    return replace(model, record=record | {"words": words_record(model, dev, trained.dev)})


def _run(job: Job, init: Model | None) -> Trained:
    """The recipe that the settings ask for."""
    settings = job.settings
    if init is None:
        encoder, head = load_encoder(settings), None
    else:
        encoder, head = init.encoder, copy_head(init.head, settings)
        encoder = None if encoder is None else encoder.at(settings.encoder_precision)
    if not settings.tune_encoder:
        return recipes.frozen(job, encoder, head)
    assert encoder is not None, "checked before"
    if init is None and settings.loss == "document" and settings.scores_words_alone:
        return recipes.taught(job, encoder)
    return recipes.tuned(job, encoder if init is None else encoder.copy(), head)  # init's stays as it is


def _as_cut(settings: Settings, documents: Sequence[Document]) -> Settings:
    """The settings with texts cut as the tokens are that all documents came with: a model that learnt from `amazing.`
    must not be handed `amazing` later."""
    if settings.tokens != "words" or not all(d.cut is None or d.token_labels is not None for d in documents):
        return settings
    return replace(settings, tokens=cut_like(token for d in documents[:SEEN] for token in d.tokens))


def _check_effects(settings: Settings, init: Model | None) -> None:
    """Refuse what could have no effect."""
    if settings.encoder == "none":
        if settings.tune_encoder:
            raise SettingError("there is no encoder to tune: `tune_encoder` cannot go with `encoder=none`")
        idle = (("layers", [None]), ("max_length", [None]), ("precision", ["auto", "float32"]))
        for name, values in idle:
            if getattr(settings, name) not in values:
                raise SettingError(f"`{name}` is about an encoder, and `encoder=none` has none; leave it out")
    if settings.vocabulary == 0 and settings.word_vectors is not None:
        raise SettingError("`word_vectors` are for words with an embedding, and `vocabulary=0` has none")
    if settings.boundary not in (None, "zero") and settings.loss != "document":
        raise SettingError(
            f"`boundary={settings.boundary}` goes with `loss=document`; after `loss={settings.loss}` the boundary of "
            "the words is set by that"
        )
    if settings.min_max is not None and settings.loss != "min-max":
        raise SettingError(
            f"`min_max` goes with `loss=min-max`, not with `loss={settings.loss}`; leave it out"
        )
    fits = settings.tune_encoder and settings.loss != "min-max" and settings.scores_words_alone
    if settings.pretrain and (not fits or init is not None):
        raise SettingError(
            "`pretrain` goes with `tune_encoder` and document or token labels, and not with `init`, `pool=max` or "
            "filters wider than one"
        )


def _initial(job: Job, init: Model) -> dict[str, Any]:
    """What the model to go on from was trained by, and how it does on the same dev documents."""
    before = evaluate(
        init.head,
        job.dev.encoded(job.settings, init.encoder),
        by_tokens=init.by_tokens,
        word_boundaries=init.word_boundaries,
        document_boundaries=init.document_boundaries,
        confidence=init.confidence,
    )
    return {"loss": init.record.get("loss", "document"), "dev": before}
