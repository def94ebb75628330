"""Edits of the support set of a model, and the documents that are in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from exaudit.audit import edits
from exaudit.audit.opened import Opened
from exaudit.data.document import Document, Label
from exaudit.errors import SettingError
from exaudit.support.history import Edit

__all__ = ["Editor", "OverlapWarning"]

CHUNK = 2048  # documents looked up together


class OverlapWarning(UserWarning):
    """Documents to fit or to score on are in the support set themselves: each finds itself, at distance 0."""


class Editor(Opened):
    """Makes the support set, edits it, and tells which documents are in it."""

    def build(
        self,
        documents: Sequence[Any],
        *,
        everything: bool = False,
        resume: bool = True,
        dtype: str | None = None,
        author: str | None = None,
        reason: str = "",
        batches: edits.Batches | None = None,
    ) -> Edit:
        """Make the support set from labelled documents; with `everything` in place of what is there.

        A build that was stopped, at any moment and by any means, goes on when it is started again with the same
        documents, and ends with the same set.

        batches : makes exemplars of parts of the documents, in their order, as the workers of a cluster do.
        """
        labelled = edits.labelled(documents, self.model)
        if self._support is None and self._place is not None and not self._place.has_support():
            self.model.label(labelled[:1], exemplars=True)  # a model without exemplars says so first
            self._support = self._place.create_support(
                dtype=dtype or "float32", precision=self.model.precision, author=author, reason=reason
            )
        elif dtype not in (None, self.support.header.dtype):
            raise SettingError(
                f"the support set keeps its vectors as {self.support.header.dtype}; leave out `dtype`, or remove the "
                "support set and build it anew"
            )
        built = edits.build(
            self.model,
            self.support,
            labelled,
            everything=everything,
            resume=resume,
            author=author,
            reason=reason,
            batches=batches,
        )
        return self._acknowledged(built)

    def add(
        self, documents: Sequence[Any], *, replace: bool = False, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Add labelled documents, as one edit; with `replace` in place of those of the same id."""
        labelled = edits.labelled(documents, self.model)
        added = edits.add(self.model, self.support, labelled, replace=replace, author=author, reason=reason)
        return self._acknowledged(added)

    def relabel(self, id: str, label: Label, *, author: str | None = None, reason: str = "") -> Edit:
        """Change the label of a document of the support set; to several names where documents may have several."""
        return self._acknowledged(self.support.relabel_document(id, label, author=author, reason=reason))

    def relabel_token(
        self,
        id: str,
        position: int,
        label: int | Label | None,
        *,
        author: str | None = None,
        reason: str = "",
    ) -> Edit:
        """Change the label of one token (counted from 0); see `SupportSet.relabel_token`."""
        return self._acknowledged(
            self.support.relabel_token(id, position, label, author=author, reason=reason)
        )

    def remove(self, ids: str | Sequence[str], *, author: str | None = None, reason: str = "") -> Edit:
        """Remove documents from the support set, all or none of them."""
        return self._acknowledged(self.support.remove(ids, author=author, reason=reason))

    def undo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Take back the last edit that stands."""
        return self._acknowledged(self.support.undo(author=author, reason=reason))

    def redo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Do again what was undone last."""
        return self._acknowledged(self.support.redo(author=author, reason=reason))

    def overlap(self, documents: Sequence[Document]) -> list[str]:
        """Ids of the documents that are in the support set with the same text."""
        return edits.overlap(self.support, documents)

    def warn_of_overlap(self, documents: Sequence[Document]) -> None:
        """Warn where documents to be judged by the support set are in it themselves."""
        for _ in self.watch_overlap(documents):
            pass

    def watch_overlap(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents as they come; at their end the same warning."""
        rest, count, same = iter(documents), 0, list[str]()
        while chunk := list(islice(rest, CHUNK)):
            same += self.overlap(chunk)
            count += len(chunk)
            yield from chunk
        if same:
            warnings.warn(
                f"{len(same)} of the {count} documents (such as {same[0]!r}) are in the support set "
                "themselves and will find themselves there; use documents that are not",
                OverlapWarning,
                stacklevel=3,
            )

    def _acknowledged(self, edit: Edit) -> Edit:
        """An edit, once all that answer questions have followed it, where they are many."""
        if self._neighbourhood is not None:
            self._neighbourhood.acknowledge()
        return edit
