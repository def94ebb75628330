"""The parts of a model, put together as the estimator's settings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from exaudit._device import pick_device
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.encode.cache import FeatureCache, encode_features
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer, depth, last_layers
from exaudit.encode.words import Vocabulary, read_vectors
from exaudit.errors import DataError, SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["Part", "build_vocabulary", "copy_head", "load_encoder", "new_head", "upper_layers"]


def build_vocabulary(labeler: Labeler, documents: list[Document]) -> Vocabulary | None:
    """Word embeddings beside a frozen encoder; one that is tuned learns the words itself."""
    if labeler.tune_encoder and labeler.word_vectors is not None:
        raise SettingError(
            "word vectors go beside a frozen encoder: leave --word-vectors or --tune-encoder out"
        )
    if labeler.vocabulary < 1 or labeler.tune_encoder:
        return None
    return Vocabulary.build((d.tokens for d in documents), limit=labeler.vocabulary)


def load_encoder(labeler: Labeler) -> Transformer:
    """The encoder as it comes, with the layers of the settings, or the usual ones."""
    layers = labeler.layers
    if layers is None and labeler.tune_encoder:
        count = depth(labeler.encoder)
        layers = last_layers(count) if labeler.loss == "token" else range(1, count + 1)
    return Transformer.load(
        labeler.encoder,
        layers=layers,
        device=labeler.device,
        dtype=labeler.precision,
        max_length=labeler.max_length,
    )


def upper_layers(labeler: Labeler, encoder: Transformer) -> Sequence[int]:
    """The layers that words are learnt from."""
    return labeler.layers or last_layers(max(encoder.layers))


def new_head(
    labeler: Labeler,
    encoder: Transformer | None,
    vocabulary: Vocabulary | None,
    device: torch.device,
    *,
    pool: str | None = None,
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
        pool=pool or pool_of(labeler),
    )
    head = Head(config, generator=torch.Generator().manual_seed(labeler.seed))
    if vectors is not None and head.embedding is not None:
        known = torch.from_numpy(np.any(vectors != 0, axis=1))
        head.embedding.data[known] = torch.from_numpy(vectors)[known]  # unknown words keep their random start
    return head.to(device)


def pool_of(labeler: Labeler) -> str:
    """Where encoder and tokens are trained together, each token does best by itself; everywhere else, max."""
    return labeler.pool or ("none" if labeler.loss == "token" and labeler.tune_encoder else "max")


def copy_head(head: Head, labeler: Labeler) -> Head:
    """The head to go on from, with the dropout and, where one is asked for, the pool of now."""
    pool = labeler.pool or ("none" if pool_of(labeler) == "none" else head.config.pool)
    settings = head.config.to_json() | {"dropout": labeler.dropout, "pool": pool}
    copy = Head(HeadConfig(**settings)).to(head.weight.device)
    copy.load_state_dict(head.state_dict())
    return copy


@dataclass(frozen=True)
class Part:
    """Documents and what is known of them: what is trained on, or what chooses the epoch."""

    documents: list[Document]
    labels: LabelledFeatures  # without features yet

    @classmethod
    def of(cls, documents: list[Document], names: LabelNames, vocabulary: Vocabulary | None) -> Part:
        targets = [names.document_target(d) for d in documents]
        for document, target in zip(documents, targets, strict=True):
            if target is None:
                raise DataError(
                    f"document {document.id!r} has no label; every document needs one",
                    line=document.line or None,
                )
        tokens = [names.token_targets(d) for d in documents]
        labels = LabelledFeatures(
            features=Features.of_words([]),
            word_counts=np.array([len(d.tokens) for d in documents], dtype=np.int64),
            targets=np.array(targets, dtype=np.int64),
            token_targets=None if any(t is None for t in tokens) else [t for t in tokens if t is not None],
            word_ids=None if vocabulary is None else [vocabulary.ids(d.tokens) for d in documents],
        )
        return cls(documents, labels)

    def encoded(self, labeler: Labeler, encoder: Transformer | None) -> LabelledFeatures:
        """The labels with the features that the encoder gives."""
        token_lists = [d.tokens for d in self.documents]
        if encoder is None:
            features = Features.of_words(token_lists)
        elif labeler.cache == "":
            features = encode_features(encoder, token_lists, desc="encode")
        else:
            features = FeatureCache(labeler.cache).features(encoder, token_lists, desc="encode")
        device = pick_device(labeler.device)
        return replace(self.labels, features=features if device.type == "cpu" else features.resident(device))
