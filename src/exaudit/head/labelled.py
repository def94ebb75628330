"""Documents as training sees them: features, and what is known of their words and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from exaudit.encode.packed import Packed
from exaudit.errors import SettingError
from exaudit.head.batch import Batch

__all__ = ["DocumentFeatures", "LabelledFeatures"]


class DocumentFeatures(Protocol):
    """What training reads documents from: `exaudit.encode.features.Features`, or its like."""

    def __len__(self) -> int: ...

    def packed(self, indices: Sequence[int]) -> Packed: ...


@dataclass(frozen=True)
class LabelledFeatures:
    """Features of documents with what is known of their words and labels."""

    features: DocumentFeatures
    word_counts: NDArray[np.int64]  # (documents,)
    targets: NDArray[
        np.int64
    ]  # (documents,) the class; (documents, C) 0 or 1 where a document may have several
    token_targets: Sequence[NDArray[np.int8]] | None = None  # (N, K) 0 or 1 for every word, -1 if not known
    word_ids: Sequence[NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def batch(self, indices: Sequence[int]) -> Batch:
        ids = None if self.word_ids is None else [self.word_ids[i] for i in indices]
        return Batch.of(self.features.packed(indices), [int(self.word_counts[i]) for i in indices], ids)

    def piece_targets(self, batch: Batch, indices: Sequence[int]) -> Tensor:
        if self.token_targets is None:
            raise SettingError("the token loss needs token labels, and these documents have none")
        words = np.concatenate([self.token_targets[i] for i in indices]).astype(np.float32)  # (W, K)
        return torch.from_numpy(words).to(batch.device)[batch.words]  # (T, K)

    def class_targets(self, classes: int) -> NDArray[np.int64]:
        """Whether each document is of each class that is decided: of two, the positive one alone."""
        if self.targets.ndim == 2:
            return self.targets  # (documents, C)
        if classes == 2:
            return self.targets[:, None]  # (documents, 1)
        return np.equal(self.targets[:, None], np.arange(classes)).astype(np.int64)  # (documents, C)
