"""A support set on disk, in three Lance tables.

    <location>/exemplars.lance    batch, document (its place in the batch), position, vector
    <location>/documents.lance    batch, document, id, text, tokens, scores, labels as they were added, ...
    <location>/log.lance          id and JSON of each entry; see `exaudit.support.history`
    <location>/head.json          the last entry that counts; see `exaudit.support.head`
    <location>/sketches.safetensors    what a search has found out so far; see `exaudit.support.sketch_file`

An edit appends its data to the first two, its entry to the log, and then moves the head. What cannot be reached from
the head, because its writer was killed or was slower than another, is never looked at. A location can be a folder or
any object store that Lance knows.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from exaudit._files import folder_beside, make_folder, put_folder
from exaudit.data.document import Document
from exaudit.data.labels import Kind
from exaudit.errors import SupportError
from exaudit.support.exemplars import Array, BatchIndex, SupportBatch, SupportDocument
from exaudit.support.head import head_of
from exaudit.support.header import SupportHeader
from exaudit.support.history import REPAIR, BatchRecord, Edit, Entry, State
from exaudit.support.signature import signed
from exaudit.support.support_set import SupportSet
from exaudit.support.tables import KeyedTable, Located, Numbers, Table, folder_of, matrix

__all__ = ["TEXTS", "LanceSupportSet", "document_of"]

_FILE_BYTES = 32 << 20  # compaction rewrites one file at a time, so this is the space it needs
_LOG_FILES = 64  # the log is merged into one file when it has this many
TEXTS = ["id", "text", "tokens", "meta"]
_NARROW = ["batch", "document", "offset", "length", "id", "label", "token_labels", "scores", "digest"]


class LanceSupportSet(SupportSet):
    """A support set in Lance tables. Use `create` or `open`."""

    stored = True

    def __init__(self, location: str | os.PathLike[str]) -> None:
        super().__init__(os.fspath(location))
        folder = self.where.rstrip("/")
        self._log = Table(
            f"{folder}/log.lance", lambda: self._head.version("log"), lambda: self._head.checksum("log")
        )
        self._documents = KeyedTable(
            f"{folder}/documents.lance",
            ["batch", "document"],
            lambda *keys: _numbers(self._state, *keys),
            lambda: self._head.version("documents"),
            lambda: self._head.checksum("documents"),
        )
        self._exemplars = KeyedTable(
            f"{folder}/exemplars.lance",
            ["batch", "document", "position"],
            lambda *keys: _rows(self._state, *keys),
            lambda: self._head.version("exemplars"),
            lambda: self._head.checksum("exemplars"),
        )
        tables = {"exemplars": self._exemplars, "documents": self._documents, "log": self._log}
        self._head = head_of(self.where, tables)
        self._seen = 0
        self._unread: dict[str, str] = {}  # entries of the log that were not reached from the head so far
        self._narrow: dict[int, BatchIndex] = {}

    @classmethod
    def exists(cls, location: str | os.PathLike[str]) -> bool:
        """Whether there is a support set at this location, or what is left of one that was damaged."""
        support = cls(location)
        return support._head.exists() or support._has_log()

    @classmethod
    def create(
        cls,
        location: str | os.PathLike[str],
        *,
        width: int,
        labels: Sequence[str],
        kind: Kind = "binary",
        model: str,
        dtype: str = "float32",
        precision: str = "float32",
        author: str | None = None,
        reason: str = "",
    ) -> LanceSupportSet:
        """An empty set for exemplars of `model` (its fingerprint); of two labels the negative one comes first."""
        header = SupportHeader(width, tuple(labels), model, dtype, kind, precision)
        if cls.exists(location):
            raise SupportError(f"{location}: there is a support set already; open it, or delete it first")
        entry = Entry("create", "created the support set", header=header, version=State().version)
        entry = signed(entry, "", author, reason)
        entry = replace(entry, id=entry.linked(""))
        folder = folder_of(os.fspath(location))
        if folder is None:  # the head is written last; let one process create it
            cls(location)._create(entry, header)
            return cls.open(location)
        try:  # under another name, so that it is there whole or not at all, and only once
            make_folder(folder.parent)
            with folder_beside(folder) as draft:
                cls(draft)._create(entry, header)
                put_folder(draft, folder)
        except OSError as error:
            raise SupportError(f"{location}: cannot create a support set here: {error.strerror}") from error
        return cls.open(location)

    def _create(self, entry: Entry, header: SupportHeader) -> None:
        nothing = BatchIndex.empty(header.classes)
        self._exemplars.create(_exemplar_rows(0, nothing, np.zeros((0, header.width), header.dtype)))
        self._documents.create(_document_rows(0, nothing, []))
        self._log.create(_log_row(entry))
        self._head.create(entry.id)

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str],
        *,
        width: int | None = None,
        labels: Sequence[str] | None = None,
        kind: Kind | None = None,
        model: str | None = None,
    ) -> LanceSupportSet:
        """The set at a location; one made for another model, width or label set than asked for is refused."""
        support = cls(location)
        if not support._head.exists():
            if support._has_log():
                raise SupportError(f"{location}: the support set here has lost its head.json; {REPAIR}")
            raise SupportError(f"{location}: there is no support set here; build one first")
        support.refresh()
        header = support.header
        header.check(support.where, width=width, labels=labels, kind=kind, model=model)
        bytes_per_row = header.width * np.dtype(header.dtype).itemsize
        support._exemplars.rows_per_file = max(1, _FILE_BYTES // bytes_per_row)
        support._check()
        support._head.tidy()
        return support

    @property
    def folder(self) -> Path | None:
        return folder_of(self.where)

    def verify(self) -> None:
        from exaudit.support.sketch_file import check_sketches

        super().verify()
        check_sketches(self)

    def _has_log(self) -> bool:
        return self._log.folder is not None and self._log.folder.is_dir()

    def _check(self) -> None:
        """Refuse tables that do not hold what the log says."""
        state = self._state
        lost = [number for number in np.flatnonzero(state.live).tolist() if state.ids[number] is None]
        if lost:
            raise SupportError(f"{self._documents.uri}: this table is damaged; {REPAIR}")
        if (self._exemplars.places(state.live_rows())[1] < 0).any():
            raise SupportError(f"{self._exemplars.uri}: this table is damaged; {REPAIR}")

    # The log

    def _append(self, entry: Entry) -> bool:
        self._log.append(_log_row(entry))
        self._log.merge_files(_LOG_FILES)
        return self._head.move(entry.parent, entry.id)

    def _writing(self) -> AbstractContextManager[None]:
        return self._head.writing()

    def _news(self) -> list[Entry]:
        head = self._head.entry()
        if head == self._state.head:
            return []
        chain = self._chain(head, self._seen) or self._chain(head, 0)
        if chain is None:
            raise SupportError(f"{self._log.uri}: this table is damaged; {REPAIR}")
        self._indexes(
            [batch.key for entry in chain for batch in entry.batches]
        )  # all at one look at the table
        for entry in chain:
            del self._unread[entry.id]
        return chain

    def _chain(self, head: str, start: int) -> list[Entry] | None:
        """Entries from the present state to `head`, or None if some are not among those from place `start` on:
        after another process has shrunk the log, what is new need not come last."""
        rows = self._log.rows(["id", "entry"], start)
        self._unread.update(zip(rows["id"].to_pylist(), rows["entry"].to_pylist(), strict=True))
        self._seen = start + len(rows)
        chain: list[Entry] = []
        while head != self._state.head:
            if head not in self._unread:
                return None
            chain.append(Entry.from_json(self._unread[head]))
            if chain[-1].id != head:
                return None
            head = chain[-1].parent
        return chain[::-1]

    # Documents

    def _save(self, batch: SupportBatch) -> BatchRecord:
        record = BatchRecord(secrets.randbits(62), len(batch.documents), len(batch.scores))
        index = batch.index(self.header)
        if record.tokens:
            self._exemplars.rows_per_file = max(
                1, _FILE_BYTES // (self.header.width * batch.vectors.itemsize)
            )
            self._exemplars.append(_exemplar_rows(record.key, index, batch.vectors))
        self._documents.append(_document_rows(record.key, index, batch.documents))
        self._narrow[record.key] = index
        return record

    def _indexes(self, keys: Sequence[int]) -> Mapping[int, BatchIndex]:
        missing = [key for key in keys if key not in self._narrow]
        if missing:
            documents = self._documents.latest()
            with self._documents.doing("read"):
                some = f"batch IN ({', '.join(map(str, missing))})" if len(missing) < 100 else None
                rows = documents.to_table(columns=_NARROW, filter=some)
                self._narrow.update(_by_batch(rows))
        return self._narrow

    def _read_documents(self, numbers: Sequence[int]) -> list[SupportDocument]:
        if not numbers:
            return []
        rows = self._documents.take(np.asarray(numbers, np.int64), TEXTS)
        with self._documents.doing("read"):
            return [document_of(n, row) for n, row in zip(numbers, rows.to_pylist(), strict=True)]

    def _share(self) -> LanceSupportSet:
        other = super()._share()
        assert isinstance(other, LanceSupportSet)
        other._documents, other._exemplars = self._documents.copy(), self._exemplars.copy()
        return other

    def _read_vectors(self, rows: npt.NDArray[np.int64], out: Array) -> None:
        self._exemplars.read_into(rows, "vector", out)

    def located(self, numbers: Numbers, rows: Numbers, *, afresh: bool = False) -> tuple[Located, Located]:
        """Where documents are, and vectors, for a process that has not opened the set."""
        return self._documents.located(numbers, afresh=afresh), self._exemplars.located(rows, afresh=afresh)

    # What can be read of a damaged set (see `repair`)

    def readable_log(self) -> tuple[dict[str, Entry], str]:
        """Entries by their ids, and the head, "" where it is not known."""
        entries: dict[str, Entry] = {}
        for rows in self._log.readable(["entry"]):
            for text in rows["entry"].to_pylist():
                with suppress(SupportError):
                    entry = Entry.from_json(text)
                    entries[entry.id] = entry
        with suppress(SupportError):
            return entries, self._head.entry()
        return entries, ""

    def readable_indexes(self) -> dict[int, BatchIndex]:
        """The narrow columns of batches that are there whole."""
        found: dict[int, BatchIndex] = {}
        for rows in self._documents.readable(_NARROW):
            with suppress(ValueError, IndexError, pa.ArrowException):
                found.update(_by_batch(rows))
        return found

    def readable_documents(self, state: State) -> dict[int, SupportDocument]:
        """Texts of documents by their numbers."""
        found: dict[int, SupportDocument] = {}
        for rows in self._documents.readable(["batch", "document", *TEXTS]):
            numbers = _numbers(state, *(rows[key].to_numpy() for key in ("batch", "document")))
            for number, row in zip(numbers.tolist(), rows.select(TEXTS).to_pylist(), strict=True):
                with suppress(ValueError, TypeError):
                    found[number] = document_of(number, row)
        return found

    def readable_vectors(self, state: State) -> dict[int, Array]:
        """Vectors by their rows."""
        keys = ["batch", "document", "position"]
        found: dict[int, Array] = {}
        for rows in self._exemplars.readable([*keys, "vector"]):
            names = _rows(state, *(rows[key].to_numpy() for key in keys))
            found.update(zip(names.tolist(), matrix(rows["vector"]), strict=True))
        return found

    # Compaction

    def compact(self, *, author: str | None = None, reason: str = "") -> Edit:
        from exaudit.support.sketch_file import prune_sketches

        plan: dict[int, list[int] | None] = {}
        work: list[Iterator[None]] = []

        def draft(state: State) -> Entry:
            keep = state.live.copy()
            for number in set(state.tags.values()):
                keep |= state.at(number).live
            plan.clear()
            plan.update(self._unneeded(state, keep))
            work[:] = [self._reclaim(table, plan) for table in (self._exemplars, self._documents)]
            if self._head.pins:  # the first files are written again before it counts: a full disk shows here
                for table in work:
                    next(table, None)
            dropped = tuple(key for key, places in plan.items() if places is None)
            return Entry("compact", "compacted the support set", dropped=dropped)

        # Once the entry is in the log nobody can ask for what it drops: the rest may be stopped at any moment.
        with self._lock, self._writing():
            edit = self._commit(draft, author, reason)
            for table in (*work, self._log.shrink()):
                for _ in table:
                    self._head.hold()
            self._head.shrink()
            self._narrow = {}
            prune_sketches(self)
        return edit

    def _reclaim(self, table: KeyedTable, plan: Mapping[int, list[int] | None]) -> Iterator[None]:
        table.delete_batches(plan)
        yield from table.shrink()

    def _unneeded(self, state: State, keep: npt.NDArray[np.bool_]) -> dict[int, list[int] | None]:
        """For each batch with something to drop: the places of its documents, or None for all of it."""
        pending = {batch.key for batches in state.builds.values() for batch in batches}
        found: dict[int, set[int]] = {}
        for table in (self._exemplars, self._documents):
            rows = table.rows(["batch", "document"])
            pairs = np.stack([rows["batch"].to_numpy(), rows["document"].to_numpy()], axis=1)
            for key, place in np.unique(pairs, axis=0).tolist():
                found.setdefault(key, set()).add(place)
        unneeded: dict[int, list[int] | None] = {}
        for key, places in found.items():
            first = state.batches.get(key)
            drop = [place for place in sorted(places) if first is None or not keep[first + place]]
            if key not in pending and drop:
                unneeded[key] = drop if len(drop) < len(places) else None
        return unneeded


def document_of(number: int, row: dict[str, Any]) -> SupportDocument:
    """A document from its row of the columns TEXTS; its labels are filled in by others."""
    meta = dict(json.loads(row["meta"]))
    return SupportDocument(number, -1, row["id"], row["text"], tuple(row["tokens"]), "", (), meta)


def _log_row(entry: Entry) -> pa.Table:
    return pa.table({"id": [entry.id], "entry": [entry.to_json()]})


def _numbers(state: State, batch: Numbers, document: Array) -> Numbers:
    """Document numbers of rows of the table of documents, -1 where the log does not name their batch."""
    keys, which = np.unique(batch, return_inverse=True)
    first = np.array([state.batches.get(int(key), -1) for key in keys], np.int64)[which]
    return np.where(first < 0, -1, first + document)


def _rows(state: State, batch: Numbers, document: Array, position: Array) -> Numbers:
    """Rows of the exemplars in that table, -1 where their document does not count."""
    numbers = _numbers(state, batch, document)
    known = numbers >= 0
    known[known] = position[known] < state.length[numbers[known]]
    rows = np.full(len(batch), -1, np.int64)
    rows[known] = state.row[numbers[known]] + position[known]
    return rows


def _exemplar_rows(key: int, index: BatchIndex, vectors: Array) -> pa.Table:
    tokens, width = vectors.shape
    positions = np.arange(tokens) - np.repeat(index.offsets, index.lengths)
    return pa.table(
        {
            "batch": pa.array(np.full(tokens, key, np.int64)),
            "document": pa.array(np.repeat(index.documents, index.lengths)),
            "position": pa.array(positions.astype(np.int32)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), width),
        }
    )


def _document_rows(key: int, index: BatchIndex, documents: Sequence[Document]) -> pa.Table:
    ends = pa.array(np.append(index.offsets, len(index.scores)).astype(np.int32))
    return pa.table(
        {
            "batch": pa.array(np.full(len(documents), key, np.int64)),
            "document": pa.array(index.documents),
            "offset": pa.array(index.offsets),
            "length": pa.array(index.lengths),
            "id": pa.array(index.ids, pa.string()),
            "text": pa.array([document.text for document in documents], pa.string()),
            "tokens": pa.array([list(document.tokens) for document in documents], pa.list_(pa.string())),
            "meta": pa.array([json.dumps(dict(document.meta)) for document in documents], pa.string()),
            "label": _of_classes(index.labels),
            "token_labels": pa.ListArray.from_arrays(ends, _of_classes(index.token_labels)),
            "scores": pa.ListArray.from_arrays(ends, _of_classes(index.scores)),
            "digest": pa.array(index.digests, pa.binary()),
        }
    )


def _of_classes(values: Array) -> pa.Array:
    """A column of numbers; of lists of them where there are several classes."""
    flat, classes = pa.array(values.reshape(-1)), values.shape[1]
    return flat if classes == 1 else pa.FixedSizeListArray.from_arrays(flat, classes)


def _by_class(column: Any) -> Array:
    """Such a column as an array (n, K)."""
    several = pa.types.is_fixed_size_list(column.type)
    flat = (column.flatten() if several else column).to_numpy()
    return np.asarray(flat).reshape(-1, column.type.list_size if several else 1)


def _by_batch(table: Any) -> dict[int, BatchIndex]:
    """The narrow columns of documents, batch by batch: a batch was appended at once, so its rows are together."""
    column = {name: table[name].combine_chunks() for name in _NARROW}
    batch = column["batch"].to_numpy()
    starts = np.flatnonzero(np.diff(batch, prepend=-1)).tolist()
    found = {}
    for start, stop in pairwise([*starts, len(batch)]):
        part = {name: values.slice(start, stop - start) for name, values in column.items()}
        found[int(batch[start])] = BatchIndex(
            ids=part["id"].to_pylist(),
            documents=part["document"].to_numpy(),
            offsets=part["offset"].to_numpy(),
            lengths=part["length"].to_numpy(),
            labels=_by_class(part["label"]),
            digests=part["digest"].to_pylist(),
            scores=_by_class(part["scores"].flatten()),
            token_labels=_by_class(part["token_labels"].flatten()),
        )
    return found
