"""Token labels made from a model's own decisions and the labels of the documents, for a second model to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["lessons"]


def lessons(scores: Sequence[NDArray[np.floating]], targets: Sequence[int]) -> list[NDArray[np.int8]]:
    """The decisions s+- > 0 for each document, overruled by its label where that knows better.

    No token of a negative document is positive; of a positive document at least one is: the one with the
    largest score, where none is decided so.
    """
    taught = []
    for own, target in zip(scores, targets, strict=True):
        labels = (np.asarray(own) > 0).astype(np.int8) if target else np.zeros(len(own), np.int8)
        if target and len(own) and not labels.any():
            labels[int(np.argmax(own))] = 1
        taught.append(labels)
    return taught
