"""Filters and max-pool over documents laid end to end, with a backward pass that touches only the winners.

Of all T pieces of a document, one wins each filter's max-pool, and only that one gets a gradient. Plain autograd
multiplies a (T, M) matrix of almost only zeros with the features; here each filter gathers its B winning rows.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

__all__ = ["filter_max", "passages", "responses", "segment_max"]


def responses(vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
    """The feature maps h: every filter applied to every piece (the exemplar vectors r_n, for width 1)."""
    width = vectors.shape[1]
    h = torch.addmm(bias, vectors, weight[:, :width].t())  # (T, M)
    if embedded is not None:
        h = h.addmm_(embedded.to(h.dtype), weight[:, width:].t().to(h.dtype))  # (T, M) rounded as h may be
    return h


def segment_max(h: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """The largest response of each filter in each document, and the row where it stands."""
    if h.device.type == "cpu":  # documents are few and short: a loop beats any padding
        ends = bounds.tolist()
        values = h.new_empty(len(ends) - 1, h.shape[1])  # (B, M)
        rows = torch.empty(values.shape, dtype=torch.long)  # (B, M)
        for b, (start, end) in enumerate(pairwise(ends)):
            torch.max(h[start:end], 0, out=(values[b], rows[b]))
            rows[b] += start
        return values, rows
    # Short documents repeat their last piece, which changes no maximum: padding without a mask.
    lengths = bounds.diff()  # (B,)
    steps = torch.arange(int(lengths.max()))  # (L,)
    index = (bounds[:-1, None] + torch.minimum(steps, lengths[:, None] - 1)).to(h.device)  # (B, L)
    values, steps = h[index].max(1)  # (B, M)
    return values, index.gather(1, steps)


def passages(bounds: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """Documents cut into as few passages as have at most so many pieces each, all about equally long.

    Gives the bounds of the passages (P + 1,), and how many each document has (B,).
    """
    lengths = bounds.diff()  # (B,)
    counts = (lengths + longest - 1) // longest  # (B,)
    counts = counts.clamp(min=1)
    if len(counts) == int(counts.sum()):  # one each
        return bounds, counts
    first = torch.repeat_interleave(counts.cumsum(0) - counts, counts)  # (P,) of the document
    place = torch.arange(len(first)) - first  # (P,) which one of its document
    length, count, start = (
        torch.repeat_interleave(part, counts) for part in (lengths, counts, bounds[:-1])
    )  # (P,) each
    return torch.cat([start + place * length // count, bounds[-1:]]), counts


class _FilterMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor]:
        values, rows = segment_max(responses(vectors, embedded, weight, bias), bounds)
        ctx.save_for_backward(vectors, embedded, weight, rows)
        ctx.mark_non_differentiable(rows)
        return values.to(vectors.dtype), rows  # its gradient is taken without rounding

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, embedded, weight, rows = ctx.saved_tensors
        parts = [vectors] if embedded is None else [vectors, embedded]
        product = _Winners(gradients[0].t().contiguous(), rows.t(), len(vectors))
        grad_weight = torch.cat([product.with_pieces(part) for part in parts], 1)  # (M, D)
        grad_parts: list[Tensor | None] = [None, None]
        start = 0
        for i, part in enumerate(parts):
            if ctx.needs_input_grad[i]:
                grad_parts[i] = product.with_filters(weight[:, start : start + part.shape[1]].contiguous())
            start += part.shape[1]
        return *grad_parts, grad_weight, gradients[0].sum(0), None


class _Winners:
    """The gradient of the feature maps: a matrix (M, T) whose row m has one entry for each document."""

    def __init__(self, gradient: Tensor, rows: Tensor, pieces: int) -> None:
        self.filters, self.pieces = len(gradient), pieces
        self.dense: Tensor | None = None
        if gradient.device.type == "cuda":  # a GPU multiplies the zeros faster than it gathers
            self.dense = gradient.new_zeros(self.filters, pieces).scatter_(1, rows, gradient)  # (M, T)
            return
        live = gradient != 0  # dropout and the ReLU have silenced more than half
        self.owner = live.nonzero()[:, 0]  # (K,) filters, ascending
        self.winner, self.scale = rows[live], gradient[live]  # (K,)

    def with_pieces(self, table: Tensor) -> Tensor:
        """Times (T, D): each filter gathers the pieces that won it."""
        if self.dense is not None:
            return self.dense @ table
        return _sum_rows(table, self.winner, self.scale, self.owner, self.filters)

    def with_filters(self, table: Tensor) -> Tensor:
        """Transposed, times (M, D): each piece gathers the filters that it won."""
        if self.dense is not None:
            return self.dense.t() @ table
        winner, order = self.winner.sort(stable=True)
        return _sum_rows(table, self.owner[order], self.scale[order], winner, self.pieces)


def _sum_rows(table: Tensor, rows: Tensor, scale: Tensor, into: Tensor, count: int) -> Tensor:
    """out[into[i]] += scale[i] * table[rows[i]], as one blocked gather; `into` must be sorted."""
    if table.shape[1] == 0:
        return table.new_zeros(count, 0)
    starts = torch.searchsorted(into, torch.arange(count, device=into.device))
    return embedding_bag(rows, table, starts, mode="sum", per_sample_weights=scale)  # (count, columns)


def filter_max(
    vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor, bounds: Tensor
) -> tuple[Tensor, Tensor]:
    """max_n h_m(n) for every document and filter, and its argmax; differentiable in the first."""
    values, rows = _FilterMax.apply(vectors, embedded, weight, bias, bounds)  # type: ignore[no-untyped-call]
    return values, rows
