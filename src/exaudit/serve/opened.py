"""An open file: its documents as they were looked up, on disk, to be read a few at a time.

    documents.jsonl    a document a line
    search.txt         its text, its words and its id, without case, a line each
    scores.f4          s+ and s- of every word and class (W, K, 2)
    rows.i8            the exemplars of every word (W, k)
    distances.f4       their distances (W, k)
    documents.npz      for each document: where it and its words begin, what decides it, its classes, its content
    file.json          what the numbers above mean; written last, so a file without it was never finished

Only what takes time is kept. Decisions follow from it by the labels of the support set and the boundaries of the model
as they stand when somebody asks.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._files import read_json, to_json, write_json
from exaudit.analyse.decisions import as_row, true_classes
from exaudit.audit.audited import Audited, Rule
from exaudit.audit.drift import Drift
from exaudit.audit.guarantor import Admit
from exaudit.audit.looks import Look, Looks, StaleLookError
from exaudit.audit.neighbourhood import parts
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.model import Model
from exaudit.model.scores import Scores, running_mean

__all__ = ["Filter", "OpenFile"]

UNKNOWN = -1
SCHEMA = 2
TOGETHER = 64  # documents that are looked up, or decided, at once
Tell = Callable[[str, int, int | None], None]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Filter:
    """Which documents of a file to list, and in which order."""

    wrong: bool | None = None
    predicted: int | None = None  # a class
    truth: int | None = None
    admitted: bool | None = None
    text: str = ""  # in quotation marks: as whole words
    weakest: bool = False  # those whose decision is least sure first; else in the order of the file


class OpenFile:
    """A file whose documents were looked up."""

    def __init__(self, folder: Path, model: Model) -> None:
        self.folder, self.model = folder, model
        told = read_json(folder / "file.json")
        self.name: str = told["name"]
        self.number: int = told["number"]  # of the edit of the support set that it was looked up at
        self.k: int = told["k"]
        with np.load(folder / "documents.npz") as found:
            self._bytes: Ints = found["bytes"]  # (D + 1,)
            self.first: Ints = found["first"]  # (D + 1,) the first word of each
            self.outputs: npt.NDArray[np.float32] = found["outputs"]  # (D, K)
            self.truth: npt.NDArray[np.int8] = found["truth"]  # (D, K); UNKNOWN
            self.content: npt.NDArray[np.float64] = found["content"]  # (D, DIRECTIONS), or (D, 0)
            self.has_marks: bool = bool(found["has_marks"])
        classes, words = self.outputs.shape[1], int(self.first[-1])
        self._scores = _mapped(folder / "scores.f4", np.float32, (words, classes, 2))
        self._rows = _mapped(folder / "rows.i8", np.int64, (words, self.k))
        self._distances = _mapped(folder / "distances.f4", np.float32, (words, self.k))
        self.admitted: npt.NDArray[np.int8] = np.full(len(self), UNKNOWN, np.int8)  # (D,) as it stands now
        self.drift: Drift | None = None  # None: it was not looked for, or cannot be told
        self.doubt: str | None = None  # why it cannot

    @staticmethod
    def write(
        folder: Path,
        name: str,
        documents: Iterable[Document],
        looks: Looks,
        tell: Tell,
        total: int | None,
    ) -> None:
        """Look up the documents of a file, into a folder that is empty."""
        model = looks.auditor.model
        places, first = array("q", [0]), array("q", [0])  # a list would have an object for each
        outputs, truth, content = array("f"), array("b"), array("d")
        has_marks, number, k = False, -1, looks.k
        with ExitStack() as stack:
            texts, search, scores, rows, distances = (
                stack.enter_context(open(folder / each, "wb"))
                for each in ("documents.jsonl", "search.txt", "scores.f4", "rows.i8", "distances.f4")
            )
            for part in parts(documents):
                for some in (part[n : n + TOGETHER] for n in range(0, len(part), TOGETHER)):
                    for look in looks.of(some):
                        line = _line(look.scores.document)
                        texts.write(line)
                        search.write(_searched(look.scores.document))
                        places.append(places[-1] + len(line))
                        first.append(first[-1] + len(look.scores.document.tokens))
                        views = look.scores.views
                        both = [np.stack([view.positive, view.negative], 1) for view in views]  # (N, 2)
                        np.stack(both, 1).astype(np.float32).tofile(scores)
                        look.rows.astype(np.int64).tofile(rows)
                        look.distances.astype(np.float32).tofile(distances)
                        outputs.extend(float(view.output) for view in views)
                        truth.extend(_truth(look.scores.document, model.labels).tolist())
                        content.extend(() if look.content is None else look.content.tolist())
                        has_marks |= look.scores.document.token_labels is not None
                        number = look.number
                    tell("label", len(first) - 1, total)
        count, classes = len(first) - 1, len(model.labels.views)
        np.savez(
            folder / "documents.npz",
            bytes=np.array(places),
            first=np.array(first),
            outputs=np.array(outputs).reshape(count, classes),
            truth=np.array(truth).reshape(count, classes),
            content=np.array(content).reshape(count, -1 if content else 0),
            has_marks=np.array(has_marks),
        )
        write_json(folder / "file.json", {"schema": SCHEMA, "name": name, "number": number, "k": k})

    @staticmethod
    def is_whole(folder: Path) -> bool:
        try:
            return bool(read_json(folder / "file.json")["schema"] == SCHEMA)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def words(self) -> int:
        return int(self.first[-1])

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The exemplars of all words (W, k)."""
        return self._rows

    @property
    def distances(self) -> npt.NDArray[np.float32]:
        """Their distances (W, k)."""
        return self._distances

    @property
    def withdrawal(self) -> str | None:
        """Why what was promised does not hold for its documents: they have drifted, most clearly in this."""
        if self.drift is None or not self.drift.detected:
            return None
        first, more = self.drift.reason.split("; ")[0], len(self.drift.found) - 1
        others = "another measure has" if more == 1 else f"{more} other measures have"
        return first if more < 1 else f"{first}, and {others} shifted"

    # -- documents ---------------------------------------------------------------------------------------

    def document(self, place: int) -> Document:
        return next(self._documents([place]))

    def documents(self) -> Iterator[Document]:
        with open(self.folder / "documents.jsonl", "rb") as file:
            yield from map(_document, file)

    def _documents(self, places: Iterable[int]) -> Iterator[Document]:
        with open(self.folder / "documents.jsonl", "rb") as file:
            for place in places:
                file.seek(int(self._bytes[place]))
                yield _document(file.read(int(self._bytes[place + 1] - self._bytes[place])))

    def scores(self, place: int, document: Document | None = None) -> Scores:
        """What the model says of a document, by the boundaries that it has now."""
        own = self._scores[self.first[place] : self.first[place + 1]]  # (N, K, 2)
        document = document or self.document(place)
        return self.model.scores_of(document, self.outputs[place], own[:, :, 0], own[:, :, 1])

    def labelled(self) -> Iterator[Scores]:
        """All documents, in their order."""
        return (self.scores(place, document) for place, document in enumerate(self.documents()))

    def look(self, place: int) -> Look:
        return next(self.looks([place]))

    def looks(self, places: Sequence[int]) -> Iterator[Look]:
        """Some of them as they were looked up."""
        for place, document in zip(places, self._documents(places), strict=True):
            mine = slice(int(self.first[place]), int(self.first[place + 1]))
            distances, rows = np.array(self._distances[mine]), np.array(self._rows[mine])
            yield Look(self.scores(place, document), distances, rows, self.number)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The place of each document by its id."""
        return {document.id: place for place, document in enumerate(self.documents())}

    def drawn(self, most: int) -> Ints:
        """The places of all documents or, of more than `most`, so many of them at random, the same ones every time."""
        places = np.arange(len(self))
        if len(self) > most:
            places = np.sort(np.random.default_rng(0).permutation(len(self))[:most])
        return places

    def near(self, rows: Ints) -> list[int]:
        """The documents in which a word has one of these exemplars among its own."""
        hit = np.isin(self._rows, rows).any(1)  # (W,)
        places = np.searchsorted(self.first, np.flatnonzero(hit), side="right") - 1
        return [int(place) for place in np.unique(places)]

    # -- decisions ---------------------------------------------------------------------------------------

    def decided(self, labels: LabelSet) -> npt.NDArray[np.int8]:
        """The classes of every document (D, K)."""
        if labels.kind == "multiclass":
            strongest = self.outputs.argmax(1)[:, None]  # (D, 1)
            return np.asarray(strongest == np.arange(self.outputs.shape[1]), np.int8)
        return np.asarray(self.outputs > 0, np.int8)

    def words_of(self, places: Ints) -> Ints:
        """Where all words of some documents are (W,)."""
        return np.concatenate([np.arange(*self.first[place : place + 2]) for place in places], dtype=np.int64)

    def margins(self, places: Ints) -> npt.NDArray[np.float32]:
        """How far each word of some documents lies above the boundary of each class (W, K)."""
        own = self._scores[self.words_of(places)]  # (W, K, 2)
        scores, model = own[:, :, 0] - own[:, :, 1], self.model  # (W, K)
        lengths = np.diff(self.first)[places]
        ends = np.cumsum(lengths)
        for c, width in enumerate(model.smoothing):
            if width > 1:
                for start, stop in zip(ends - lengths, ends, strict=True):
                    scores[start:stop, c] = running_mean(scores[start:stop, c], width)
        doubts = np.array([model.doubts(output) for output in self.outputs[places]])
        scores -= np.repeat(doubts.reshape(len(places), -1), lengths, 0).astype(np.float32)
        return np.asarray(scores - np.array(model.word_boundaries, np.float32))

    def admit(self, looks: Looks, by: Admit, places: Iterable[int], tell: Tell | None = None) -> None:
        """Note which answers may be relied on, as the support set stands now. If exemplars come or go meanwhile, the
        file is to be looked up again anyway, and the rest is left to that."""
        wanted = list(places)
        if by == "promise" and self.withdrawal is not None:
            self.admitted[wanted] = 0
            return
        rule: Rule | None = "knn" if by == "mean" else None
        for start in range(0, len(wanted), TOGETHER):
            some = wanted[start : start + TOGETHER]
            try:
                found = looks.decide(list(self.looks(some)), rule, admit=by)
            except StaleLookError:
                return
            for place, own in zip(some, found, strict=True):
                admitted = getattr(own, "admitted", None)
                self.admitted[place] = UNKNOWN if admitted is None else int(admitted)
            if tell is not None:
                tell("admission", start + len(some), len(wanted))

    # -- lists -------------------------------------------------------------------------------------------

    def wrong(self, labels: LabelSet) -> Bools:
        """Documents whose class is known to be another (D,)."""
        known = (self.truth != UNKNOWN).all(1)
        return np.asarray(known & (self.truth != self.decided(labels)).any(1))

    def chosen(self, wanted: Filter, labels: LabelSet) -> Ints:
        """The places of the documents that fit."""
        fits = np.ones(len(self), np.bool_)
        if wanted.wrong is not None:
            fits &= (self.truth != UNKNOWN).all(1) & (self.wrong(labels) == wanted.wrong)
        if wanted.predicted is not None:
            fits &= _has(self.decided(labels), wanted.predicted, labels)
        if wanted.truth is not None:
            fits &= _has(self.truth, wanted.truth, labels)
        if wanted.admitted is not None:
            fits &= self.admitted == int(wanted.admitted)
        if wanted.text:
            fits &= self._containing(wanted.text, fits)
        places = np.flatnonzero(fits)
        return places[np.argsort(self.sureness(labels)[places], kind="stable")] if wanted.weakest else places

    def sureness(self, labels: LabelSet) -> npt.NDArray[np.float32]:
        """How far each document is from being decided otherwise (D,)."""
        if labels.kind != "multiclass":
            return np.asarray(np.abs(self.outputs).min(1))
        ordered = np.sort(self.outputs, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])

    def _containing(self, text: str, among: Bools) -> Bools:
        whole = len(text) > 2 and text[0] == text[-1] == '"'
        needle = _plain(text[1:-1] if whole else text)
        found = np.zeros(len(self), np.bool_)
        with open(self.folder / "search.txt", "rb") as file:
            for place, line in enumerate(file):
                if not among[place]:
                    continue
                content, _, id = line[:-1].rpartition(b"\x1f")
                if whole:
                    tokens = content.rpartition(b"\x1f")[2]
                    found[place] = b" %b " % needle in b" %b " % tokens
                else:
                    found[place] = needle in content or needle == id
        return found


def flagged(scores: Scores | Audited) -> list[int]:
    """The words that carry any class."""
    return np.flatnonzero(np.any([view.decisions for view in scores.views], axis=0)).tolist()


def _has(table: npt.NDArray[np.int8], number: int, labels: LabelSet) -> Bools:
    """Which rows have a class, counted as in `LabelSet.names`."""
    return np.asarray(table[:, 0] == number if labels.kind == "binary" else table[:, number] == 1)


def _truth(document: Document, labels: LabelSet) -> npt.NDArray[np.int8]:
    classes = true_classes(document, labels)
    if classes is None:
        return np.full(len(labels.views), UNKNOWN, np.int8)
    return as_row(classes, labels)


def _mapped(path: Path, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.memmap(path, dtype, "r", shape=shape) if np.prod(shape) else np.zeros(shape, dtype)


def _plain(text: str) -> bytes:
    """Without case, and with single spaces between the words."""
    return " ".join(text.casefold().split()).encode(errors="surrogatepass")


def _searched(document: Document) -> bytes:
    """What a document is found by."""
    parts = (document.text, " ".join(document.tokens))
    return b"\x1f".join(map(_plain, (*parts, document.id))) + b"\n"


def _line(document: Document) -> bytes:
    return to_json(asdict(document)).encode() + b"\n"


def _document(line: bytes) -> Document:
    value = json.loads(line)
    for name in ("label", "starts", "tokens"):
        value[name] = tuple(value[name]) if isinstance(value[name], list) else value[name]
    if value["token_labels"] is not None:
        value["token_labels"] = tuple(
            tuple(each) if isinstance(each, list) else each for each in value["token_labels"]
        )
    return Document(**value)
