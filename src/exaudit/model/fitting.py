"""From documents to a trained head: vocabulary, features, tuning, training, in that order."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from exaudit._device import pick_device
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.encode.cache import FeatureCache, encode_features
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer, depth
from exaudit.encode.words import Vocabulary, read_vectors
from exaudit.errors import DataError, SettingError
from exaudit.head.labelled import DocumentFeatures, LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.training import TrainingConfig, evaluate, scored, train
from exaudit.head.tuning import TuningConfig, tune
from exaudit.metrics import best_offset, stable_offset

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["epochs_of", "fit"]

Report = Callable[[dict[str, Any]], None]


def fit(
    labeler: Labeler,
    documents: list[Document],
    dev: list[Document] | None,
    *,
    init: Labeler | None,
    work: str | Path | None,
    resume: bool,
    report: Report | None,
) -> None:
    """Train and set the fitted attributes."""
    began = time.monotonic()
    config = TrainingConfig(
        loss=labeler.loss,
        epochs=epochs_of(labeler),
        batch_size=labeler.batch_size,
        learning_rate=labeler.learning_rate,
        recipe=labeler.recipe,
        select=labeler.select,
        seed=labeler.seed,
    )
    device = pick_device(labeler.device)
    names = LabelNames.infer(documents, positive=labeler.positive) if init is None else init.names_
    if dev is None:
        documents, dev = _hold_out(documents, names, labeler.seed)
    vocabulary = _vocabulary(labeler, documents) if init is None else init.vocabulary_
    data = _labelled(documents, names, vocabulary)
    held_out = _labelled(dev, names, vocabulary)
    encoder = _encoder(labeler) if init is None else init.encoder_

    head = _new_head(labeler, encoder, vocabulary, device) if init is None else _copy(init.head_, labeler)
    tuned = None
    if labeler.tune_encoder:
        if encoder is None:
            raise SettingError("there is no encoder to tune: --tune-encoder cannot go with --encoder none")
        encoder, tuned = _tuned(labeler, encoder, head, documents, data, work, resume, report)
        if (
            config.loss == "document"
        ):  # a new head learns better from the tuned features than the one that tuned them
            head = _new_head(labeler, encoder, vocabulary, device)

    features = [_features(labeler, encoder, part, device) for part in (documents, dev)]
    data, held_out = (_with(part, f) for part, f in zip((data, held_out), features, strict=True))
    checkpoint = None if work is None else Path(work) / "checkpoint.safetensors"
    history = train(head, data, held_out, config, checkpoint=checkpoint, resume=resume, report=report)

    labeler.names_, labeler.vocabulary_, labeler.encoder_ = names, vocabulary, encoder
    labeler.head_, labeler.by_tokens_, labeler.offset_ = head.eval(), config.by_tokens, 0.0
    labeler.document_offset_ = 0.0
    if config.loss == "token":  # token labels are at hand: the boundary is tuned on dev, as in the paper
        scores = np.concatenate([s for _, s in scored(head, held_out)])
        labeler.offset_ = best_offset(scores, np.concatenate(held_out.token_targets or []))
    elif config.stable and not config.by_tokens and config.criterion == "f1":
        outputs = np.array([logit for logit, _ in scored(head, held_out)])
        labeler.document_offset_ = stable_offset(outputs, held_out.targets)
    labeler.record_ = {
        "documents": len(documents),
        "dev_documents": len(dev),
        "criterion": config.criterion,
        "history": history.to_json(),
        "dev": evaluate(
            head,
            held_out,
            by_tokens=config.by_tokens,
            offset=labeler.offset_,
            document_offset=labeler.document_offset_,
        ),
        "tuning": tuned,
        "own_encoder": tuned is not None or (init is not None and init.record_["own_encoder"]),
        "initial": None if init is None else init.record_.get("loss", "document"),
        "loss": config.loss,
        "seconds": round(time.monotonic() - began, 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device),
    }


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


def _vocabulary(labeler: Labeler, documents: list[Document]) -> Vocabulary | None:
    if labeler.vocabulary < 1:
        return None
    return Vocabulary.build((d.tokens for d in documents), limit=labeler.vocabulary)


def _encoder(labeler: Labeler) -> Transformer | None:
    if labeler.encoder == "none":
        return None
    layers = labeler.layers
    if layers is None and labeler.tune_encoder:  # tuning puts token-level detail back into the last layers
        count = depth(labeler.encoder)
        layers = range(count - 3, count + 1) if labeler.loss == "token" else range(1, count + 1)
    return Transformer.load(
        labeler.encoder,
        layers=layers,
        device=labeler.device,
        dtype=labeler.precision,
        max_length=labeler.max_length,
    )


def _new_head(
    labeler: Labeler, encoder: Transformer | None, vocabulary: Vocabulary | None, device: torch.device
) -> Head:
    vectors = None
    dimension = labeler.word_dimension
    if vocabulary is not None and labeler.word_vectors is not None:
        vectors, _ = read_vectors(labeler.word_vectors, vocabulary)
        dimension = vectors.shape[1]
    config = HeadConfig(
        features=0 if encoder is None else encoder.dimension,
        vocabulary=0 if vocabulary is None else len(vocabulary),
        word_dimension=dimension,
        filters=labeler.filters,
        widths=tuple(labeler.widths),
        dropout=labeler.dropout,
        pool=_pool(labeler),
    )
    head = Head(config, generator=torch.Generator().manual_seed(labeler.seed))
    if vectors is not None and head.embedding is not None:
        known = torch.from_numpy(np.any(vectors != 0, axis=1))
        head.embedding.data[known] = torch.from_numpy(vectors)[known]  # unknown words keep their random start
    return head.to(device)


def _pool(labeler: Labeler) -> str:
    """Where encoder and tokens are trained together, each token does best by itself; everywhere else, max."""
    return labeler.pool or ("none" if labeler.loss == "token" and labeler.tune_encoder else "max")


def _copy(head: Head, labeler: Labeler) -> Head:
    """The head to go on from, with the dropout and pool that are asked for now."""
    settings = head.config.to_json() | {"dropout": labeler.dropout, "pool": _pool(labeler)}
    copy = Head(HeadConfig(**settings)).to(head.weight.device)
    copy.load_state_dict(head.state_dict())
    return copy


def _labelled(
    documents: list[Document], names: LabelNames, vocabulary: Vocabulary | None
) -> LabelledFeatures:
    targets = [names.document_target(d) for d in documents]
    for document, target in zip(documents, targets, strict=True):
        if target is None:
            raise DataError(
                f"document {document.id!r} has no label; every document needs one", line=document.line or None
            )
    tokens = [names.token_targets(d) for d in documents]
    return LabelledFeatures(
        features=Features.of_words([]),
        word_counts=np.array([len(d.tokens) for d in documents], dtype=np.int64),
        targets=np.array(targets, dtype=np.int64),
        token_targets=None if any(t is None for t in tokens) else [t for t in tokens if t is not None],
        word_ids=None if vocabulary is None else [vocabulary.ids(d.tokens) for d in documents],
    )


def _with(data: LabelledFeatures, features: DocumentFeatures) -> LabelledFeatures:
    return LabelledFeatures(features, data.word_counts, data.targets, data.token_targets, data.word_ids)


def _features(
    labeler: Labeler, encoder: Transformer | None, documents: Sequence[Document], device: torch.device
) -> DocumentFeatures:
    token_lists = [d.tokens for d in documents]
    if encoder is None:
        features = Features.of_words(token_lists)
    elif labeler.cache == "":
        features = encode_features(encoder, token_lists, desc="encode")
    else:
        features = FeatureCache(labeler.cache).features(encoder, token_lists, desc="encode")
    return features if device.type == "cpu" else features.resident(device)


def _tuned(
    labeler: Labeler,
    encoder: Transformer,
    head: Head,
    documents: list[Document],
    data: LabelledFeatures,
    work: str | Path | None,
    resume: bool,
    report: Report | None,
) -> tuple[Transformer, dict[str, Any]]:
    """Tune the encoder, or take the tuned one that a stopped run left in its work folder."""
    settings = TuningConfig(loss="document+min-max", epochs=2, learning_rate=1e-4, seed=labeler.seed)
    if labeler.loss == "token":
        settings = TuningConfig(loss="token", epochs=5, learning_rate=2e-4, seed=labeler.seed)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary if work is None else work) / "encoder"
        weights = kept.with_name("tuned_head.safetensors")
        if not (resume and weights.exists()):
            tune(encoder, head, [d.tokens for d in documents], data, settings, report=report)
            encoder.save(kept)
            save_file(
                {k: v.contiguous() for k, v in head.state_dict().items()}, weights
            )  # last: it says all is there
        head.load_state_dict(load_file(weights, device=str(head.weight.device)))
        encoder = Transformer.load(
            str(kept),
            layers=encoder.layers,
            device=labeler.device,
            dtype=labeler.precision,
            max_length=labeler.max_length,
        )
    return encoder, asdict(settings)
