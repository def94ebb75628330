"""A trained model: frozen, whole, and all that is needed to label documents and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, starmap
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._memory import give_back_memory
from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.encode.features import Features
from exaudit.encode.language import note_on_language
from exaudit.encode.packed import Packed
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.head.batch import Batch
from exaudit.head.confidence import Confidence
from exaudit.head.network import Head, sides, strongest_other
from exaudit.model.documents import each_document
from exaudit.model.scores import MultiScores, Scores, TokenScores
from exaudit.model.settings import Settings

__all__ = ["Model"]

Result = TypeVar("Result")

_CHUNK = 2048  # documents sorted by length together while labelling
_WORDS = 16384  # labelled together where there is no encoder, at most


@dataclass(frozen=True, eq=False)
class Model:
    """A document classifier whose decision comes apart into a decision for every word.

    Parameters
    ----------
    settings
        How it was made.
    labels
        Its classes.
    head
        The network over the encoder's features.
    encoder
        The Transformer, if there is one.
    vocabulary
        The words with an embedding, if there are any.
    by_tokens
        Whether the largest token score decides a document, as after min-max or token training.
    word_boundaries, document_boundaries
        One for each class that is decided, as in `labels.views`.
    confidence
        How sure document outputs are, where the decision on a word takes that into account; None: where it does not.
    negative_boundary
        Of two classes, where the words that speak for the negative one begin (on s- - s+); None: not known.
    smoothing
        Over how many words scores are averaged before a word is decided, for each class that is; empty: over none but
        the word itself.
    record
        How training went, and how the model did on dev.
    """

    settings: Settings
    labels: LabelSet
    head: Head
    encoder: Transformer | None
    vocabulary: Vocabulary | None
    by_tokens: bool
    word_boundaries: tuple[float, ...]
    document_boundaries: tuple[float, ...]
    record: dict[str, Any]
    negative_boundary: float | None = None
    confidence: Confidence | None = None
    smoothing: tuple[int, ...] = ()

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    @property
    def precision(self) -> str:
        """float32 or bfloat16: what its encoder reads in, here and now."""
        return "float32" if self.encoder is None else self.encoder.dtype

    def at(self, precision: str) -> Model:
        """The same model, weights and all, whose encoder reads in another precision."""
        return self if self.encoder is None else replace(self, encoder=self.encoder.at(precision))

    @property
    def width(self) -> int:
        """M, the length of an exemplar vector."""
        return self.head.config.filters * len(self.head.config.widths)

    @property
    def bias(self) -> NDArray[np.float32]:
        """b of the final layer: what a word that no filter chose scores for every class (C,)."""
        bias = self.head.bias.detach().cpu().numpy()
        return np.asarray(bias[1::2] if self.labels.kind == "multilabel" else bias)

    def label(self, documents: Iterable[Any], *, exemplars: bool = False) -> list[Scores]:
        """Scores of every document and of each of its words, with exemplar vectors on request."""
        return list(self.iter_label(documents, exemplars=exemplars))

    def iter_label(
        self,
        documents: Iterable[Any],
        *,
        exemplars: bool = False,
        desc: str | None = None,
        total: int | None = None,
    ) -> Iterator[Scores]:
        """Like `label`, one document at a time, for files that do not fit into memory."""
        pending = iter(each_document(documents, cut=self.settings.tokens))
        with progress(total=total, unit="doc", desc=desc or "label") as bar:
            while chunk := list(islice(pending, _CHUNK)):
                yield from self._label_chunk(chunk, exemplars, bar)
                if len(chunk) == _CHUNK:  # there may be many more
                    give_back_memory()

    def note_on_length(self, documents: Sequence[Document]) -> str | None:
        """A sentence where documents go on after the last word piece that the model reads (`max_length`)."""
        if self.encoder is None or self.encoder.max_length is None:
            return None
        documents = [document.recut(self.settings.tokens) for document in documents]
        pieces = self.encoder.pieces([document.tokens for document in documents])
        last = pieces.words[pieces.bounds[1:] - 1]  # (D,) the last word that was read, in part at least
        cut = sum(int(word) + 1 < len(d.tokens) for word, d in zip(last, documents, strict=True))
        if not cut:
            return None
        return (
            f"{cut:,} of {len(documents):,} documents are longer than the {self.encoder.max_length} word pieces that "
            "the model reads; the words after those score the bias alone."
        )

    def note_on_language(self, documents: Sequence[Document]) -> str | None:
        """A sentence where the encoder does not know the language of the documents."""
        if self.encoder is None:
            return None
        tokens = (document.recut(self.settings.tokens).tokens for document in documents)
        return note_on_language(self.encoder.folder, tokens)

    def _label_chunk(self, documents: list[Document], exemplars: bool, bar: Any) -> list[Scores]:
        def label(indices: list[int], packed: Packed) -> tuple[list[int], list[Scores]]:
            mine = [documents[i] for i in indices]
            return indices, list(self._decompose(mine, packed, exemplars))

        results: list[Scores | None] = [None] * len(documents)
        for indices, found in self._each_batch(label, [document.tokens for document in documents]):
            for i, scores in zip(indices, found, strict=True):
                results[i] = scores
            bar.update(len(indices))
        return [scores for scores in results if scores is not None]

    def _decompose(self, documents: list[Document], packed: Packed, exemplars: bool) -> Iterator[Scores]:
        ids = None if self.vocabulary is None else [self.vocabulary.ids(d.tokens) for d in documents]
        batch = Batch.of(packed, [len(d.tokens) for d in documents], ids)
        rounded = (
            self.device.type == "cpu" and self.precision == "bfloat16"
        )  # to a GPU it is one product of many
        parts = self.head.decompose(batch, exemplars=exemplars, rounded=rounded)
        vectors = None if parts.exemplars is None else parts.exemplars.cpu().numpy()
        # Each class that is decided, and what stands against it: (B, K) twice, (W, K) twice
        outputs, against = (part.cpu().numpy() for part in sides(parts.logits, self.head.config.outputs))
        positive, negative = (part.cpu().numpy() for part in sides(parts.scores, self.head.config.outputs))
        for b, (first, last) in enumerate(pairwise(batch.word_bounds.tolist())):
            words = positive[first:last], negative[first:last]  # (N, K) each
            output = self.output_of(outputs[b] - against[b], words[0] - words[1])  # (K,)
            mine = None if vectors is None else vectors[first:last]
            yield self.scores_of(documents[b], output, *words, mine)

    def output_of(self, output: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """What decides a document (K,), above zero or not, given s+- of it (K,) and of its words (N, K).

        By tokens: the largest word of each class; where classes exclude each other, against the others'.
        """
        if not self.by_tokens:
            return np.asarray(output - np.array(self.document_boundaries, np.float32))
        largest = scores.max(0) - np.array(self.word_boundaries, np.float32)  # (K,)
        if self.labels.kind != "multiclass":
            return np.asarray(largest)
        return np.asarray(largest - strongest_other(torch.from_numpy(largest)[None])[0].numpy())

    def doubts(self, output: NDArray[np.float32]) -> NDArray[np.floating]:
        """What is taken off the scores of a document's words (K,), given what decides it for each class (K,)."""
        return np.zeros_like(output) if self.confidence is None else self.confidence.doubt(output)

    def scores_of(
        self,
        document: Document,
        output: NDArray[np.float32],
        positive: NDArray[np.float32],
        negative: NDArray[np.float32],
        exemplars: NDArray[np.float32] | None = None,
    ) -> Scores:
        """What the model says of a document, given what decides it (K,) and s+ and s- of its words (N, K) each."""
        doubts = self.doubts(output)  # (K,)
        views = tuple(
            TokenScores(
                document,
                float(output[k]),
                negative[:, k],
                positive[:, k],
                boundary,
                doubt=float(doubts[k]),
                smoothing=self.smoothing[k] if self.smoothing else 1,
            )
            for k, boundary in enumerate(self.word_boundaries)
        )
        if self.labels.kind == "binary":
            return replace(
                views[0],
                exemplars=exemplars,
                negative_offset=self.negative_boundary,
                negative_doubt=0.0
                if self.confidence is None
                else float(self.confidence.other_doubt(output)[0]),
            )
        return MultiScores(document, views, self.labels.kind == "multiclass", exemplars)

    def _each_batch(
        self, work: Callable[[list[int], Packed], Result], token_lists: list[tuple[str, ...]]
    ) -> Iterator[Result]:
        if self.encoder is not None:
            return self.encoder.each_batch(work, token_lists)
        return starmap(work, self._packed_words(token_lists))

    def _packed_words(self, token_lists: list[tuple[str, ...]]) -> Iterator[tuple[list[int], Packed]]:
        """Documents of a model without an encoder."""
        features = Features.of_words(token_lists)
        words = np.cumsum([0, *map(len, token_lists)])  # (D + 1,)
        start = 0
        while start < len(token_lists):
            fit = (
                int(np.searchsorted(words, words[start] + _WORDS, side="right")) - 1
            )  # at least one document
            indices = list(range(start, max(start + 1, min(fit, start + 256))))
            start += len(indices)
            packed = features.packed(indices)
            yield indices, Packed(packed.vectors.to(self.device), packed.bounds, packed.words.to(self.device))
