"""Going back to what is good of a damaged support set.

The log is followed as far as it can be proved: by its hashes, and by the content that each entry says it led to. Of the
documents of that version those are kept that are, byte for byte, what was added. They become a new set in the place of
the damaged one, which is put aside with all that is in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from exaudit._arrays import ranges
from exaudit._files import folder_beside, put_folder
from exaudit.data.document import Document
from exaudit.errors import SupportError
from exaudit.support.build import Build
from exaudit.support.exemplars import Array, SupportBatch, document_digest
from exaudit.support.header import SupportHeader, number_of
from exaudit.support.history import Entry, State
from exaudit.support.store import LanceSupportSet

__all__ = ["Repair", "repair"]

_DOCUMENTS = 512  # of one batch of the new set


@dataclass(frozen=True)
class Repair:
    """What is kept of a support set and what is lost."""

    version: int  # the last that can be proved
    documents: int  # kept
    tokens: int
    lost_edits: tuple[str, ...]  # what the edits after that version did, as far as it can be read
    lost_documents: tuple[str, ...]  # ids of documents of that version that are damaged
    aside: str | None = None  # where the damaged set is now; None: nothing was done


def repair(location: str | os.PathLike[str], *, dry_run: bool = False, author: str | None = None) -> Repair:
    """Put a set of all that is good in the place of a damaged one; with `dry_run` only tell what that would be."""
    where = Path(location)
    if "://" in os.fspath(location):
        raise SupportError(
            f"{location}: only a support set in a folder can be repaired; restore it from a backup"
        )
    if not LanceSupportSet.exists(where):
        raise SupportError(
            f"{location}: there is no support set here, nor the log of one; check the path, or restore it from a backup"
        )
    salvage = _Salvage(where)
    told = salvage.told()
    if dry_run:
        return told
    aside = next(p for n in count(1) if not (p := where.with_name(f"{where.name}.damaged-{n}")).exists())
    reason = f"version {told.version} of {aside.name}, without {len(told.lost_documents)} damaged documents"
    with folder_beside(where) as beside:
        _write(salvage, beside / where.name, author, reason)
        put_folder(beside / where.name, where, replace=True, aside=aside)
    return replace(told, aside=str(aside))


def _write(salvage: _Salvage, place: Path, author: str | None, reason: str) -> None:
    header = salvage.header
    support = LanceSupportSet.create(
        place, width=header.width, labels=header.labels, kind=header.kind, model=header.model,
        dtype=header.dtype, precision=header.precision, author=author, reason=reason,
    )  # fmt: skip
    if salvage.good:
        build = Build(support, "repair", author=author, reason=reason)
        for batch in salvage.batches():
            build.add(batch)
        build.finish()
    support.verify()


class _Salvage:
    """What can be read of a damaged set, and proved."""

    def __init__(self, where: Path) -> None:
        self.where, self._tables = where, LanceSupportSet(where)
        self._indexes = self._tables.readable_indexes()
        self._entries, self._count = self._log(), 0  # all, and how many of them can be proved
        self.state = self._proved()
        if self.state.header is None:
            raise SupportError(
                f"{where}: nothing in the log of this support set can be proved; restore it from a backup, or build it "
                "anew"
            )
        self.header: SupportHeader = self.state.header
        self._vectors = self._tables.readable_vectors(self.state)  # by row
        self._texts = self._tables.readable_documents(self.state)  # by number
        live = np.flatnonzero(self.state.live).tolist()
        self.good = [number for number in live if self._is_whole(number)]

    def told(self) -> Repair:
        state, good = self.state, set(self.good)
        live = np.flatnonzero(state.live).tolist()
        return Repair(
            version=state.number,
            documents=len(good),
            tokens=int(state.length[self.good].sum()),
            lost_edits=tuple(entry.what for entry in self._entries[self._count :]),
            lost_documents=tuple(state.ids[n] or f"number {n}" for n in live if n not in good),
        )

    def batches(self) -> Iterator[SupportBatch]:
        """The good documents with their labels as they stood."""
        state = self.state
        for start in range(0, len(self.good), _DOCUMENTS):
            part = np.array(self.good[start : start + _DOCUMENTS])
            rows = ranges(state.row[part], state.length[part])
            yield SupportBatch(
                documents=[self._document(number) for number in part.tolist()],
                vectors=self._stacked(rows.tolist()),
                scores=state.scores[rows],
                token_labels=state.token_labels[rows],
            )

    def _document(self, number: int) -> Document:
        text = self._texts[number]
        label = self.header.document_label(number_of(self.state.label[number]))
        return Document(text.id, text.text, text.tokens, label, meta=text.meta)

    def _is_whole(self, number: int) -> bool:
        state, text = self.state, self._texts.get(number)
        rows = range(int(state.row[number]), int(state.row[number] + state.length[number]))
        if text is None or text.id != state.ids[number] or any(row not in self._vectors for row in rows):
            return False
        scores = state.scores[rows.start : rows.stop]
        return document_digest(text, self._stacked(rows), scores) == state.digests[number]

    def _stacked(self, rows: Sequence[int]) -> Array:
        empty = np.zeros((0, self.header.width), self.header.dtype)
        return np.stack([self._vectors[row] for row in rows]) if rows else empty

    def _log(self) -> list[Entry]:
        """The longest chain of entries that can be read, from the first on; that of the head if it is one of them."""
        entries, head = self._tables.readable_log()
        chains = [_chain(entries, id) for id in ([head] if head in entries else entries)]
        return max(chains, key=len, default=[])

    def _proved(self) -> State:
        """The state after the last entry that leads to the content it says it does."""
        state = proved = State()
        for number, entry in enumerate(self._entries, start=1):
            state = state.copy()
            try:
                state.apply(entry, lambda keys: self._indexes)
            except (SupportError, ValueError, IndexError, KeyError):
                break
            if state.version == entry.version:
                proved, self._count = state, number
        return proved


def _chain(entries: Mapping[str, Entry], id: str) -> list[Entry]:
    """Entries from the creation of the set to this one; none where there is a gap."""
    chain: list[Entry] = []
    while id in entries and len(chain) < len(entries):
        chain.append(entries[id])
        id = chain[-1].parent
    return chain[::-1] if id == "" else []
