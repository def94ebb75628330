"""What is in a support set, in a few figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from exaudit.support.support_set import SupportSet

__all__ = ["summary"]


def summary(support: SupportSet) -> dict[str, Any]:
    """Where it is, what it holds and what it was made for, as plain values."""
    header, columns = support.header, support.exemplars(vectors=False)
    _, first = np.unique(columns.document, return_index=True)
    counts = (columns.labels[first] > 0).sum(axis=0).tolist()  # (K,)
    if header.kind == "binary":
        counts = [len(first) - counts[0], *counts]
    return {
        "location": support.where,
        "version": support.number,
        "fingerprint": support.version,
        "documents": len(support.ids),
        "labels": dict(zip(header.labels, counts, strict=True)),
        "tokens": len(columns),
        "labelled_tokens": int(np.count_nonzero(columns.token_labels[:, 0])),
        "width": header.width,
        "dtype": header.dtype,
        "precision": header.precision,
        "model": header.model,
        "bytes": _size(support.where),
        "tags": [f"{name}={number}" for name, number in support.tags().items()],
    }


def _size(location: str) -> int | None:
    """Bytes on disk; not known of an object store."""
    if not os.path.isdir(location):
        return None
    return sum(file.stat().st_size for file in Path(location).rglob("*") if file.is_file())
