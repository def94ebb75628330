"""The history of a support set: a log of edits, and the state that reading the log from the start leads to.

Texts, vectors and scores are written once and never changed. Everything that can change (which documents are
live, their labels, the labels of their tokens) is the sum of the log's entries, and every entry says what it
changed from and to. So an undo is one more small entry, an earlier version is a few entries taken back, and
nothing but the log has to be written atomically.

Each entry names the one it was made on top of, so the log is a chain, read from its head backwards. The head moves
by compare-and-swap: of two writers who make an entry on top of the same one, one succeeds and the other tries again.

The id of an entry is a hash of itself and of all before it, so that one that was changed, forged or left out is
noticed. Entries of exaudit 0.1 have random ids; the first that is made on top of them speaks for them as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._arrays import ranges
from exaudit.errors import SupportError
from exaudit.support.exemplars import BatchIndex
from exaudit.support.header import SupportHeader, signs_of

__all__ = ["REPAIR", "BatchRecord", "Edit", "Entry", "State", "spans"]

REPAIR = "go back to what is good with `exaudit support repair`, or restore it from a backup"
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of the audit trail. `version` names the content that the edit led to, and only the content."""

    number: int
    version: str
    when: str
    who: str
    kind: str
    what: str
    why: str
    documents_added: int = 0
    documents_removed: int = 0
    documents_relabelled: int = 0
    tokens_relabelled: int = 0


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch of documents that was written to the tables under the name `key`."""

    key: int
    documents: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the log: who did what, and each change with its value before and after."""

    kind: str  # create, add, relabel, remove, undo, redo, build, part, discard, tag, untag or compact
    what: str = ""
    who: str = ""
    why: str = ""
    when: str = ""
    id: str = ""
    parent: str = ""
    version: str = ""
    batches: tuple[BatchRecord, ...] = ()
    removed: Spans = ()  # document numbers, as half-open spans
    restored: Spans = ()
    labels: tuple[
        tuple[int, int, int], ...
    ] = ()  # document number, Y before, Y after, as numbers (see `header`)
    token_labels: tuple[tuple[int, int, int, int], ...] = ()  # document number, position, y before, y after
    name: str = ""  # of a tag or a build
    target: int = -1  # the edit that is undone, redone or tagged
    dropped: tuple[int, ...] = ()  # batches that a compaction gave up
    header: SupportHeader | None = None

    @property
    def hashed(self) -> bool:
        """Whether its id is a hash; until 0.1 ids were random and shorter."""
        return len(self.id) == 64

    def linked(self, link: str) -> str:
        """The hash of this entry on top of others, which have the hash `link`."""
        content = json.loads(replace(self, id="").to_json())
        return hashlib.sha256((link + json.dumps(content, sort_keys=True)).encode()).hexdigest()

    def to_json(self) -> str:
        plain = {key: value for key, value in asdict(self).items() if value not in ((), "", None, -1)}
        if self.header is not None:
            plain["header"] = self.header.to_json()
        return json.dumps(plain, ensure_ascii=False)

    def edit(self, number: int) -> Edit:
        """The line of the audit trail."""
        return Edit(
            number=number,
            version=self.version,
            when=self.when,
            who=self.who,
            kind=self.kind,
            what=self.what,
            why=self.why,
            documents_added=sum(batch.documents for batch in self.batches) + _count(self.restored),
            documents_removed=_count(self.removed),
            documents_relabelled=len(self.labels),
            tokens_relabelled=len(self.token_labels),
        )

    @classmethod
    def from_json(cls, text: str) -> Entry:
        try:
            plain: dict[str, Any] = json.loads(text)
            for key in ("removed", "restored", "labels", "token_labels"):
                plain[key] = tuple(tuple(item) for item in plain.get(key, ()))
            plain["batches"] = tuple(BatchRecord(**batch) for batch in plain.get("batches", ()))
            plain["dropped"] = tuple(plain.get("dropped", ()))
            if header := plain.get("header"):
                plain["header"] = SupportHeader(**{**header, "labels": tuple(header["labels"])})
            return cls(**plain)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise SupportError(
                f"the log has an entry that cannot be read ({error!s:.80}); if no newer exaudit wrote it, {REPAIR}"
            ) from None


class State:
    """What the log says up to its last entry: live documents, labels, tags, and what can be undone.

    A document has a number, a token has a row; both count upwards over all that was ever added.
    """

    def __init__(self) -> None:
        self.header: SupportHeader | None = None
        self.head = ""
        self.link = ""  # the hash of all entries
        self.hashed = False  # whether it is the id of the last
        self.entries: list[Entry] = []  # numbered by their place; the parts of a build are not among them
        self.tags: dict[str, int] = {}
        self.undoable: list[int] = []
        self.redoable: list[int] = []
        self.floor = 0  # earlier versions are gone, but for tagged ones
        self.builds: dict[str, tuple[BatchRecord, ...]] = {}
        self.batches: dict[int, int] = {}  # first document number of each batch that was added
        self.first_rows: dict[int, int] = {}  # first row of each
        self.dropped: set[int] = set()
        self.ids: list[str | None] = []  # None: dropped by a compaction
        self.number_of: dict[str, int] = {}  # live documents only
        self.digests: list[bytes] = []
        self.row = np.zeros(0, np.int64)  # first row of each document
        self.length = np.zeros(0, np.int32)
        self.live = np.zeros(0, bool)
        self.label = np.zeros((0, 1), np.int8)  # (D, K)
        self.scores = np.zeros((0, 1), np.float32)  # (n, K)
        self.token_labels = np.zeros((0, 1), np.int8)  # (n, K)
        self._content = 0

    def copy(self) -> State:
        other = State.__new__(State)
        for name, value in vars(self).items():
            plain = isinstance(value, (int, str, SupportHeader)) or value is None
            setattr(other, name, value if plain else value.copy())
        return other

    @property
    def number(self) -> int:
        """The number of the last edit."""
        return len(self.entries) - 1

    @property
    def version(self) -> str:
        """A name for the content: equal content has an equal name, whatever way led to it."""
        return f"{self._content:064x}"[:16]

    # What an entry does, and how it is taken back

    def apply(self, entry: Entry, indexes: Callable[[Sequence[int]], Mapping[int, BatchIndex]]) -> None:
        """Follow the log by one entry."""
        link = entry.linked(self.link)
        if entry.id != link and (entry.hashed or self.hashed):
            raise SupportError(
                f"the log of the support set was changed after it was written, at {entry.what!r:.60}; {REPAIR}"
            )
        self.link, self.hashed, self.head = link, entry.hashed, entry.id
        if entry.kind == "part":
            self.builds[entry.name] = self.builds.get(entry.name, ()) + entry.batches
            return
        if entry.kind in ("build", "discard"):
            self.builds.pop(entry.name, None)
        if entry.kind == "discard":
            return
        for start, stop in entry.removed:
            self._set_live(range(start, stop), False)
        found = indexes([batch.key for batch in entry.batches]) if entry.batches else {}
        for batch in entry.batches:
            self._append(batch, found.get(batch.key))
        for start, stop in entry.restored:
            self._set_live(range(start, stop), True)
        for number, _, after in entry.labels:
            self._set_label(number, after)
        for number, position, _, after in entry.token_labels:
            self._set_token_label(number, position, after)
        self.entries.append(entry)
        self._remember(entry)

    def revert(self, entry: Entry) -> None:
        """Take back what the last entry did to documents and labels."""
        for number, position, before, _ in reversed(entry.token_labels):
            self._set_token_label(number, position, before)
        for number, before, _ in reversed(entry.labels):
            self._set_label(number, before)
        for start, stop in entry.restored:
            self._set_live(range(start, stop), False)
        for start, stop in self.numbers(entry.batches):
            self._set_live(range(start, stop), False)
        for start, stop in entry.removed:
            self._set_live(range(start, stop), True)

    def at(self, number: int) -> State:
        """The documents and labels as they were after edit `number`, for versions that are kept."""
        if not 0 <= number <= self.number:
            raise SupportError(f"there is no version {number}; the last one is {self.number}")
        if number < self.floor and number not in self.tags.values():
            raise SupportError(
                f"version {number} was given up when the support set was compacted "
                f"(version {self.floor}); versions with a tag are kept"
            )
        return self.before(number + 1)

    def before(self, number: int) -> State:
        """The same before edit `number`, of what is still known: dropped documents have no id and no tokens."""
        past = self.copy()
        while past.number >= number:
            past.revert(past.entries.pop())
        return past

    def numbers(self, batches: Iterable[BatchRecord]) -> Spans:
        """The document numbers of batches that were added."""
        firsts = ((self.batches[batch.key], batch.documents) for batch in batches)
        return tuple((first, first + count) for first, count in firsts)

    def undo(self) -> Entry:
        """An entry that takes back the last edit that stands."""
        number, entry = self._last(self.undoable, "undo")
        return Entry(
            "undo",
            f"undid edit {number}: {entry.what}",
            removed=entry.restored + self.numbers(entry.batches),
            restored=entry.removed,
            labels=tuple((n, after, before) for n, before, after in entry.labels),
            token_labels=tuple((n, p, after, before) for n, p, before, after in entry.token_labels),
            target=number,
        )

    def redo(self) -> Entry:
        """An entry that does again what the last undo took back; its batches are there already."""
        number, entry = self._last(self.redoable, "redo")
        return Entry(
            "redo",
            f"redid edit {number}: {entry.what}",
            removed=entry.removed,
            restored=entry.restored + self.numbers(entry.batches),
            labels=entry.labels,
            token_labels=entry.token_labels,
            target=number,
        )

    def _last(self, stack: list[int], verb: str) -> tuple[int, Entry]:
        if not stack:
            since = f" since the support set was compacted (version {self.floor})" if self.floor else ""
            raise SupportError(f"there is nothing to {verb}{since}")
        return stack[-1], self.entries[stack[-1]]

    def _remember(self, entry: Entry) -> None:
        number = self.number
        if entry.kind == "undo":
            self.redoable.append(self.undoable.pop())
        elif entry.kind == "redo":
            self.undoable.append(self.redoable.pop())
        elif entry.kind == "tag":
            self.tags[entry.name] = entry.target
        elif entry.kind == "untag":
            self.tags.pop(entry.name, None)
        elif entry.kind == "compact":
            self.floor = number
            self.undoable, self.redoable = [], []
            self.dropped.update(entry.dropped)
        elif entry.kind == "create" and entry.header is not None:
            self.header = entry.header
            empty = BatchIndex.empty(entry.header.classes)
            self.label, self.scores, self.token_labels = empty.labels, empty.scores, empty.token_labels
        else:
            self.undoable.append(number)
            self.redoable = []

    # The arrays. `_content` is the exclusive or of one mark for each live document, so that an edit costs as much
    # as what it touches, and the way back leads to the same name.

    def _append(self, batch: BatchRecord, index: BatchIndex | None) -> None:
        number, row = len(self.ids), len(self.scores)
        self.batches[batch.key], self.first_rows[batch.key] = number, row
        self.ids += [None] * batch.documents
        self.digests += [b""] * batch.documents
        self.row = np.concatenate([self.row, np.full(batch.documents, row, np.int64)])
        self.length, self.live = _grown(self.length, batch.documents), _grown(self.live, batch.documents)
        self.label = _grown(self.label, batch.documents)
        self.scores, self.token_labels = (_grown(a, batch.tokens) for a in (self.scores, self.token_labels))
        if index is not None:  # None: a compaction has dropped all of it since
            places = index.documents + number
            self.row[places] = index.offsets + row
            self.length[places] = index.lengths
            self.label[places] = index.labels
            rows = ranges(self.row[places], index.lengths)
            self.scores[rows], self.token_labels[rows] = index.scores, index.token_labels
            for place, id, digest in zip(places.tolist(), index.ids, index.digests, strict=True):
                self.ids[place], self.digests[place] = id, digest
        self._set_live(range(number, number + batch.documents), True)

    def _marks(self, numbers: range) -> int:
        part = slice(numbers.start, numbers.stop)
        total = 0
        for digest, row, length, label in zip(
            self.digests[part], *(a[part].tolist() for a in (self.row, self.length, self.label)), strict=True
        ):
            tokens = self.token_labels[row : row + length].tobytes()
            told = digest + row.to_bytes(8, "little") + bytes(sign + 1 for sign in label) + tokens
            total ^= int.from_bytes(hashlib.sha256(told).digest(), "big")
        return total

    def _set_live(self, numbers: range, live: bool) -> None:
        if (self.live[numbers.start : numbers.stop] == live).any():
            raise SupportError(f"the log of the support set contradicts itself; {REPAIR}")
        self._content ^= self._marks(numbers)
        self.live[numbers.start : numbers.stop] = live
        for number in numbers:
            id = self.ids[number]
            if id is not None and live:
                self.number_of[id] = number
            elif id is not None:
                del self.number_of[id]

    def _set_label(self, number: int, label: int) -> None:
        self._content ^= self._marks(range(number, number + 1))
        self.label[number] = signs_of(label, self.label.shape[1])
        self._content ^= self._marks(range(number, number + 1))

    def _set_token_label(self, number: int, position: int, label: int) -> None:
        if position >= self.length[number]:  # dropped by a compaction: its rows are nobody's
            return
        self._content ^= self._marks(range(number, number + 1))
        self.token_labels[self.row[number] + position] = signs_of(label, self.token_labels.shape[1])
        self._content ^= self._marks(range(number, number + 1))

    def live_rows(self) -> npt.NDArray[np.int64]:
        numbers = np.flatnonzero(self.live)
        return ranges(self.row[numbers], self.length[numbers])


def _grown(array: npt.NDArray[Any], by: int) -> npt.NDArray[Any]:
    """With so many rows of zeros more."""
    return np.concatenate([array, np.zeros((by, *array.shape[1:]), array.dtype)])


def _count(numbers: Spans) -> int:
    return sum(stop - start for start, stop in numbers)


def spans(numbers: Iterable[int]) -> Spans:
    """Numbers as half-open spans, in ascending order."""
    array = np.unique(np.fromiter(numbers, np.int64))
    if not len(array):
        return ()
    breaks = np.flatnonzero(np.diff(array) > 1) + 1
    return tuple((int(part[0]), int(part[-1]) + 1) for part in np.split(array, breaks))
