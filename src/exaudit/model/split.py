"""Documents with all that is known of them: what is trained on, or what chooses the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exaudit._device import pick_device
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.encode.cache import FeatureCache, encode_features
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.errors import DataError
from exaudit.head.labelled import LabelledFeatures
from exaudit.model.settings import Settings

__all__ = ["Split", "hold_out"]


@dataclass(frozen=True)
class Split:
    """Documents and their labels as numbers."""

    documents: list[Document]
    labels: LabelledFeatures  # without features yet

    @classmethod
    def of(cls, documents: list[Document], labels: LabelSet, vocabulary: Vocabulary | None) -> Split:
        tokens = [labels.token_targets(d) for d in documents]
        known = LabelledFeatures(
            features=Features.of_words([]),
            word_counts=np.array([len(d.tokens) for d in documents], dtype=np.int64),
            targets=labels.targets(documents),
            token_targets=None if any(t is None for t in tokens) else [t for t in tokens if t is not None],
            word_ids=None if vocabulary is None else [vocabulary.ids(d.tokens) for d in documents],
        )
        return cls(documents, known)

    def encoded(self, settings: Settings, encoder: Transformer | None) -> LabelledFeatures:
        """The labels with the features that the encoder gives."""
        token_lists = [d.tokens for d in self.documents]
        if encoder is None:
            features = Features.of_words(token_lists)
        elif settings.cache == "":
            features = encode_features(encoder, token_lists, desc="encode")
        else:
            features = FeatureCache(settings.cache).features(encoder, token_lists, desc="encode")
        device = pick_device(settings.device)
        return replace(self.labels, features=features if device.type == "cpu" else features.resident(device))


def hold_out(
    documents: Sequence[Document], labels: LabelSet, seed: int
) -> tuple[list[Document], list[Document]]:
    """The documents without a tenth of each class, at least one, chosen by the seed; and that tenth."""
    draws = np.random.default_rng([seed, 7])
    targets = labels.targets(documents)  # (D,) or (D, C)
    if (
        targets.ndim == 2
    ):  # several labels: a tenth of those whose first label it is, and of those without any
        targets = np.where(targets.any(1), targets.argmax(1), targets.shape[1])
    chosen: set[int] = set()
    for target, name in enumerate((*labels.names, None)):
        mine = np.flatnonzero(targets == target)
        if len(mine) < 2 and labels.kind != "multilabel" and name is not None:
            raise DataError(
                f"only {len(mine)} documents of class {name!r}; give more, or dev documents of your own"
            )
        if len(mine) >= 2:
            chosen |= set(draws.permutation(mine)[: max(1, len(mine) // 10)].tolist())
    if not chosen:
        raise DataError(
            f"{len(documents)} documents are too few to set some aside; give more, or dev documents"
        )
    kept = [d for i, d in enumerate(documents) if i not in chosen]
    return kept, [documents[i] for i in sorted(chosen)]
