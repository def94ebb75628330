"""The parts of a model before they are trained: vocabulary, encoder and head, as the settings say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from exaudit._device import pick_device
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.encode.layers import depth, last_layers
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary, read_vectors
from exaudit.head.network import Head, HeadConfig
from exaudit.model.settings import Settings

__all__ = ["build_vocabulary", "copy_head", "load_encoder", "new_head", "upper_layers"]


def build_vocabulary(settings: Settings, documents: Sequence[Document]) -> Vocabulary | None:
    """Word embeddings beside a frozen encoder; one that is tuned learns the words itself."""
    if settings.vocabulary < 1 or settings.tune_encoder:
        return None
    return Vocabulary.build((d.tokens for d in documents), limit=settings.vocabulary)


def load_encoder(settings: Settings) -> Transformer | None:
    """The encoder as it comes, with the layers of the settings, or the usual ones."""
    if settings.encoder == "none":
        return None
    layers = settings.layers
    if layers is None and (settings.tune_encoder or settings.recipe == "paper"):
        count = depth(settings.encoder)
        every = settings.tune_encoder and settings.loss != "token"
        layers = range(1, count + 1) if every else last_layers(count)
    return Transformer.load(
        settings.encoder,
        layers=layers,
        device=settings.device,
        precision=settings.encoder_precision,
        max_length=settings.max_length,
        plain=pick_device(settings.device).type == "cpu",
    )


def upper_layers(settings: Settings, encoder: Transformer) -> Sequence[int]:
    """The layers that words are learnt from."""
    return settings.layers or last_layers(max(encoder.layers))


def new_head(
    settings: Settings,
    labels: LabelSet,
    encoder: Transformer | None,
    vocabulary: Vocabulary | None,
    *,
    pool: str | None = None,
) -> Head:
    vectors = None
    dimension = settings.word_dimension
    if vocabulary is not None and settings.word_vectors is not None:
        vectors, _ = read_vectors(settings.word_vectors, vocabulary)
        dimension = vectors.shape[1]
    config = HeadConfig(
        features=0 if encoder is None else encoder.dimension,
        vocabulary=0 if vocabulary is None else len(vocabulary),
        word_dimension=dimension,
        filters=settings.filters,
        widths=tuple(settings.widths),
        classes=len(labels),
        dropout=settings.dropout,
        pool=pool or settings.head_pool,
        outputs="independent" if labels.kind == "multilabel" else "softmax",
        passage=settings.head_passage,
    )
    head = Head(config, generator=torch.Generator().manual_seed(settings.seed))
    if vectors is not None and head.embedding is not None:
        known = torch.from_numpy(np.any(vectors != 0, axis=1))
        if settings.recipe == "paper":  # whose code starts unknown words from within 0.01 of zero
            head.embedding.data *= 0.04
        head.embedding.data[known] = torch.from_numpy(vectors)[known]  # unknown words keep their random start
    return head.to(pick_device(settings.device))


def copy_head(head: Head, settings: Settings) -> Head:
    """The head to go on from, with the dropout and, where one is asked for, the pool of now."""
    pool = settings.pool or ("none" if settings.head_pool == "none" else head.config.pool)
    config = head.config.to_json() | {"dropout": settings.dropout, "pool": pool}
    copy = Head(HeadConfig(**config)).to(head.weight.device)
    copy.load_state_dict(head.state_dict())
    return copy
