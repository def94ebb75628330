"""The support set: what can be asked of it and done to it, whatever it is kept in.

Where the exemplars and the log live is up to the two kinds of set, `MemorySupportSet` and `LanceSupportSet`;
all that edits mean is here, once.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from exaudit._arrays import ranges
from exaudit.data.document import Label
from exaudit.errors import SupportError
from exaudit.support.diff import Changes, VersionDiff, changes, version_diff
from exaudit.support.exemplars import (
    Array,
    BatchIndex,
    Exemplars,
    SupportBatch,
    SupportDocument,
    document_digest,
)
from exaudit.support.header import SupportHeader, number_of
from exaudit.support.history import REPAIR, BatchRecord, Edit, Entry, State, spans
from exaudit.support.signature import signed

__all__ = ["SupportSet", "damaged"]

_ATTEMPTS = 100  # an attempt fails only because another writer's succeeded
_COMPARED = 64  # documents whose vectors are read together to be compared with their fingerprints
_BLOCK_BYTES = 8 << 20  # small blocks leave less memory behind than large ones, and are not slower to read


class SupportSet(ABC):
    """Documents and the exemplars of their tokens, with every edit on record.

    An edit is whole or not at all, and a method that returned has been recorded. What others do to the same set
    is seen at the next edit or `refresh()`. What is read from a file is compared with the fingerprint that was taken
    when it was added, each document once.
    """

    stored = False  # whether it is read from files, which may be damaged

    def __init__(self, where: str) -> None:
        self.where = where
        self._state = State()
        self._lock = threading.RLock()
        self._assured: dict[int, int] = {}  # documents that are what was added, and a hash of what they say

    # What the two kinds of set provide

    @abstractmethod
    def _append(self, entry: Entry) -> bool:
        """Add an entry to the log if its parent is still the head, atomically; False if it is not."""

    @abstractmethod
    def _news(self) -> list[Entry]:
        """Entries of the log, in order, from the head of the present state to the newest."""

    @abstractmethod
    def _save(self, batch: SupportBatch) -> BatchRecord:
        """Keep a checked batch under a new key. It counts once an entry of the log names it."""

    @abstractmethod
    def _indexes(self, keys: Sequence[int]) -> Mapping[int, BatchIndex]:
        """The narrow columns of batches; documents that are gone are left out."""

    @abstractmethod
    def _read_vectors(self, rows: npt.NDArray[np.int64], out: Array) -> None:
        """Read the vectors of rows into out, in that order."""

    @abstractmethod
    def _read_documents(self, numbers: Sequence[int]) -> list[SupportDocument]:
        """Texts, tokens and meta of documents (labels are filled in by the caller)."""

    def _writing(self) -> AbstractContextManager[None]:
        """Held from the draft of an edit until it is recorded."""
        return nullcontext()

    def compact(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Reclaim the space of what neither this version nor a tagged one needs.

        Removed documents are then really gone: earlier versions without a tag can no longer be restored, and
        `undo` starts afresh. The audit trail itself stays.
        """
        return self._commit(lambda state: Entry("compact", "compacted the support set"), author, reason)

    # Looking

    @property
    def header(self) -> SupportHeader:
        header = self._state.header
        if header is None:
            raise SupportError(f"{self.where}: the log does not start with the creation of a support set")
        return header

    @property
    def version(self) -> str:
        """The name of the content: undoing an edit brings back the version from before it."""
        return self._state.version

    @property
    def number(self) -> int:
        """The number of the last edit; it only grows."""
        return self._state.number

    @property
    def row_count(self) -> int:
        """How many rows were ever given out: the next token added gets this row."""
        return len(self._state.scores)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the live documents, in the order in which they were added."""
        state = self._state
        return tuple(state.ids[number] or "" for number in np.flatnonzero(state.live).tolist())

    def __len__(self) -> int:
        """The number of live tokens."""
        state = self._state
        return int(state.length[state.live].sum())

    def __contains__(self, id: object) -> bool:
        return id in self._state.number_of

    @property
    def folder(self) -> Path | None:
        """Where it is kept, if that is a folder."""
        return None

    def fingerprints(self) -> tuple[list[bytes], npt.NDArray[np.int32]]:
        """Of the live documents, each of its text, vectors and scores; and their numbers of tokens."""
        state = self._state
        numbers = np.flatnonzero(state.live)
        return [state.digests[number] for number in numbers.tolist()], state.length[numbers]

    def exemplars(self, *, vectors: bool = True) -> Exemplars:
        """The live tokens as columns. Without vectors this is quick and small."""
        state = self._state
        numbers = np.flatnonzero(state.live)
        lengths = state.length[numbers]
        row = ranges(state.row[numbers], lengths)
        document = np.repeat(numbers, lengths)
        read = None
        if vectors:
            read = np.empty((len(row), self.header.width), self.header.dtype)
            self.read_vectors(row, read)
        return Exemplars(
            row=row,
            scores=state.scores[row],
            labels=state.label[document],
            token_labels=state.token_labels[row],
            document=document.astype(np.int32),
            position=(row - state.row[document]).astype(np.int32),
            vectors=read,
        )

    def vectors(self, rows: npt.ArrayLike) -> Array:
        """The vectors of some rows, in that order."""
        wanted = np.asarray(rows, dtype=np.int64)
        out = np.empty((len(wanted), self.header.width), self.header.dtype)
        self.read_vectors(wanted, out)
        return out

    def _block_rows(self) -> int:
        return max(1, _BLOCK_BYTES // (self.header.width * np.dtype(self.header.dtype).itemsize))

    def read_vectors(self, rows: npt.NDArray[np.int64], out: Array) -> None:
        """The same, into an array of the caller."""
        step = self._block_rows()
        for start in range(0, len(rows), step):
            self._read_vectors(rows[start : start + step], out[start : start + step])

    def document(self, id: str) -> SupportDocument:
        return self.find([id])[0]

    def find(self, ids: Sequence[str]) -> list[SupportDocument]:
        """Documents by their ids, read together."""
        return self.documents([self._state_number(self._state, id) for id in ids])

    def documents(self, numbers: Sequence[int]) -> list[SupportDocument]:
        """Documents by their numbers (`Exemplars.document`), with their labels as they stand now."""
        state = self._state
        for number in numbers:
            if not (0 <= number < len(state.live) and state.live[number]):
                raise SupportError(f"{self.where}: there is no document number {number} in the support set")
        rows = [(int(state.row[number]), int(state.length[number])) for number in numbers]
        found = [
            replace(
                document,
                row=row,
                label=self.header.document_label(number_of(state.label[document.number])),
                token_labels=self.header.token_labels(state.token_labels[row : row + length]),
            )
            for document, (row, length) in zip(self._read_documents(numbers), rows, strict=True)
        ]
        # A damaged file may be read rightly once and wrongly another time.
        unknown = [each for each in found if self.stored and self._assured.get(each.number) != _said(each)]
        for start in range(0, len(unknown), _COMPARED):
            some = unknown[start : start + _COMPARED]
            part = np.array([document.number for document in some])
            self._compare(some, self.vectors(ranges(state.row[part], state.length[part])))
        return found

    def verify(self) -> None:
        """Read everything and compare it with the fingerprints taken when it was added."""
        numbers = np.flatnonzero(self._state.live)
        self._assured.clear()
        for part in np.array_split(numbers, len(numbers) // _COMPARED + 1):
            self.assure(part)

    def assure(self, numbers: npt.NDArray[np.int64], vectors: Array | None = None) -> None:
        """Compare documents with the fingerprints taken when they were added; `vectors` are theirs, if at hand."""
        state = self._state
        if vectors is None:
            vectors = self.vectors(ranges(state.row[numbers], state.length[numbers]))
        self._compare(self._read_documents(numbers.tolist()), vectors)

    def _compare(self, documents: Sequence[SupportDocument], vectors: Array) -> None:
        state, start = self._state, 0
        for document in documents:
            row, length = int(state.row[document.number]), int(state.length[document.number])
            own, scores = vectors[start : start + length], state.scores[row : row + length]
            whole = document_digest(document, own, scores) == state.digests[document.number]
            if not whole or document.id != state.ids[document.number]:
                raise damaged(self.where, state.ids[document.number])
            self._assured[document.number] = _said(document)
            start += length

    def owners(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the live documents that rows belong to, in ascending order."""
        state = self._state
        live = np.flatnonzero(state.live & (state.length > 0))
        return np.unique(live[np.searchsorted(state.row[live], rows, side="right") - 1])

    # Editing

    def add(
        self, batch: SupportBatch, *, replace: bool = False, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Add documents; with `replace` those whose id is there already take the place of the old ones."""
        batch = batch.checked(self.header)
        saved: list[BatchRecord] = []

        def draft(state: State) -> Entry:
            there = [document.id for document in batch.documents if document.id in state.number_of]
            if there and not replace:
                raise SupportError(
                    f"{_named(there)} is in the support set already; ask to replace, or use another id"
                )
            if not saved or saved[-1].key in state.dropped:
                saved.append(self._save(batch))
            what = f"added {_named([document.id for document in batch.documents])}"
            what += f", replacing {len(there)}" if there else ""
            removed = spans(state.number_of[id] for id in there)
            return Entry("add", what, batches=(saved[-1],), removed=removed)

        return self._commit(draft, author, reason)

    def relabel_document(self, id: str, label: Label, *, author: str | None = None, reason: str = "") -> Edit:
        """Change the label of a document; to several names where documents may have several labels."""
        after, name = self.header.document_number(label, "the new label"), self.header.document_text

        def draft(state: State) -> Entry:
            number = self._state_number(state, id)
            before = number_of(state.label[number])
            if before == after:
                raise SupportError(f"document {id!r} is labelled {name(after)} already")
            what = f"relabelled document {id!r} from {name(before)} to {name(after)}"
            return Entry("relabel", what, labels=((number, before, after),))

        return self._commit(draft, author, reason)

    def relabel_token(
        self,
        id: str,
        position: int,
        label: int | Label | None,
        *,
        author: str | None = None,
        reason: str = "",
    ) -> Edit:
        """Change the label of the token at `position` (from 0).

        label : of two classes 0 or 1, otherwise the name of a class (names, where documents may have several) or
            "none"; None is unknown.
        """
        after, name = self.header.token_number(label), self.header.token_text

        def draft(state: State) -> Entry:
            number = self._state_number(state, id)
            length = int(state.length[number])
            if not 0 <= position < length:
                raise SupportError(
                    f"document {id!r} has {length} tokens, from 0; there is no token {position}"
                )
            before = number_of(state.token_labels[state.row[number] + position])
            if before == after:
                raise SupportError(f"token {position} of document {id!r} is labelled {name(after)} already")
            what = f"relabelled token {position} of document {id!r} from {name(before)} to {name(after)}"
            return Entry("relabel", what, token_labels=((number, position, before, after),))

        return self._commit(draft, author, reason)

    def remove(self, ids: str | Sequence[str], *, author: str | None = None, reason: str = "") -> Edit:
        """Remove documents, all or none of them."""
        wanted = [ids] if isinstance(ids, str) else list(dict.fromkeys(ids))
        if not wanted:
            raise SupportError("there are no documents to remove")

        def draft(state: State) -> Entry:
            numbers = [self._state_number(state, id) for id in wanted]
            return Entry("remove", f"removed {_named(wanted)}", removed=spans(numbers))

        return self._commit(draft, author, reason)

    def undo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Take back the last edit that stands; again for the one before. `redo` goes the other way."""
        return self._commit(lambda state: state.undo(), author, reason)

    def redo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Do again what the last `undo` took back, as long as there was no other edit since."""
        return self._commit(lambda state: state.redo(), author, reason)

    # History

    @property
    def undoable(self) -> bool:
        """Whether there is an edit to take back."""
        return bool(self._state.undoable)

    @property
    def redoable(self) -> bool:
        """Whether there is an edit that was undone last, to do again."""
        return bool(self._state.redoable)

    def log(self) -> list[Edit]:
        """The audit trail: every edit from the creation on, undone ones too."""
        return [entry.edit(number) for number, entry in enumerate(self._state.entries)]

    def tags(self) -> dict[str, int]:
        return dict(self._state.tags)

    def tag(
        self, name: str, version: int | str | None = None, *, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Name a version, the present one by default; a named version survives `compact`."""
        if not name or name.isdigit():
            raise SupportError(f"{name!r} cannot be the name of a version: give it a word, not a number")

        def draft(state: State) -> Entry:
            if name in state.tags:
                raise SupportError(
                    f"the name {name!r} is taken by version {state.tags[name]}; untag it first"
                )
            target = state.number if version is None else self.resolve(version)
            state.at(target)
            return Entry("tag", f"named version {target} {name!r}", name=name, target=target)

        return self._commit(draft, author, reason)

    def untag(self, name: str, *, author: str | None = None, reason: str = "") -> Edit:
        """Forget the name of a version; `compact` may then reclaim it."""

        def draft(state: State) -> Entry:
            if name not in state.tags:
                raise SupportError(f"there is no version named {name!r}")
            return Entry("untag", f"forgot the name {name!r}", name=name)

        return self._commit(draft, author, reason)

    def resolve(self, version: int | str) -> int:
        """The number of a version given as a number, a tag, or the (start of the) name of its content."""
        state = self._state
        text = str(version)
        if text in state.tags:
            return state.tags[text]
        if text.isdigit() and int(text) <= state.number:
            return int(text)
        for number in range(state.number, -1, -1):
            if len(text) >= 6 and state.entries[number].version.startswith(text):
                return number
        raise SupportError(f"there is no version {text}; the last one is {state.number}")

    def diff(self, before: int | str, after: int | str | None = None) -> VersionDiff:
        """What changed between two versions (`after`: the present one by default)."""
        old = self._state.at(self.resolve(before))
        new = self._state if after is None else self._state.at(self.resolve(after))
        return version_diff(old, new, self.header)

    def changes(self, since: int) -> Changes:
        """Rows added, removed and relabelled since edit number `since`, for an index that follows the set.

        A process that has had the set open since then can also follow it through a compaction.
        """
        state = self._state
        if not 0 <= since <= state.number:
            raise SupportError(f"there is no version {since}; the last one is {state.number}")
        return changes(state.before(since + 1), state)

    def refresh(self) -> None:
        """See what other writers have done."""
        with self._lock:
            entries = self._news()
            if entries:
                state = self._state.copy()  # readers in other threads keep the one they have
                try:
                    for entry in entries:
                        state.apply(entry, self._indexes)
                except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                    raise SupportError(
                        f"{self.where}: its log makes no sense ({error!r:.80}); {REPAIR}"
                    ) from error
                if state.version != state.entries[-1].version:
                    raise SupportError(
                        f"{self.where}: the labels or documents of this support set are not those that its log "
                        f"tells of; {REPAIR}"
                    )
                self._state = state

    def _share(self) -> SupportSet:
        """Another object over the same storage."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _commit(self, draft: Callable[[State], Entry], author: str | None, reason: str) -> Edit:
        """Draft an entry on top of the log's end and append it; again if another writer was faster."""
        with self._lock, self._writing():
            for _ in range(_ATTEMPTS):
                self.refresh()
                state = self._state
                entry = signed(draft(state), state.head, author, reason)
                after = state.copy()
                after.hashed = False  # this entry gets its id last, when all of it is known
                after.apply(entry, self._indexes)
                entry = replace(entry, version=after.version)
                entry = replace(entry, id=entry.linked(state.link))
                after.head, after.link, after.hashed = entry.id, entry.id, True
                if after.number > state.number:
                    after.entries[-1] = entry
                if self._append(entry):
                    self._state = after
                    return entry.edit(after.number)
        raise SupportError(f"{self.where}: other writers keep editing the support set; try again later")

    def _state_number(self, state: State, id: str) -> int:
        if id not in state.number_of:
            raise SupportError(f"{self.where}: there is no document {id!r} in the support set")
        return state.number_of[id]


def damaged(where: str, id: str | None) -> SupportError:
    return SupportError(
        f"{where}: document {id!r:.60} is damaged: it is not what was added; "
        "see `exaudit verify`, and go back to what is good with `exaudit support repair`"
    )


def _named(ids: Sequence[str], most: int = 5) -> str:
    some = ", ".join(repr(id) for id in ids[:most])
    if len(ids) == 1:
        return f"document {some}"
    return f"{len(ids)} documents ({some}{', ...' if len(ids) > most else ''})"


def _said(document: SupportDocument) -> int:
    """A hash of what is read of a document, from the same set, again and again."""
    return hash((document.id, document.text, document.tokens, tuple(sorted(document.meta.items()))))
