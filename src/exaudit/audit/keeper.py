"""A model with its support set, and the edits of the set."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from exaudit.audit.building import batch_of, build, named
from exaudit.audit.place import ModelPlace
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.errors import DataError, SettingError, SupportError
from exaudit.model.labeler import Labeler, as_documents
from exaudit.support.difference import Difference
from exaudit.support.exemplars import SupportDocument
from exaudit.support.history import Edit
from exaudit.support.support_set import SupportSet

__all__ = ["Keeper"]

_ADD_TOKENS = 1 << 15  # more are added in parts, as a build, so that they need not fit into memory


class Keeper:
    """Builds and edits the support set of a model. `exaudit.audit.Auditor` adds what can be learned from it."""

    def __init__(
        self,
        labeler: Labeler | None = None,
        support: SupportSet | None = None,
        *,
        place: ModelPlace | None = None,
        device: str = "auto",
        encoder: str | None = None,
        stream: bool = False,
    ) -> None:
        """A labeler and a support set at hand; use `open` for those of a model folder."""
        if place is None and (labeler is None or support is None):
            raise SettingError("an Auditor needs a labeler and a support set; or use Auditor.open(folder)")
        self._place, self._labeler, self._support = place, labeler, support
        self._device, self._encoder, self._stream = device, encoder, stream
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        model: str | os.PathLike[str],
        *,
        support: str | os.PathLike[str] | None = None,
        device: str = "auto",
        encoder: str | None = None,
        stream: bool = False,
    ) -> Self:
        """The auditor of a model folder. Weights, support set and vectors are read when first needed.

        Parameters
        ----------
        model
            The model folder.
        support
            Folder or object-store URL of the support set; `<model>/support` by default.
        device
            auto, cpu or cuda.
        encoder
            Where the model's Transformer is now, if it has moved.
        stream
            Leave the vectors on disk and search them in blocks.
        """
        return cls(place=ModelPlace.of(model, support), device=device, encoder=encoder, stream=stream)

    @property
    def labeler(self) -> Labeler:
        with self._lock:
            if self._labeler is None:
                assert self._place is not None
                self._labeler = self._place.load_labeler(device=self._device, encoder=self._encoder)
            return self._labeler

    @property
    def support(self) -> SupportSet:
        with self._lock:
            if self._support is None:
                assert self._place is not None
                self._support = self._place.open_support()
            return self._support

    @property
    def names(self) -> LabelNames:
        return self.labeler.names_ if self._place is None else self._place.names

    # -- edits ---------------------------------------------------------------------------------------------

    def build(
        self,
        documents: Sequence[Any],
        *,
        everything: bool = False,
        resume: bool = True,
        dtype: str = "float32",
        author: str | None = None,
        reason: str = "",
    ) -> Edit:
        """Make the support set from labelled documents; with `everything` in place of what is there.

        A build that was stopped, at any moment and by any means, goes on when it is started again with the same
        documents, and ends with the same set.
        """
        labelled = self._labelled(documents)
        if self._support is None and self._place is not None and not self._place.has_support():
            self.labeler.label(labelled[:1], exemplars=True)  # a model without exemplars says so first
            self._support = self._place.create_support(dtype=dtype, author=author, reason=reason)
        support = self.support
        support.refresh()
        if support.ids and not everything:
            if self._is_built_from(labelled):
                return support.log()[-1]
            raise SupportError(
                f"{support.where}: there is a support set of {len(support.ids)} documents already; add to it, or ask "
                "to replace it"
            )
        return build(
            self.labeler,
            support,
            labelled,
            everything=everything,
            resume=resume,
            author=author,
            reason=reason,
        )

    def add(
        self, documents: Sequence[Any], *, replace: bool = False, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Add labelled documents, as one edit; with `replace` in place of those of the same id."""
        labelled, support = self._labelled(documents), self.support
        support.refresh()
        if taken := [document.id for document in labelled if document.id in support and not replace]:
            raise SupportError(
                f"document {taken[0]!r} is in the support set already ({len(taken)} of {len(labelled)} are); ask to "
                "replace, or use other ids"
            )
        if not replace and sum(len(document.tokens) for document in labelled) > _ADD_TOKENS:
            return build(self.labeler, support, labelled, author=author, reason=reason)
        batch = batch_of(self.labeler.label(labelled, exemplars=True), self.names)
        return support.add(batch, replace=replace, author=author, reason=reason)

    def relabel(self, id: str, label: str, *, author: str | None = None, reason: str = "") -> Edit:
        """Change the label of a document of the support set."""
        return self.support.relabel_document(id, label, author=author, reason=reason)

    def relabel_token(
        self, id: str, position: int, label: int | None, *, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Change the label of one token (counted from 0) to 0, 1 or None (unknown)."""
        return self.support.relabel_token(id, position, label, author=author, reason=reason)

    def remove(self, ids: str | Sequence[str], *, author: str | None = None, reason: str = "") -> Edit:
        """Remove documents from the support set, all or none of them."""
        return self.support.remove(ids, author=author, reason=reason)

    def undo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Take back the last edit that stands."""
        return self.support.undo(author=author, reason=reason)

    def redo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Do again what was undone last."""
        return self.support.redo(author=author, reason=reason)

    def compact(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Reclaim the space of versions without a name."""
        return self.support.compact(author=author, reason=reason)

    # -- history -------------------------------------------------------------------------------------------

    def tag(self, name: str, version: int | str | None = None, *, author: str | None = None) -> Edit:
        """Name a version of the support set, the present one by default."""
        return self.support.tag(name, version, author=author)

    def log(self) -> list[Edit]:
        """Every edit: who, when, what and why."""
        return self.support.log()

    def diff(self, before: int | str, after: int | str | None = None) -> Difference:
        """What differs between two versions of the support set."""
        return self.support.diff(before, after)

    def summary(self) -> dict[str, Any]:
        """What is in the support set, in a few figures."""
        support, columns = self.support, self.support.exemplars(vectors=False)
        _, first = np.unique(columns.document, return_index=True)
        positive = int((columns.labels[first] > 0).sum())
        header = support.header
        return {
            "location": support.where,
            "version": support.number,
            "fingerprint": support.version,
            "documents": len(support.ids),
            "labels": {header.labels[0]: len(first) - positive, header.labels[1]: positive},
            "tokens": len(columns),
            "labelled_tokens": int(np.count_nonzero(columns.token_labels)),
            "width": header.width,
            "dtype": header.dtype,
            "model": header.model,
            "bytes": _size(support.where),
            "tags": [f"{name}={number}" for name, number in support.tags().items()],
        }

    def overlap(self, documents: Sequence[Document]) -> list[str]:
        """Ids of the documents that are in the support set with the same text."""
        shared = {document.id: document.text for document in documents if document.id in self.support}
        kept = self._kept(list(shared))
        return [document.id for document in kept if document.text == shared[document.id]]

    # -- inside --------------------------------------------------------------------------------------------

    def _labelled(self, documents: Sequence[Any]) -> list[Document]:
        labelled = named(as_documents(documents), self.names)
        if not labelled:
            raise DataError("there are no documents to put into the support set")
        if len({document.id for document in labelled}) < len(labelled):
            raise DataError("two of the documents have the same id; the ids in a support set are unique")
        return labelled

    def _is_built_from(self, documents: Sequence[Document]) -> bool:
        """Whether the last edit was a build of just these documents: it may have been stopped at its very end."""
        ids = tuple(document.id for document in documents)
        if self.support.log()[-1].kind != "build" or self.support.ids != ids:
            return False
        return all(
            (kept.text, kept.tokens, kept.label) == (given.text, given.tokens, given.label)
            for kept, given in zip(self._kept(ids), documents, strict=True)
        )

    def _kept(self, ids: Sequence[str]) -> list[SupportDocument]:
        """Documents of the support set by their ids, read together."""
        support = self.support
        every, numbers = support.ids, np.unique(support.exemplars(vectors=False).document).tolist()
        if len(every) != len(numbers):  # some have no tokens, and so no exemplar that tells their number
            return [support.document(id) for id in ids]
        number = dict(zip(every, numbers, strict=True))
        return support.documents([number[id] for id in ids])


def _size(location: str) -> int | None:
    """Bytes on disk; not known of an object store."""
    if not os.path.isdir(location):
        return None
    return sum(file.stat().st_size for file in Path(location).rglob("*") if file.is_file())
