"""An open file: its documents as they were looked up, on disk, to be read a few at a time.

    documents.jsonl    a document a line
    scores.f4          s+ and s- of every word and class (W, K, 2)
    rows.i8            the exemplars of every word (W, k)
    distances.f4       their distances (W, k)
    documents.npz      for each document: where it and its words begin, what decides it, its classes
    file.json          what the numbers above mean; written last, so a file without it was never finished

Only what takes time is kept. Decisions follow from it by the labels of the support set and the boundaries of the model
as they stand when somebody asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._files import read_json, to_json, write_json
from exaudit.analyse.decisions import as_row, true_classes
from exaudit.audit.audited import Audited
from exaudit.audit.looks import Look, Looks, StaleLookError
from exaudit.audit.neighbourhood import parts
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.model import Model
from exaudit.model.scores import Scores, running_mean

__all__ = ["Filter", "OpenFile"]

UNKNOWN = -1
SCHEMA = 1
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
    text: str = ""
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
            self.has_marks: bool = bool(found["has_marks"])
        classes, words = self.outputs.shape[1], int(self.first[-1])
        self._scores = _mapped(folder / "scores.f4", np.float32, (words, classes, 2))
        self._rows = _mapped(folder / "rows.i8", np.int64, (words, self.k))
        self._distances = _mapped(folder / "distances.f4", np.float32, (words, self.k))
        self.admitted: npt.NDArray[np.int8] = np.full(len(self), UNKNOWN, np.int8)  # (D,) as it stands now

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
        places, first, outputs, truth = [0], [0], [], []
        has_marks, number, k = False, -1, looks.k
        with ExitStack() as stack:
            texts, scores, rows, distances = (
                stack.enter_context(open(folder / each, "wb"))
                for each in ("documents.jsonl", "scores.f4", "rows.i8", "distances.f4")
            )
            for part in parts(documents):
                for some in (part[n : n + 64] for n in range(0, len(part), 64)):
                    for look in looks.of(some):
                        line = _line(look.scores.document)
                        texts.write(line)
                        places.append(places[-1] + len(line))
                        first.append(first[-1] + len(look.scores.document.tokens))
                        views = look.scores.views
                        both = [np.stack([view.positive, view.negative], 1) for view in views]  # (N, 2)
                        np.stack(both, 1).astype(np.float32).tofile(scores)
                        look.rows.astype(np.int64).tofile(rows)
                        look.distances.astype(np.float32).tofile(distances)
                        outputs.append([view.output for view in views])
                        truth.append(_truth(look.scores.document, model.labels))
                        has_marks |= look.scores.document.token_labels is not None
                        number = look.number
                    tell("label", len(outputs), total)
        np.savez(
            folder / "documents.npz",
            bytes=np.array(places),
            first=np.array(first),
            outputs=np.array(outputs, np.float32).reshape(-1, len(model.labels.views)),
            truth=np.array(truth, np.int8).reshape(-1, len(model.labels.views)),
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

    # -- documents ---------------------------------------------------------------------------------------

    def document(self, place: int) -> Document:
        with open(self.folder / "documents.jsonl", "rb") as file:
            file.seek(int(self._bytes[place]))
            return _document(file.read(int(self._bytes[place + 1] - self._bytes[place])))

    def documents(self) -> Iterator[Document]:
        with open(self.folder / "documents.jsonl", "rb") as file:
            yield from map(_document, file)

    def scores(self, place: int, document: Document | None = None) -> Scores:
        """What the model says of a document, by the boundaries that it has now."""
        own = self._scores[self.first[place] : self.first[place + 1]]  # (N, K, 2)
        document = document or self.document(place)
        return self.model.scores_of(document, self.outputs[place], own[:, :, 0], own[:, :, 1])

    def labelled(self) -> Iterator[Scores]:
        """All documents, in their order."""
        return (self.scores(place, document) for place, document in enumerate(self.documents()))

    def look(self, place: int) -> Look:
        mine = slice(int(self.first[place]), int(self.first[place + 1]))
        return Look(
            self.scores(place), np.array(self._distances[mine]), np.array(self._rows[mine]), self.number
        )

    @cached_property
    def ids(self) -> dict[str, int]:
        """The place of each document by its id."""
        return {document.id: place for place, document in enumerate(self.documents())}

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

    def margins(self) -> npt.NDArray[np.float32]:
        """How far each word lies above the boundary of each class (W, K)."""
        scores = self._scores[:, :, 0] - self._scores[:, :, 1]  # (W, K)
        model = self.model
        for c, width in enumerate(model.smoothing):
            if width > 1:
                for start, stop in zip(self.first[:-1], self.first[1:], strict=True):
                    scores[start:stop, c] = running_mean(scores[start:stop, c], width)
        doubts = np.array([model.doubts(output) for output in self.outputs]).reshape(self.outputs.shape)
        scores -= np.repeat(doubts, np.diff(self.first), 0).astype(np.float32)
        return np.asarray(scores - np.array(model.word_boundaries, np.float32))

    def admit(self, looks: Looks, places: Iterable[int], tell: Tell | None = None) -> None:
        """Note which answers may be relied on, as the support set stands now. If exemplars come or go meanwhile, the
        file is to be looked up again anyway, and the rest is left to that."""
        wanted = list(places)
        for done, place in enumerate(wanted, 1):
            try:
                audited = looks.decided(self.look(place), "knn", admit=True)
            except StaleLookError:
                return
            admitted = getattr(audited, "admitted", None)
            self.admitted[place] = UNKNOWN if admitted is None else int(admitted)
            if tell is not None and done % 64 == 0:
                tell("admission", done, len(wanted))

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
        needle = " ".join(text.casefold().split())
        found = np.zeros(len(self), np.bool_)
        for place, document in enumerate(self.documents()):
            if among[place]:
                found[place] = (
                    needle in " ".join(document.text.casefold().split())
                    or needle in " ".join(document.tokens).casefold()
                    or needle == document.id.casefold()
                )
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
