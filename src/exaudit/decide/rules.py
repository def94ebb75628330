"""Inference-time decision rules: a positive prediction stands only if its nearest exemplar bears it out.

Both look at the nearest match alone, and can only take positives away from the model, never add any.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from exaudit.decide.neighbours import Bools, Neighbours, Signs, per_token
from exaudit.errors import SupportError

__all__ = ["exag", "exat", "sgn"]


def sgn(values: npt.ArrayLike) -> Signs:
    """The paper's binary threshold: +1 above zero, -1 at zero and below."""
    return np.where(np.asarray(values) > 0, 1, -1).astype(np.int8)


def exag(scores: npt.ArrayLike, neighbours: Neighbours) -> Bools:
    """ExAG: s_n > 0, and the nearest exemplar has s > 0 and comes from a positive document (Y = 1)."""
    return _borne_out(scores, neighbours, neighbours.labels)


def exat(scores: npt.ArrayLike, neighbours: Neighbours, *, has_token_labels: bool | None = None) -> Bools:
    """ExAT: s_n > 0, and the nearest exemplar has s > 0 and is itself labelled positive (y = 1).

    An exemplar without a token label bears nothing out, so the token is not admitted. A support set without any
    token label is an error rather than a page of negatives. Whether it has some is judged from the neighbours
    given; who knows better (a single sentence may match unlabelled exemplars only) says so in `has_token_labels`.
    """
    if has_token_labels is None:
        has_token_labels = len(neighbours) == 0 or bool(neighbours.token_labels.any())
    if not has_token_labels:
        raise SupportError(
            "ExAT needs token labels in the support set, and no exemplar found has one; "
            "label tokens there, or use ExAG, which needs document labels only"
        )
    return _borne_out(scores, neighbours, neighbours.token_labels)


def _borne_out(scores: npt.ArrayLike, neighbours: Neighbours, labels: Signs) -> Bools:
    positive: Bools = per_token(scores, neighbours, "scores") > 0  # (N,)
    nearest: Bools = (neighbours.scores[:, 0] > 0) & (labels[:, 0] == 1)  # (N,)
    return positive & nearest
