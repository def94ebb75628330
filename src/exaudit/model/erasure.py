"""What is left of a document once some of its words are erased.

An erased word stays a place in its document: the encoder reads its mask token there, one piece long, and the word has
the embedding of unknown words. An encoder without a mask token reads the document without the word. These texts are
read once and thrown away, so they never go through the feature cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.encode.features import Features
from exaudit.encode.packed import Packed
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import UNKNOWN, Vocabulary
from exaudit.errors import DataError
from exaudit.head.batch import Batch
from exaudit.head.network import Head, class_scores
from exaudit.head.training import scored_batch

__all__ = ["Eraser", "Flags"]

Flags = NDArray[np.bool_]
Found = tuple[NDArray[np.float32], NDArray[np.float32]]  # s+- of a document (K,) and of its words (N, K)
Result = TypeVar("Result")
_BATCH = 64  # documents together where there is no encoder


@dataclass(frozen=True)
class Eraser:
    """The parts of a model, finished or in training, that read documents without some of their words."""

    head: Head
    encoder: Transformer | None
    vocabulary: Vocabulary | None

    def outputs(
        self, documents: Sequence[Document], erased: Sequence[Flags], *, desc: str | None = None
    ) -> NDArray[np.float32]:
        """s+- of the documents (D, K), the boundaries not taken off, once the flagged words are erased.

        erased : whether each word of a document is erased (N,); or that for each class that is decided (N, K), and
            the output of a class is the one without its own words. `~flags` keeps the flagged words alone.
        """
        if erased and erased[0].ndim == 2:
            each = [self.outputs(documents, own, desc=desc) for own in _by_class(erased)]  # K times (D, K)
            return np.stack([outputs[:, k] for k, outputs in enumerate(each)], 1)  # (D, K)
        bias = class_scores(self.head.bias.detach()[None], self.head.config.outputs)  # (1, K)
        found = np.zeros((len(documents), bias.shape[1]), np.float32)  # (D, K)
        for row, (output, _) in zip(found, self.scored(documents, erased, desc=desc), strict=True):
            row[:] = output
        return found

    def scored(
        self, documents: Sequence[Document], erased: Sequence[Flags], *, desc: str | None = None
    ) -> Iterator[Found]:
        """s+- of every document (K,) and of its words (N, K), the erased ones included, in order."""
        token_lists = [document.tokens for document in documents]
        if [len(tokens) for tokens in token_lists] != [len(own) for own in erased]:
            raise DataError("words are erased by one flag each, and here flags and words differ in number")
        ids: list[NDArray[np.int64]] | None = None
        if self.vocabulary is not None:
            known = [self.vocabulary.ids(tokens) for tokens in token_lists]
            ids = [np.where(own, UNKNOWN, rows) for own, rows in zip(erased, known, strict=True)]
        self.head.eval()
        found: list[Found | None] = [None] * len(documents)

        def score(indices: list[int], packed: Packed) -> list[tuple[int, Found]]:
            counts = [len(token_lists[i]) for i in indices]
            batch = Batch.of(packed, counts, None if ids is None else [ids[i] for i in indices])
            return list(zip(indices, scored_batch(self.head, batch), strict=True))

        for part in self._each_batch(score, token_lists, erased, desc):
            for i, own in part:
                found[i] = own
        yield from (own for own in found if own is not None)

    def _each_batch(
        self,
        work: Callable[[list[int], Packed], Result],
        token_lists: list[tuple[str, ...]],
        erased: Sequence[Flags],
        desc: str | None,
    ) -> Iterator[Result]:
        if self.encoder is not None:
            return self.encoder.each_batch(work, token_lists, erased=erased, desc=desc)
        features, device = Features.of_words(token_lists), self.head.weight.device
        read = features if device.type == "cpu" else features.resident(device)
        starts = progress(range(0, len(token_lists), _BATCH), unit="batch", desc=desc)
        batches = (list(range(first, min(first + _BATCH, len(token_lists)))) for first in starts)
        return (work(indices, read.packed(indices)) for indices in batches)


def _by_class(flags: Sequence[Flags]) -> Iterator[list[Flags]]:
    for k in range(flags[0].shape[1]):
        yield [own[:, k] for own in flags]  # (N,) each
