"""The document classifier and its decomposition into token scores: section 3 of the paper, in one file.

    t_n  = (e_BERT, e_word)                    a piece: frozen encoder layers and a trainable word embedding
    h_m  = filter m slid over t_1 .. t_N       the feature maps
    g_m  = max ReLU(h_m)                       the max-pool
    o    = softmax(W g + b)                    the document's distribution over classes
    n_m  = argmax ReLU(h_m)                    the piece that won filter m
    s_n  = sum_m W_m g_m [n in n_m..n_m+Q-1] + b      a piece's contribution to each class
    s+-  = s+ - s-                             one class against the other
    r_n  = h_1n, ..., h_Mn                     its exemplar vector, before the ReLU (width 1)

Deviations from the paper's code: documents are laid end to end instead of padded, and special tokens are left out,
so that neither can win a max-pool. A document shorter than a filter is read as if zeros followed it.

Beyond the paper: passages, where long documents have a max-pool for each of them, so that hundreds of words do not
compete for the same filters, and the document's output is the mean of its passages'; more than two classes, where s+-
is each class against the strongest other; and documents with several labels, where every class has a softmax of its own
over its presence and its absence: two outputs, s+ and s-.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from exaudit._product import Product
from exaudit._side_by_side import exclusively
from exaudit.errors import SettingError
from exaudit.head.batch import Batch
from exaudit.head.pooling import filter_max, passages, segment_max

__all__ = ["POOLS", "Decomposition", "Head", "HeadConfig", "class_scores", "sides", "strongest_other"]

POOLS = ("max", "none")

LONG = 4096  # pieces of one document whose feature maps are held at once


@dataclass(frozen=True)
class HeadConfig:
    """The shape of the head. `features` is the width of the encoder's part of t_n."""

    features: int
    vocabulary: int = 0  # rows of the word-embedding block; 0 leaves the block out
    word_dimension: int = 300
    filters: int = 1000  # M, for each width
    widths: tuple[int, ...] = (1,)  # Q; several are concatenated after the max-pool
    classes: int = 2  # C
    dropout: float = 0.5
    pool: str = "max"  # "none": every piece is scored by its own filters (dense supervised tagging)
    outputs: str = "softmax"  # "independent": of each class, its absence and its presence
    passage: int = 0  # pieces of a passage at most; 0: the max-pool is over the whole document

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        if self.features + self.vocabulary == 0:
            raise SettingError("the head has no input: give it an encoder, or word embeddings")
        if self.outputs not in ("softmax", "independent"):
            raise SettingError(f"unknown outputs {self.outputs!r}; use softmax or independent")
        if self.filters < 1 or not self.widths or min(self.widths) < 1:
            raise SettingError("the head needs at least one filter, and widths of 1 or more")
        if self.classes < (2 if self.outputs == "softmax" else 1):
            raise SettingError(f"the head cannot tell {self.classes} classes apart")
        if self.pool not in POOLS:
            raise SettingError(f"unknown pool {self.pool!r}; use max or none")
        if self.pool == "none" and self.widths != (1,):
            raise SettingError("pool none scores every piece by itself and needs filters of width 1")
        if self.passage < 0 or (self.passage and self.widths != (1,)):
            raise SettingError(
                f"passages have some pieces, and filters of width 1; not {self.passage} pieces and widths "
                f"{list(self.widths)}"
            )
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout is {self.dropout}; it must be at least 0 and below 1")

    @property
    def inputs(self) -> int:
        """D, the width of t_n."""
        return self.features + (self.word_dimension if self.vocabulary else 0)

    @property
    def rows(self) -> int:
        """Rows of W: one a class, or two where they are independent."""
        return self.classes if self.outputs == "softmax" else 2 * self.classes

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "widths": list(self.widths)}


def strongest_other(scores: Tensor) -> Tensor:
    """For every class the largest score of the others."""
    (best, second), (winner, _) = (part.unbind(1) for part in scores.topk(2, dim=1))  # (T,) each
    is_winner = winner[:, None] == torch.arange(scores.shape[1], device=scores.device)  # (T, C)
    return torch.where(is_winner, second[:, None], best[:, None])  # (T, C)


def sides(scores: Tensor, outputs: str) -> tuple[Tensor, Tensor]:
    """s+ of every class that is decided, and s-, what stands against it. Of two classes the positive one is decided."""
    if outputs == "independent":
        return scores[:, 1::2], scores[:, ::2]  # (T, C) each
    if scores.shape[1] == 2:
        return scores[:, 1:], scores[:, :1]  # (T, 1) each
    return scores, strongest_other(scores)  # (T, C) each


def class_scores(scores: Tensor, outputs: str) -> Tensor:
    """s+- of every class that is decided."""
    positive, negative = sides(scores, outputs)
    return positive - negative  # (T, K)


class Decomposition(NamedTuple):
    """A batch taken apart, at the word level: scores and exemplars are averaged over the pieces of a word."""

    logits: Tensor  # (B, C) W g + b
    scores: Tensor  # (W, C) s_n for each class, with the bias
    exemplars: Tensor | None  # (W, M) r_n


class Head(nn.Module):
    """A CNN with max-pooling and a linear layer, and its decomposition."""

    def __init__(self, config: HeadConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.sparse_gradients = (
            True  # of the word embeddings: a step touches a few hundred words of thousands
        )
        self._words: tuple[list[tuple[int, int]], Tensor] | None = None  # see _word_responses
        self._product: tuple[tuple[Any, ...], Product] | None = None  # see _responses
        c = config
        self.filters = nn.ParameterList(torch.empty(c.filters, q * c.inputs) for q in c.widths)  # (M, Q * D)
        self.filter_biases = nn.ParameterList(torch.empty(c.filters) for _ in c.widths)  # (M,)
        self.weight = nn.Parameter(torch.empty(c.rows, c.filters * len(c.widths)))  # W (C, M)
        self.bias = nn.Parameter(torch.empty(c.rows))  # b (C,)
        self.embedding = (
            nn.Parameter(torch.empty(c.vocabulary, c.word_dimension)) if c.vocabulary else None
        )  # (V, E)
        # The usual uniform(±1/sqrt(fan-in)) of torch's own convolution and linear layers.
        layers = [*zip(self.filters, self.filter_biases, strict=True), (self.weight, self.bias)]
        with torch.no_grad():
            for weight, bias in layers:
                bound = weight.shape[1] ** -0.5
                weight.uniform_(-bound, bound, generator=generator)
                bias.uniform_(-bound, bound, generator=generator)
            if self.embedding is not None:
                self.embedding.uniform_(-0.25, 0.25, generator=generator)

    # -- 3.1 the document classifier ---------------------------------------------------------------

    def pooled(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """g and n: what survives ReLU and max-pool, and the piece where each winning n-gram starts, by passage."""
        values, starts = [], []
        for width, weight, bias in zip(self.config.widths, self.filters, self.filter_biases, strict=True):
            vectors, embedded, bounds, first = self._ngrams(batch, width)
            value, row = filter_max(vectors, embedded, weight, bias, bounds)
            values.append(value.relu())
            starts.append(first[row])
        return torch.cat(values, 1), torch.cat(starts, 1)  # (P, M) each

    def logits(self, g: Tensor) -> Tensor:
        with torch.autocast(g.device.type, enabled=False):  # a thousand terms decide: they are never rounded
            return torch.addmm(self.bias, g, self.weight.t())  # (P, C)

    def document_logits(self, batch: Batch, g: Tensor) -> Tensor:
        """The mean of its passages' logits: with one passage, W g + b."""
        logits = self.logits(g)  # (P, C)
        counts = self._passages(batch.bounds)[1]  # (B,)
        if len(g) == len(batch):
            return logits
        owner = torch.repeat_interleave(torch.arange(len(counts)), counts).to(g.device)  # (P,)
        sums = logits.new_zeros(len(counts), logits.shape[1]).index_add(0, owner, logits)  # (B, C)
        return sums / counts.to(logits)[:, None]

    def _passages(self, bounds: Tensor) -> tuple[Tensor, Tensor]:
        """The bounds of the passages, and how many each document has: without passages, one."""
        if self.config.passage:
            return passages(bounds, self.config.passage)
        return bounds, torch.ones(len(bounds) - 1, dtype=torch.long)

    # -- 3.2 from document labels to token labels -----------------------------------------------------

    def contributions(self, batch: Batch, g: Tensor, starts: Tensor) -> Tensor:
        """s_n for every piece and class: each filter's term W_m g_m goes to the pieces that won it."""
        terms = (g[:, :, None] * self.weight.t()).reshape(-1, self.config.rows)  # (B * M, C)
        scores = terms.new_zeros(len(batch.vectors), self.config.rows)  # (T, C)
        if self.config.widths == (1,):
            return scores.index_add(0, starts.reshape(-1), terms) + self.bias
        last = (batch.bounds[1:] - 1).to(batch.device)[:, None]  # (B, 1)
        per_filter = torch.tensor(self.config.widths, device=batch.device)
        per_filter = per_filter.repeat_interleave(self.config.filters)  # (M,)
        for q in range(max(self.config.widths)):
            covered = ((q < per_filter) & (starts + q <= last)).reshape(-1)  # (B * M,)
            scores = scores.index_add(0, (starts + q).reshape(-1)[covered], terms[covered])
        return scores + self.bias

    def forward(self, batch: Batch, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Document logits and piece contributions, with dropout on the pooled output while training."""
        if self.config.pool == "none":
            return self._unpooled(batch, generator)
        g, starts = self.pooled(batch)
        g = self.drop(g, generator)
        return self.document_logits(batch, g), self.contributions(batch, g, starts)

    def _unpooled(self, batch: Batch, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """The same without the max-pool for s_n: every piece is scored by all of its own filters."""
        h = torch.cat(self._token_parts(batch), 1) @ self.filters[0].t() + self.filter_biases[0]  # (T, M)
        _, rows = segment_max(h.detach(), self._passages(batch.bounds)[0])  # (P, M)
        g = self.drop(h.gather(0, rows).relu(), generator)  # (P, M)
        return self.document_logits(batch, g), self.logits(self.drop(h.relu(), generator))  # (B, C), (T, C)

    @torch.no_grad()
    def decompose(self, batch: Batch, *, exemplars: bool = False, rounded: bool = False) -> Decomposition:
        """Scores of every word, and its exemplar vectors where asked for.

        rounded : filters of width 1 are multiplied in bfloat16; all that follows is not.
        """
        if self.config.widths != (1,):
            if exemplars:
                raise SettingError(
                    "exemplar vectors are defined for filters of width 1 only (train with `widths=1`)"
                )
            g, starts = self.pooled(batch)
            scores = self.contributions(batch, g, starts)  # (T, C)
            return Decomposition(
                self.document_logits(batch, g), _word_means(batch, scores, fallback=self.bias), None
            )
        if len(batch.bounds) == 2 and not exemplars and len(batch.vectors) > LONG:
            g, scores = self._decompose_long(batch, rounded)
            return Decomposition(
                self.document_logits(batch, g), _word_means(batch, scores, fallback=self.bias), None
            )
        h = self._responses(batch, slice(None), rounded)  # (T, M)
        best, rows = segment_max(h, self._passages(batch.bounds)[0])
        g = best.relu()  # (P, M)
        pooled = self.config.pool == "max"
        scores = self.contributions(batch, g, rows) if pooled else self.logits(h.relu())  # (T, C)
        vectors = _word_means(batch, h, fallback=self.filter_biases[0]) if exemplars else None  # (W, M)
        return Decomposition(
            self.document_logits(batch, g), _word_means(batch, scores, fallback=self.bias), vectors
        )

    def _decompose_long(self, batch: Batch, rounded: bool) -> tuple[Tensor, Tensor]:
        """g and s_n of one long document, whose feature maps are never in memory as a whole."""
        values, winners, dense = [], [], []
        for first, last in pairwise(self._passages(batch.bounds)[0].tolist()):
            best = torch.full((1, self.config.filters), -torch.inf, device=batch.device)  # (1, M)
            rows = torch.zeros(1, self.config.filters, dtype=torch.long, device=batch.device)  # (1, M)
            for start in range(first, last, LONG):
                h = self._responses(batch, slice(start, min(start + LONG, last)), rounded)  # (T', M)
                value, row = segment_max(h, torch.tensor([0, len(h)]))
                rows = torch.where(value > best, row + start, rows)  # among equals the first wins
                best = torch.maximum(best, value)
                if self.config.pool == "none":
                    dense.append(self.logits(h.relu()))  # (T', C)
            values.append(best.relu())
            winners.append(rows)
        g = torch.cat(values)
        scores = torch.cat(dense) if dense else self.contributions(batch, g, torch.cat(winners))
        return g, scores  # (P, M), (T, C)

    def _responses(self, batch: Batch, some: slice, rounded: bool) -> Tensor:
        """The feature maps of some pieces, for filters of width 1."""
        filters, bias = self.filters[0], self.filter_biases[0]
        dtype = torch.bfloat16 if rounded else filters.dtype
        state = (dtype, *((p._version, p.data_ptr()) for p in (filters, bias)))
        with exclusively():
            if self._product is None or self._product[0] != state:  # once for the present weights
                weight = filters[:, : self.config.features].to(dtype)
                self._product = (state, Product.of(weight, bias.to(dtype)))
            product = self._product[1]
        h = product(batch.vectors[some].to(dtype)).to(filters.dtype)  # (T, M)
        if self.embedding is not None and batch.word_ids is not None:
            h += self._word_responses()[batch.word_ids[some]]
        return h

    def _word_responses(self) -> Tensor:
        """What the filters make of each word's embedding: one row a word, computed once for the present weights."""
        if self.embedding is None:
            raise SettingError("this head has no word embeddings")
        state = [(p._version, p.data_ptr()) for p in (self.embedding, self.filters[0])]
        with exclusively():
            if self._words is None or self._words[0] != state:
                self._words = (
                    state,
                    self.embedding @ self.filters[0][:, self.config.features :].t(),
                )  # (V, M)
            return self._words[1]

    # -- parts ------------------------------------------------------------------------------------------

    def _token_parts(self, batch: Batch) -> list[Tensor]:
        if self.embedding is None:
            return [batch.vectors]
        if batch.word_ids is None:
            raise SettingError("this head has word embeddings, but the batch carries no word ids")
        sparse = self.sparse_gradients and batch.device.type == "cpu"  # a GPU is quicker with the whole table
        return [batch.vectors, embedding(batch.word_ids, self.embedding, sparse=sparse)]

    def _ngrams(self, batch: Batch, width: int) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        """All n-grams of a width as rows (Q * D wide), their document bounds, and their first pieces."""
        parts = self._token_parts(batch)
        if width == 1:
            first = torch.arange(len(batch.vectors), device=batch.device)  # (T,)
            bounds = self._passages(batch.bounds)[0]
            return parts[0], parts[1] if len(parts) > 1 else None, bounds, first
        tokens = torch.cat(parts, 1)  # (T, D)
        tokens = torch.cat(
            [tokens, tokens.new_zeros(1, tokens.shape[1])]
        )  # row T: the zeros after a short document
        lengths = batch.bounds.diff()  # (B,)
        counts = (lengths - width + 1).clamp(min=1)  # (B,) n-grams of each document
        bounds = torch.cat([counts.new_zeros(1), counts.cumsum(0)])  # (B + 1,)
        owner = torch.repeat_interleave(torch.arange(len(counts)), counts)  # (T',)
        first = batch.bounds[owner] + torch.arange(len(owner)) - bounds[owner]  # (T',)
        reach = first[:, None] + torch.arange(width)  # (T', Q)
        reach = torch.where(reach < batch.bounds[owner + 1, None], reach, len(tokens) - 1).to(batch.device)
        return tokens[reach].flatten(1), None, bounds, first.to(batch.device)

    def drop(self, values: Tensor, generator: torch.Generator | None) -> Tensor:
        """Dropout, while training, from a generator of its own: runs repeat."""
        keep = 1 - self.config.dropout
        if not self.training or keep == 1:
            return values
        mask = torch.empty_like(values).bernoulli_(keep, generator=generator)
        return values * mask / keep


def _word_means(batch: Batch, values: Tensor, *, fallback: Tensor) -> Tensor:
    """Average over the pieces of each word. A word cut off by a maximum length has none and gets `fallback`."""
    count = int(batch.word_bounds[-1])
    if len(values) == count and bool((batch.words == torch.arange(count, device=batch.device)).all()):
        return values  # one piece a word: nothing to average
    sums = values.new_zeros(count, values.shape[1]).index_add_(0, batch.words, values)  # (W, ...)
    pieces = torch.bincount(batch.words, minlength=count)[:, None]  # (W, 1)
    return torch.where(pieces > 0, sums / pieces.clamp(min=1), fallback.to(values.dtype))
