"""A look at the labels of documents as they are read: which have none, and which are written in several ways."""

from __future__ import annotations

from collections.abc import Iterator

from exaudit.data.columns import listed
from exaudit.data.document import Document
from exaudit.data.notes import Notes, Problem
from exaudit.errors import DataError

__all__ = ["MARKED", "awaits_marks", "labelled"]

NO_LABEL = "a document has no label"
MARKED = "marked"  # of what `exaudit suggest` writes: whether a person has been over the words
NOTED = 5  # spellings that are noted one by one


def labelled(
    documents: Iterator[Document], notes: Notes, *, need_labels: bool, skip_unlabelled: bool
) -> Iterator[Document]:
    """The documents. Those without a label are left out with `skip_unlabelled`; else, where labels are needed, they are
    counted to the end of the file, and an error. So is a document whose words a person has yet to go over."""
    missing = Problem(NO_LABEL, is_error=True)
    total, others = 0, ""
    for document in documents:
        total += 1
        if need_labels and awaits_marks(document):
            raise DataError(
                f"document {document.id!r} is not marked yet ({MARKED!r} is false), so its token labels are the "
                "model's own; correct these, then set it to true",
                notes.path,
                document.line or None,
            )
        notes.spellings.add(document.label)
        if document.label is None and document.token_labels is None and (need_labels or skip_unlabelled):
            missing.add(document.line)
            others = others or listed(list(document.meta))
            if skip_unlabelled:
                notes.warn(f"{NO_LABEL}; skipped", document.line)
        elif not missing.count or skip_unlabelled:  # else it is no use any more: the rest is only counted
            if document.label is None and "label" in notes.columns:
                notes.warn(NO_LABEL, document.line)
            yield document
    if missing.count and (missing.count == total or not skip_unlabelled):
        raise _error(missing, total, others, notes)
    _tell_spellings(notes)


def awaits_marks(document: Document) -> bool:
    """Whether its token labels are a model's, for a person to correct (`exaudit suggest`)."""
    told = document.meta.get(MARKED, "true").strip().casefold()
    return document.token_labels is not None and told in ("false", "0", "no")


def _error(missing: Problem, total: int, others: str, notes: Notes) -> DataError:
    first = missing.lines[0] if missing.lines else None
    if missing.count == total:
        return DataError(
            "no document has a label; "
            + (f"if one of {others} holds it, name that with `label_column`" if others else "add labels"),
            notes.path,
            first,
        )
    where = ", ".join(map(str, missing.lines)) + (", ..." if missing.count > len(missing.lines) else "")
    lines = "line" if missing.count == 1 else "lines"
    return DataError(
        f"{missing.count:,} of {total:,} documents {'has' if missing.count == 1 else 'have'} no label"
        + (f" ({lines} {where})" if where else "")
        + "; fill them in, or leave such documents out with `skip_unlabelled`",
        notes.path,
        first,
    )


def _tell_spellings(notes: Notes) -> None:
    variants = notes.spellings.variants()
    for name, common, count in variants[:NOTED]:
        notes.warn(f"the label {name!r} is taken for {common!r}, which differs in case alone", count=count)
    if len(variants) > NOTED:
        rest = variants[NOTED:]
        notes.warn(
            f"{len(rest):,} more labels differ from others in case alone and are taken for them",
            count=sum(count for _, _, count in rest),
        )
