"""Pseudo-labels: token labels made from a model's own decisions and the labels of the documents, for a second model to
learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["pseudo_labels"]


def pseudo_labels(
    scores: Sequence[NDArray[np.floating]], targets: NDArray[np.integer]
) -> list[NDArray[np.int8]]:
    """The decisions s+- > 0 (N, K) for each document, overruled by its labels (K,) where those know better.

    A document without a class has no token of that class; one with the class has at least one: the one with the
    largest score, where none is decided so.
    """
    made = []
    for own, target in zip(scores, targets, strict=True):
        labels = ((own > 0) & (target > 0)).astype(np.int8)  # (N, K)
        if len(own):
            missing = np.flatnonzero((target > 0) & ~labels.any(0))  # classes
            labels[own[:, missing].argmax(0), missing] = 1
        made.append(labels)
    return made
