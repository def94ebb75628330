"""The three losses: documents (3.1), tokens (3.3) and min-max (3.4); and, beyond the paper, the disagreement of two
readings. Each is averaged over the mini-batch and, where there are several, over the K classes that are decided."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from exaudit.head.batch import Batch
from exaudit.head.network import class_scores

__all__ = ["disagreement", "document_loss", "document_max", "document_min", "min_max_loss", "token_loss"]


def document_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the document's label; the sum over all labels, where a document may have several (B, C).

    The sum, and not the mean: each class then has the gradient that it would have alone.
    """
    if targets.ndim == 2:
        scores = class_scores(logits, "independent")  # (B, C)
        return binary_cross_entropy_with_logits(scores, targets.to(scores.dtype)) * scores.shape[1]
    return cross_entropy(logits, targets)


def token_loss(scores: Tensor, piece_targets: Tensor) -> Tensor:
    """L_n: binary cross-entropy of every piece, which carries the label of its word. A label below 0 is not known, and
    adds nothing."""
    known = piece_targets >= 0  # (T, K)
    return binary_cross_entropy_with_logits(scores, piece_targets.clamp(min=0), weight=known.to(scores.dtype))


def document_max(batch: Batch, scores: Tensor) -> Tensor:
    """s+-_max: the largest score of each document."""
    return _reduce(batch, scores, "amax")  # (B, K)


def document_min(batch: Batch, scores: Tensor) -> Tensor:
    """s+-_min: the smallest score of each document."""
    return _reduce(batch, scores, "amin")  # (B, K)


def min_max_loss(batch: Batch, scores: Tensor, targets: Tensor, *, padded: bool = False) -> Tensor:
    """L_min: some token of every document is negative. L_max: the largest token has the document's label.

    padded : as the paper's code has it and its equations do not: the padding after a document takes part with a score
        of 0. A document whose words are all negative then has the largest score 0, and no word of it is pushed up.
    """
    smallest, largest = document_min(batch, scores), document_max(batch, scores)  # (B, K) each
    if padded:
        smallest, largest = smallest.clamp(max=0), largest.clamp(min=0)  # (B, K) each
    l_min = softplus(smallest)  # -log(1 - sigma(s)) (B, K)
    l_max = binary_cross_entropy_with_logits(largest, targets.to(scores.dtype), reduction="none")  # (B, K)
    return (l_min + l_max).mean() / 2


def disagreement(first: Tensor, second: Tensor) -> Tensor:
    """How far two readings of the same, under other dropout, are apart: R-Drop (Liang et al., 2021).

    The mean of KL(p, q) and KL(q, p), where p and q are the probabilities that the scores stand for.
    """
    return ((first.sigmoid() - second.sigmoid()) * (first - second)).mean() / 2  # log-odds are the scores


def _reduce(batch: Batch, scores: Tensor, how: str) -> Tensor:
    out = scores.new_zeros(len(batch), scores.shape[1])
    rows = batch.documents[:, None].expand_as(scores)  # (T, K)
    return torch.scatter_reduce(out, 0, rows, scores, how, include_self=False)
