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

__all__ = ["filter_max", "responses", "segment_max"]


def responses(vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
    """The feature maps h: every filter applied to every piece (the exemplar vectors r_n, for width 1)."""
    width = vectors.shape[1]
    h = torch.addmm(bias, vectors, weight[:, :width].t())  # (T, M)
    if embedded is not None:
        h = h.addmm_(embedded, weight[:, width:].t())  # (T, M)
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


def _sum_rows(table: Tensor, rows: Tensor, scale: Tensor, into: Tensor, count: int) -> Tensor:
    """out[into[i]] += scale[i] * table[rows[i]], as one blocked gather; `into` must be sorted."""
    starts = torch.searchsorted(into, torch.arange(count, device=into.device))
    return embedding_bag(rows, table, starts, mode="sum", per_sample_weights=scale)  # (count, columns)


class _FilterMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor]:
        values, rows = segment_max(responses(vectors, embedded, weight, bias), bounds)
        ctx.save_for_backward(vectors, embedded, weight, rows)
        ctx.mark_non_differentiable(rows)
        return values, rows

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, embedded, weight, rows = ctx.saved_tensors
        gradient = gradients[0].t().contiguous()  # (M, B)
        live = gradient != 0  # dropout and the ReLU have silenced more than half
        filters = live.nonzero()[:, 0]  # (K,) ascending
        winners, scale = rows.t()[live], gradient[live]  # (K,)

        grad_vectors = grad_embedded = grad_weight = grad_bias = None
        if ctx.needs_input_grad[2]:
            parts = [vectors] if embedded is None else [vectors, embedded]
            grads = [_sum_rows(part, winners, scale, filters, len(weight)) for part in parts if part.shape[1]]
            grad_weight = grads[0] if len(grads) == 1 else torch.cat(grads, 1)  # (M, D)
        if ctx.needs_input_grad[3]:
            grad_bias = gradient.sum(1)  # (M,)
        if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
            winners, order = winners.sort(stable=True)
            width = vectors.shape[1]
            back = (filters[order], scale[order], winners, len(vectors))
            if ctx.needs_input_grad[0]:
                grad_vectors = _sum_rows(weight[:, :width].contiguous(), *back)  # (T, D)
            if ctx.needs_input_grad[1]:
                grad_embedded = _sum_rows(weight[:, width:].contiguous(), *back)  # (T, E)
        return grad_vectors, grad_embedded, grad_weight, grad_bias, None


def filter_max(
    vectors: Tensor, embedded: Tensor | None, weight: Tensor, bias: Tensor, bounds: Tensor
) -> tuple[Tensor, Tensor]:
    """max_n h_m(n) for every document and filter, and its argmax; differentiable in the first."""
    values, rows = _FilterMax.apply(vectors, embedded, weight, bias, bounds)  # type: ignore[no-untyped-call]
    return values, rows
