"""Which column of a table (or field of a JSON object) is the text, the label, the id."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ID_NAMES", "LABEL_NAMES", "TEXT_NAMES", "find_column", "listed"]

# In order of preference, compared without case.
TEXT_NAMES = (
    "text", "review", "sentence", "document", "content", "tweet", "comment", "body", "message", "review_text",
)  # fmt: skip
LABEL_NAMES = ("label", "labels", "class", "sentiment", "category", "target", "y", "polarity", "gold")
ID_NAMES = ("id", "doc_id", "docid", "document_id", "uid", "guid")


def find_column(names: Sequence[str], wanted: str | None, usual: Sequence[str]) -> int | None:
    """The place of the column `wanted`, or else of the first usual name; None if there is none.

    An exact match is preferred over one without case. Two columns of the same name: the first.
    """
    if wanted is not None and wanted in names:
        return names.index(wanted)
    plain = [name.strip().casefold() for name in names]
    for name in usual if wanted is None else (wanted,):
        if name.strip().casefold() in plain:
            return plain.index(name.strip().casefold())
    return None


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message: short, quoted, and not all of hundreds."""
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
