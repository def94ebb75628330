"""Mark: people mark the words of a few documents, and these set the boundary of the words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from exaudit._escape import json_text
from exaudit.data.document import Document
from exaudit.data.labelled import MARKED
from exaudit.errors import DataError
from exaudit.metrics import Counts
from exaudit.model.boundaries import with_boundary
from exaudit.model.folder import update_model
from exaudit.model.marked import STANDS_FOR
from exaudit.model.scores import Scores
from exaudit.model.suggestion import Suggestion, choose
from exaudit.serve.label import Place
from exaudit.serve.opened import OpenFile
from exaudit.serve.state import ConflictError, Journal
from exaudit.serve.told import gaps_of
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["ENOUGH", "router"]

ENOUGH = 10  # marked documents that set a boundary
SUGGESTED = 20
POOL = 5000  # documents that suggestions are drawn from, at most
Revision = Annotated[int, Field(ge=0, lt=2**31, description="that was seen; else 409")]


class SuggestedDocument(BaseModel):
    place: int
    id: str
    why: str
    tokens: list[str]
    gaps: list[str]
    flagged: list[list[int]] = Field(description="for each class the words that the model flags")
    marks: list[list[int]] | None = Field(
        description="for each class the words that people marked; null: not yet"
    )
    revision: int


class Suggestions(BaseModel):
    classes: list[str]
    exclusive: bool = Field(description="whether a word carries one class at most")
    needed: int
    marked: int
    documents: list[SuggestedDocument]


class MarksToSave(BaseModel):
    marks: Annotated[
        list[Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(max_length=400_000)]],
        Field(max_length=1000),
    ]
    revision: Revision


class Saved(BaseModel):
    revision: int
    marked: int


class BoundaryToSet(BaseModel):
    beta: Annotated[float, Field(gt=0.01, lt=100)] = 0.5
    save: bool = Field(False, description="keep it in the model folder; else only tell what it would be")


class Figure(BaseModel):
    value: float
    low: float
    high: float


class ClassBoundary(BaseModel):
    name: str
    before: float
    after: float
    smoothing: int
    marked_words: int
    precision_before: float | None = Field(
        description="of the words that are flagged now, how many are marked"
    )
    recall_before: float | None
    f: Figure | None = Field(description="to expect of the boundary by the marks, with its 95% interval")
    precision: Figure | None
    recall: Figure | None


class BoundaryView(BaseModel):
    documents: int
    beta: float
    saved: bool
    classes: list[ClassBoundary]
    knn: str | None = Field(description="why the K-NN cannot decide with the new boundary; null: it can")


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api/marks", tags=["mark"])

    @api.get("")
    def suggestions() -> Suggestions:
        """Documents of the open file whose words are worth marking, with the marks that they have."""
        file, journal = bench.need_file(), _journal(bench)
        found = _suggested(bench, file)
        return Suggestions(
            classes=[view.positive for view in bench.labels.views],
            exclusive=bench.labels.kind != "multilabel",
            needed=ENOUGH,
            marked=len(journal),
            documents=[_view(place, found[place], journal) for place in found],
        )

    @api.put("/{place}")
    def mark(place: Place, body: MarksToSave) -> Saved:
        """Save the marks of a document. Who has not seen the last ones is told (409)."""
        journal, value = _journal(bench), _value(bench, place, body.marks)
        return Saved(revision=journal.put(str(place), value, body.revision), marked=len(journal))

    @api.delete("/{place}")
    def unmark(place: Place, revision: Annotated[int, Query(ge=0, lt=2**31)]) -> Saved:
        """Forget the marks of a document."""
        journal = _journal(bench)
        if journal.get(str(place))[1] is None:
            raise NotFoundError("this document is not marked")
        return Saved(revision=journal.put(str(place), None, revision), marked=len(journal))

    @api.get("/export", response_class=PlainTextResponse)
    def export() -> PlainTextResponse:
        """The marked documents as JSON lines, for `exaudit boundary` and `exaudit train --loss token`."""
        lines = [json_text(_line(document)) for document in marked_documents(bench)]
        text = "".join(line + "\n" for line in lines)
        told = {"content-disposition": 'attachment; filename="marked.jsonl"'}
        return PlainTextResponse(text, headers=told, media_type="application/x-ndjson")

    @api.post("/boundary")
    def boundary(body: BoundaryToSet) -> BoundaryView:
        """The boundary of the words by the marked documents, and what to expect of it."""
        documents = list(marked_documents(bench))
        if len(documents) < ENOUGH:
            more = ENOUGH - len(documents)
            raise DataError(f"mark {more} more document{'' if more == 1 else 's'}: {ENOUGH} set a boundary")
        with bench.editing:
            before = bench.model
            moved = with_boundary(before, documents, beta=body.beta)
            view = _boundary_view(bench, documents, moved.record["boundary"], moved, body)
            if body.save:
                bench.state.write("boundary.json", _kept(before))
                update_model(moved, bench.folder)
                bench.use(moved)
        return view

    @api.post("/boundary/undo")
    def undo() -> dict[str, list[float]]:
        """Go back to the boundary before the last one that was saved here."""
        with bench.editing:
            kept = bench.state.read("boundary.json", lambda value: isinstance(value, dict))
            if kept is None:
                raise NotFoundError("there is no boundary to go back to")
            record = {name: value for name, value in bench.model.record.items() if name != "boundary"}
            record |= {} if kept["boundary"] is None else {"boundary": kept["boundary"]}
            words = tuple(kept["word_boundaries"])
            back = replace(
                bench.model, word_boundaries=words, smoothing=tuple(kept["smoothing"]), record=record
            )
            update_model(back, bench.folder)
            bench.state.forget("boundary.json")
            bench.use(back)
        return {"word_boundaries": list(words)}

    return api


def marked_documents(bench: Workbench) -> Iterator[Document]:
    """What people marked in the open file, as labelled documents."""
    file = bench.need_file()
    for place, value in _journal(bench).items().items():
        document = file.document(int(place))
        meta = {**document.meta, STANDS_FOR: f"{value['stands_for']:.4g}", MARKED: "true"}
        yield replace(document, token_labels=_labels(bench, len(document.tokens), value["marks"]), meta=meta)


def _journal(bench: Workbench) -> Journal:
    return bench.state.journal("marks", f"{bench.need_file().folder.name}.jsonl")


def _suggested(bench: Workbench, file: OpenFile) -> dict[int, Suggestion]:
    """By their places. They are drawn once for a file, so that they stay as long as people mark them."""
    name = f"suggested-{file.folder.name}.json"
    places = bench.state.read(name, lambda value: isinstance(value, list))
    if places is None:
        step = max(1, -(-len(file) // POOL))
        scores = {place: file.scores(place) for place in range(0, len(file), step)}
        chosen = choose(scores.values(), bench.labels, SUGGESTED)
        of = {id(own.document.tokens): place for place, own in scores.items()}
        places = [
            [of[id(one.scores.document.tokens)], one.stands_for * step, one.flagged, one.near]
            for one in chosen
        ]
        bench.state.write(name, places)
    return {
        place: Suggestion(bench.labels, file.scores(place), stands_for, flagged, near)
        for place, stands_for, flagged, near in places
    }


def _view(place: int, suggestion: Suggestion, journal: Journal) -> SuggestedDocument:
    document = suggestion.scores.document
    revision, value = journal.get(str(place))
    return SuggestedDocument(
        place=place,
        id=document.id,
        why=suggestion.why,
        tokens=list(document.tokens),
        gaps=gaps_of(document),
        flagged=_flagged(suggestion.scores),
        marks=None if value is None else value["marks"],
        revision=revision,
    )


def _flagged(scores: Scores) -> list[list[int]]:
    return [np.flatnonzero(view.decisions).tolist() for view in scores.views]


def _value(bench: Workbench, place: int, marks: list[list[int]]) -> dict[str, Any]:
    found = _suggested(bench, bench.need_file()).get(place)
    if found is None:
        raise NotFoundError("this document was not suggested")
    count, classes = len(found.scores.document.tokens), len(bench.labels.views)
    if len(marks) != classes:
        raise DataError(f"there are marks for {len(marks)} classes, and words are decided for {classes}")
    if any(n >= count for own in marks for n in own):
        raise DataError(f"the document has {count} words, from 0; a mark is on another")
    flat = [n for own in marks for n in set(own)]
    if bench.labels.kind == "multiclass" and len(set(flat)) < len(flat):
        raise ConflictError("a word is marked with two classes, which exclude each other")
    return {"marks": [sorted(set(own)) for own in marks], "stands_for": found.stands_for}


def _labels(bench: Workbench, count: int, marks: list[list[int]]) -> tuple[str | tuple[str, ...], ...]:
    labels = bench.labels
    if labels.kind == "binary":
        marked = set(marks[0])
        return tuple(str(int(n in marked)) for n in range(count))
    carried: list[list[str]] = [[] for _ in range(count)]
    for name, places in zip(labels.names, marks, strict=True):
        for n in places:
            carried[n].append(name)
    return tuple(tuple(own) if len(own) > 1 else own[0] if own else "O" for own in carried)


def _line(document: Document) -> dict[str, Any]:
    """As `exaudit suggest` writes it, marked."""
    given = {} if document.label is None else {"label": document.label}
    marks = [int(mark) if mark in ("0", "1") else mark for mark in document.token_labels or ()]
    return {
        "id": document.id,
        **given,
        MARKED: True,
        STANDS_FOR: float(document.meta[STANDS_FOR]),
        "tokens": document.tokens,
        "token_labels": marks,
        "text": document.text,
    }


def _boundary_view(
    bench: Workbench, documents: list[Document], record: dict[str, Any], moved: Any, body: BoundaryToSet
) -> BoundaryView:
    scored = bench.model.label([document.without_token_labels() for document in documents])
    truth = [bench.labels.token_targets(document) for document in documents]
    classes = []
    for c, view in enumerate(bench.labels.views):
        marks = np.concatenate([own[:, c] for own in truth if own is not None])
        now = Counts.of(np.concatenate([scores.views[c].decisions for scores in scored]), marks)
        known = record["known"][c]
        figures = {
            name: None if known is None else _figure(known[name]) for name in ("f", "precision", "recall")
        }
        classes.append(
            ClassBoundary(
                name=view.positive,
                before=bench.model.word_boundaries[c],
                after=moved.word_boundaries[c],
                smoothing=moved.smoothing[c] if moved.smoothing else 1,
                marked_words=record["marked_words"][c],
                precision_before=now.precision if marks.any() else None,
                recall_before=now.recall if marks.any() else None,
                **figures,
            )
        )
    knn = bench.auditor.knn
    why = None
    if knn is not None and knn.boundaries != moved.word_boundaries:
        why = "it was fitted for another boundary: fit it again on the page Model"
    return BoundaryView(documents=len(documents), beta=body.beta, saved=body.save, classes=classes, knn=why)


def _figure(known: list[float]) -> Figure:
    value, low, high = known
    return Figure(value=value, low=low, high=high)


def _kept(model: Any) -> dict[str, Any]:
    return {
        "word_boundaries": list(model.word_boundaries),
        "smoothing": list(model.smoothing),
        "boundary": model.record.get("boundary"),
    }
