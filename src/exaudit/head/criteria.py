"""By what the epoch is chosen on the dev documents.

f1, accuracy    of the documents: by the final linear layer, or by the largest word after min-max and token training
loss            the mean loss of the documents
token-f0.5      of the words, where they have labels
linear-f1       of the documents by the final linear layer, whatever the loss, with its boundary put where that is best:
                what the paper's code does
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.metrics import averaged, columns, document_metrics

__all__ = ["CRITERIA", "is_better", "linear_f1"]

CRITERIA = ("f1", "accuracy", "loss", "token-f0.5", "linear-f1")
OFFSETS = np.linspace(0.0, 1.0, 50)  # added to the probability of the positive class, in the paper's code


def linear_f1(
    logits: NDArray[np.floating], of_class: NDArray[np.generic], decided: NDArray[np.bool_]
) -> float:
    """The best F1 of documents (D, K) over the boundaries; of more than two classes, at the usual one."""
    if logits.shape[1] > 1:
        return averaged(columns(decided, of_class), document_metrics)["f1"]
    with np.errstate(divide="ignore"):  # with the last offset, every document is positive
        boundaries = np.log1p(-OFFSETS) - np.log1p(OFFSETS)  # p + offset > 1 - p, as a score
    said = logits.astype(np.float64) > boundaries  # (D, 50)
    true = np.asarray(of_class) > 0  # (D, 1)
    right = (said & true).sum(0)  # (50,)
    return float((2 * right / np.maximum(said.sum(0) + true.sum(), 1)).max())


def is_better(record: dict[str, Any], kept: dict[str, Any], criterion: str, *, paper: bool) -> bool:
    """Whether an epoch takes the place of the one kept. Of equals the first stays; by accuracy, the paper's code
    takes the last."""
    now, before = (_merit(one, criterion, paper) for one in (record, kept))
    return now > before or (paper and criterion == "accuracy" and now == before)


def _merit(record: dict[str, Any], criterion: str, paper: bool) -> float:
    if criterion == "loss":
        return -float(record["dev_loss"])
    if criterion == "linear-f1":
        return float(record["linear_f1"])
    if (
        criterion == "token-f0.5"
    ):  # at zero, or with the boundary that will be tuned on the same labels afterwards
        return float(record["token"]["f0.5"] if paper else record["token_best_f0.5"])
    return float(record["document"][criterion])
