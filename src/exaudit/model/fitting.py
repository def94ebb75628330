"""From documents to a trained head: vocabulary, features, tuning, training, in that order."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from exaudit._device import pick_device
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.errors import DataError, SettingError
from exaudit.head.training import TrainingConfig, evaluate, scored, train
from exaudit.metrics import best_offset, stable_offset
from exaudit.model.assembly import Part, build_vocabulary, copy_head, load_encoder, new_head
from exaudit.model.rehearsal import clean_texts, rehearsed
from exaudit.model.teaching import taught
from exaudit.model.tuned import Plan, tuned

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["INHERITED", "epochs_of", "fit"]

# What a model that goes on from another has from it.
INHERITED = (
    "encoder", "layers", "max_length", "vocabulary", "word_dimension", "word_vectors", "filters", "widths", "positive",
)  # fmt: skip
BETA = 0.5  # of the words' boundary: those who check words one by one prefer few and right ones


def fit(
    labeler: Labeler,
    documents: list[Document],
    dev: list[Document] | None,
    *,
    init: Labeler | None,
    plan: Plan,
    clean: Sequence[Document] = (),
) -> None:
    """Train and set the fitted attributes."""
    began = time.monotonic()
    if init is not None:
        labeler.set_params(**{name: getattr(init, name) for name in INHERITED})
    config = TrainingConfig(
        loss=labeler.loss,
        epochs=epochs_of(labeler),
        batch_size=labeler.batch_size,
        learning_rate=labeler.learning_rate,
        recipe=labeler.recipe,
        select=labeler.select,
        seed=labeler.seed,
    )
    boundary = _boundary(labeler, config)
    _check_tuning(labeler, init, clean=bool(clean))
    device = pick_device(labeler.device)
    names = LabelNames.infer(documents, positive=labeler.positive) if init is None else init.names_
    if dev is None:
        documents, dev = _hold_out(documents, names, labeler.seed)
    vocabulary = build_vocabulary(labeler, documents) if init is None else init.vocabulary_
    data, chooser = (Part.of(part, names, vocabulary) for part in (documents, dev))
    texts = clean_texts(clean, names)
    encoder = (
        init.encoder_ if init is not None else None if labeler.encoder == "none" else load_encoder(labeler)
    )
    if init is not None and encoder is not None and labeler.tune_encoder:
        encoder = encoder.twin()  # the model to go on from stays as it is

    tuning = None
    if labeler.tune_encoder and encoder is None:
        raise SettingError("there is no encoder to tune: --tune-encoder cannot go with --encoder none")
    if labeler.tune_encoder and encoder is not None and _teaches(labeler, init):
        best, history = taught(labeler, encoder, data, chooser, config, plan)
        encoder, head, tuning = best.encoder, best.head, best.record
        held_out = chooser.encoded(labeler, encoder)
    else:
        checkpoint = None if plan.work is None else plan.work / "checkpoint.safetensors"
        head = (
            new_head(labeler, encoder, vocabulary, device) if init is None else copy_head(init.head_, labeler)
        )
        if labeler.tune_encoder and encoder is not None:
            rehearsal = None
            if clean or labeler.rehearse:
                encoder, rehearsal = rehearsed(labeler, encoder, data, chooser, plan, clean=texts)
            best = tuned(labeler, encoder, head, data, plan)
            encoder, head, tuning = best.encoder, best.head, {**best.record, "rehearsal": rehearsal}
            checkpoint = plan.checkpoint("head", encoder)
            if config.loss == "document":  # a new head learns more from the tuned features than the old one
                head = new_head(labeler, encoder, vocabulary, device)
        seen, held_out = (part.encoded(labeler, encoder) for part in (data, chooser))
        history = train(
            head, seen, held_out, config, checkpoint=checkpoint, resume=plan.resume, report=plan.report
        ).to_json()

    labeler.names_, labeler.vocabulary_, labeler.encoder_ = names, vocabulary, encoder
    labeler.head_, labeler.by_tokens_, labeler.offset_ = head.eval(), config.by_tokens, 0.0
    labeler.document_offset_ = 0.0
    if config.loss == "token" and labeler.boundary != "zero":  # tuned on dev, as in the paper
        scores = np.concatenate([s for _, s in scored(head, held_out)])
        labeler.offset_ = best_offset(scores, np.concatenate(held_out.token_targets or []))
    elif not config.by_tokens:
        found = [(logit, own.max()) for logit, own in scored(head, held_out)]
        outputs, largest = np.array(found, dtype=np.float64).T
        if config.stable and config.criterion == "f1":
            labeler.document_offset_ = stable_offset(outputs, held_out.targets)
        if boundary == "documents":
            labeler.offset_ = stable_offset(largest, held_out.targets, BETA)
    labeler.record_ = {
        "documents": len(documents),
        "dev_documents": len(dev),
        "criterion": config.criterion,
        "history": history,
        "dev": evaluate(
            head,
            held_out,
            by_tokens=config.by_tokens,
            offset=labeler.offset_,
            document_offset=labeler.document_offset_,
        ),
        "boundary": {"level": boundary, "beta": BETA} if boundary == "documents" else None,
        "tuning": tuning,
        "own_encoder": tuning is not None or (init is not None and init.record_["own_encoder"]),
        "initial": None if init is None else init.record_.get("loss", "document"),
        "loss": config.loss,
        "seconds": round(time.monotonic() - began, 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device),
    }


def _boundary(labeler: Labeler, config: TrainingConfig) -> str:
    if labeler.boundary not in (None, "documents", "zero"):
        raise SettingError(f"the boundary of the words is documents or zero, not {labeler.boundary!r}")
    if config.by_tokens:  # their own losses put it at zero, or token labels tune it
        return "zero"
    return labeler.boundary or ("documents" if config.stable else "zero")


def _check_tuning(labeler: Labeler, init: Labeler | None, *, clean: bool) -> None:
    """Refuse what could have no effect, or two wishes at once."""
    loss = labeler.loss if labeler.tune_encoder and _plain(labeler, init) else None
    but = "and not with --init, --pool max or filters wider than one"
    if labeler.teachers < 1 or (labeler.teachers > 1 and loss != "document"):
        raise SettingError(
            f"teachers is {labeler.teachers}; several go with --tune-encoder and document labels, {but}"
        )
    if labeler.rehearse and loss not in ("document", "token"):
        raise SettingError(f"--rehearse goes with --tune-encoder and document or token labels, {but}")
    if clean and loss != "token":
        raise SettingError(f"clean texts (--clean) go with --tune-encoder and --loss token, {but}")
    if clean and labeler.rehearse is not None and not labeler.rehearse:
        raise SettingError("clean texts are for a rehearsal: leave --clean or --no-rehearse out")


def _plain(labeler: Labeler, init: Labeler | None) -> bool:
    """Whether the model is new, and scores each word by itself."""
    return init is None and tuple(labeler.widths) == (1,) and labeler.pool in (None, "none")


def _teaches(labeler: Labeler, init: Labeler | None) -> bool:
    """Whether a teacher and a student are what tuning means here: document labels, and words by themselves."""
    return labeler.loss == "document" and _plain(labeler, init)


def epochs_of(labeler: Labeler) -> int:
    """The paper's 20, or 12 with a falling rate: longer, the training documents are learnt by heart, and their
    exemplars no longer stand for new ones. Few on a tuned encoder, whose features already hold the answer."""
    if labeler.epochs is not None:
        return labeler.epochs
    if labeler.tune_encoder:
        return 2 if labeler.loss == "token" else 4
    return 12 if labeler.recipe == "stable" else 20


def _hold_out(
    documents: list[Document], names: LabelNames, seed: int
) -> tuple[list[Document], list[Document]]:
    """A tenth of each class, at least one, chosen by the seed."""
    draws = np.random.default_rng([seed, 7])
    chosen: set[int] = set()
    for target in (0, 1):
        mine = [i for i, d in enumerate(documents) if names.document_target(d) == target]
        if len(mine) < 2:
            raise DataError(
                f"only {len(mine)} documents of class {names.name(target)!r}; give more, or a dev file"
            )
        chosen |= set(draws.permutation(mine)[: max(1, len(mine) // 10)].tolist())
    return [d for i, d in enumerate(documents) if i not in chosen], [documents[i] for i in sorted(chosen)]
