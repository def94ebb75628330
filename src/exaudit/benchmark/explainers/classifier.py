"""The usual classifier, for explainers to explain: the same Transformer, tuned on the same document labels, the mean of
its last layer, and a linear layer.

It is tuned as our own encoders are (`exaudit.head.tuning`), by the document loss alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.encode.pieces import windows_of
from exaudit.encode.transformer import Transformer
from exaudit.head.batch import Batch
from exaudit.head.network import Head
from exaudit.model.options import RunOptions
from exaudit.model.split import Split
from exaudit.model.tuning import tune_or_resume, tuning_config

__all__ = ["Classifier", "MeanHead", "Reading"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EPOCHS, RATE = 2, 1e-4  # as our own encoders are tuned
DROPOUT = 0.1  # of the pooled vector, as in the classifiers of Transformers
_POSITIONS = {"cpu": 2048, "cuda": 65536}  # that go through the Transformer at once, without gradients


@dataclass(frozen=True)
class MeanConfig:
    """The shape of the linear layer."""

    features: int
    classes: int = 2
    outputs: str = "softmax"
    pool: str = "mean"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class MeanHead(nn.Module):
    """A linear layer over the mean of a document's pieces. It does what tuning asks of a `Head`."""

    def __init__(self, config: MeanConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.sparse_gradients = False
        bound = config.features**-0.5
        weight = torch.empty(config.classes, config.features)
        self.weight = nn.Parameter(weight.uniform_(-bound, bound, generator=generator))  # (C, D)
        self.bias = nn.Parameter(torch.zeros(config.classes))  # (C,)

    def forward(self, batch: Batch, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """The logits of the documents (B, C) and, as if each were one, those of their pieces (T, C)."""
        sums = batch.vectors.new_zeros(len(batch), batch.vectors.shape[1])
        sums = sums.index_add(0, batch.documents, batch.vectors)  # (B, D)
        means = sums / batch.bounds.diff().clamp(min=1).to(sums)[:, None]  # (B, D)
        return self.logits(dropout(means, DROPOUT, self.training)), self.logits(batch.vectors)

    def logits(self, vectors: Tensor) -> Tensor:
        return linear(vectors, self.weight, self.bias)


@dataclass(frozen=True)
class Reading:
    """One document as the encoder reads it: W windows of L positions, special tokens among them, no padding."""

    tokens: tuple[str, ...]
    ids: Tensor  # (W, L) of the word pieces
    shapes: Tensor  # (W, L) of the words as they were written
    words: Tensor  # (W, L) the word at each position; -1: a special token
    pooled: Tensor  # (W, L) whether the classifier sees it: a piece in two windows counts in one of them

    @classmethod
    def of(cls, encoder: Transformer, tokens: Sequence[str]) -> Reading:
        pieces, tokenizer = encoder.pieces([tokens]), encoder.tokenizer
        windows = windows_of(pieces.bounds, encoder.window)  # all of one document have the same length
        places = windows.start[:, None] + np.arange(windows.length[0])  # (W, P)
        first = windows.skip[:, None]
        column = np.arange(places.shape[1])
        kept = (column >= first) & (column < first + windows.keep[:, None])  # (W, P)

        def around(inner: NDArray[Any], prefix: Sequence[int], suffix: Sequence[int]) -> Tensor:
            sides = [np.tile(np.array(side, np.int64), (len(places), 1)) for side in (prefix, suffix)]
            return torch.from_numpy(np.concatenate([sides[0], inner, sides[1]], 1)).to(encoder.device)

        before, after = len(tokenizer.prefix), len(tokenizer.suffix)
        return cls(
            tuple(tokens),
            around(pieces.ids[places], tokenizer.prefix, tokenizer.suffix),
            around(pieces.shapes[places], [0] * before, [0] * after),
            around(pieces.words[places], [-1] * before, [-1] * after),
            around(kept, [0] * before, [0] * after).bool(),
        )

    @property
    def positions(self) -> int:
        return self.ids.numel()

    def by_word(self, attributions: Tensor) -> Floats:
        """Attributions of the positions (W, L), summed over the pieces of each word (N,)."""
        own = self.words >= 0
        sums = torch.zeros(len(self.tokens), dtype=torch.float64, device=self.words.device)
        sums.index_add_(0, self.words[own], attributions.detach()[own].double())
        return cast("Floats", sums.cpu().numpy())


class Classifier:
    """A document classifier of two classes. What is explained is its log-odds of the positive one."""

    def __init__(self, encoder: Transformer, head: MeanHead) -> None:
        self.encoder, self.head = encoder, head.eval()
        for parameter in (*encoder.module.parameters(), *head.parameters()):
            parameter.requires_grad_(False)  # explaining asks for the gradient of the input alone
        hf = encoder.tokenizer.hf
        known = (hf.mask_token_id, hf.unk_token_id, hf.pad_token_id, 0)
        self._mask = next(i for i in known if i is not None)

    @classmethod
    def train(
        cls,
        encoder: Transformer,
        documents: list[Document],
        labels: LabelSet,
        *,
        seed: int = 0,
        options: RunOptions | None = None,
    ) -> Classifier:
        """Tune a copy of the encoder with a linear layer on the last layer that it has."""
        data = Split.of([d.without_token_labels() for d in documents], labels, None)
        config = tuning_config(encoder, data, "document", seed=seed, epochs=EPOCHS, rate=RATE)
        own = encoder.copy([int(encoder.module.config.num_hidden_layers)])
        generator = torch.Generator().manual_seed(seed)
        head = MeanHead(MeanConfig(own.dimension), generator=generator).to(own.device)
        tuned = tune_or_resume(
            own, cast("Head", head), data, config, options or RunOptions(), "classifier"
        )  # it does all that tuning asks of a Head
        return cls(tuned.encoder, head)

    def read(self, tokens: Sequence[str]) -> Reading:
        return Reading.of(self.encoder, tokens)

    def embed(self, reading: Reading, keep: Tensor | None = None) -> Tensor:
        """The input embeddings (S, W, L, E) of the document, or with all words masked but those to keep (S, N)."""
        ids, shapes = reading.ids[None], reading.shapes[None]  # (1, W, L) each
        if keep is not None:
            hidden = ~keep[:, reading.words.clamp(min=0)] & (reading.words >= 0)  # (S, W, L)
            ids, shapes = ids.masked_fill(hidden, self._mask), shapes.masked_fill(hidden, 0)
        module = self.encoder.module
        embedded: Tensor = module.get_input_embeddings()(ids)
        return embedded + module.shapes(shapes) if self.encoder.reads_shapes else embedded

    def logits(self, embedded: Tensor, reading: Reading) -> Tensor:
        """The log-odds of documents that are read alike (S,), given their embeddings (S, W, L, E)."""
        S, W, L, E = embedded.shape
        encoder = self.encoder
        with encoder.autocast():
            output = encoder.module(inputs_embeds=embedded.reshape(S * W, L, E), output_hidden_states=True)
        hidden = output.hidden_states[encoder.layers[-1]].reshape(S, W * L, -1)  # (S, W * L, D)
        means = hidden[:, reading.pooled.flatten()].to(self.head.weight).mean(1)  # (S, D), in full precision
        both = self.head.logits(means)  # (S, C)
        return both[:, 1] - both[:, 0]

    @torch.no_grad()
    def masked(self, reading: Reading, keep: Bools) -> Floats:
        """The log-odds of the document with all words masked but those to keep (S, N), many at once."""
        chosen, size = torch.from_numpy(keep).to(self.encoder.device), self.at_once(reading)
        parts = [
            self.logits(self.embed(reading, chosen[first : first + size]), reading)
            for first in range(0, len(chosen), size)
        ]
        return cast("Floats", torch.cat(parts).double().cpu().numpy())  # (S,)

    def at_once(self, reading: Reading, *, gradients: bool = False) -> int:
        """How many variants of a document go through the Transformer together; gradients hold all layers in memory."""
        positions = _POSITIONS.get(self.encoder.device.type, 2048) // (4 if gradients else 1)
        return max(1, positions // reading.positions)

    def output(self, reading: Reading) -> float:
        """The log-odds of the document as it is."""
        return float(self.masked(reading, np.ones((1, len(reading.tokens)), np.bool_))[0])
