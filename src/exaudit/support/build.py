"""Building a support set from many documents, so that a stopped build goes on where it was stopped."""

from __future__ import annotations

import numpy as np

from exaudit.errors import SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.history import BatchRecord, Edit, Entry, State, spans
from exaudit.support.support_set import SupportSet

__all__ = ["Build"]


class Build:
    """Batches of documents that become part of a support set all at once, as one edit, when it is finished.

    A batch is safe when `add` returns. To resume, start a build of the same `key` (say, the fingerprint of the
    file of documents) and add the documents that are not in `done`, in the same order as before.
    """

    def __init__(self, support: SupportSet, key: str, *, author: str | None = None, reason: str = "") -> None:
        self._support, self.key = support, key
        self._author, self._reason = author, reason
        support.refresh()
        self._known = batches = self._batches(support._state)
        indexes = support._indexes([batch.key for batch in batches])
        if any(batch.key not in indexes for batch in batches):
            raise SupportError(
                f"{support.where}: a batch of this build is lost; discard the build and start again"
            )
        self.done = {id for batch in batches for id in indexes[batch.key].ids}

    def add(self, batch: SupportBatch) -> None:
        """Write a batch; it does not show in the set before `finish`."""
        batch = batch.checked(self._support.header)
        ids = {document.id for document in batch.documents}
        if twice := sorted(ids & self.done):
            raise SupportError(
                f"document {twice[0]!r} is in this build already; skip the documents in `done`"
            )
        saved: list[BatchRecord] = []

        def draft(state: State) -> Entry:
            if self._batches(state) != self._known:
                raise SupportError(
                    f"{self._support.where}: the same build runs elsewhere; let one of them finish"
                )
            if not saved or saved[-1].key in state.dropped:
                saved.append(self._support._save(batch))
            return Entry("part", f"{len(ids)} documents of a build", name=self.key, batches=(saved[-1],))

        self._support._commit(draft, self._author, self._reason)
        self.done |= ids
        self._known += (saved[-1],)

    def finish(self, *, replace: bool = False) -> Edit:
        """Make all batches part of the set; with `replace` they take the place of everything in it."""

        def draft(state: State) -> Entry:
            batches = self._batches(state)
            if not batches:
                raise SupportError("there are no documents to build a support set from")
            there = [id for id in self.done if id in state.number_of]
            if there and not replace:
                raise SupportError(
                    f"document {min(there)!r} is in the support set already; ask to replace, or use another id"
                )
            removed = spans(np.flatnonzero(state.live).tolist()) if replace else ()
            documents, tokens = (sum(getattr(b, name) for b in batches) for name in ("documents", "tokens"))
            what = f"built from {documents} documents with {tokens} tokens"
            what += ", replacing all there was" if removed else ""
            return Entry("build", what, name=self.key, batches=batches, removed=removed)

        return self._support._commit(draft, self._author, self._reason)

    def discard(self) -> None:
        """Give up what was written so far; `compact` reclaims its space."""
        what = "gave up a build"
        self._support._commit(lambda state: Entry("discard", what, name=self.key), self._author, self._reason)
        self.done, self._known = set(), ()

    def _batches(self, state: State) -> tuple[BatchRecord, ...]:
        return state.builds.get(self.key, ())
