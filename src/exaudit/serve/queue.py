"""Queue: what the admission rule refused, hardest first, for a person to decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from exaudit._escape import json_text
from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.serve.corrections import EditView, Step, edit_view
from exaudit.serve.label import Place
from exaudit.serve.opened import UNKNOWN
from exaudit.serve.state import Journal
from exaudit.serve.told import Names, label_of
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["router"]

WAITING = 500  # documents that are told at once


class Decision(BaseModel):
    label: list[str]
    added: bool = Field(description="whether it is in the support set already")


class QueuedDocument(BaseModel):
    place: int
    revision: int
    decision: Decision | None


class QueueView(BaseModel):
    names: list[str]
    several: bool = Field(description="whether a document may have several labels, or none")
    refused: bool = Field(
        description="whether these are documents that admission refused; else all, for want of it"
    )
    total: int
    decided: int
    added: int
    documents: list[QueuedDocument] = Field(description="hardest first")


class DecisionToSave(BaseModel):
    label: Names
    revision: Annotated[int, Field(ge=0, lt=2**31, description="that was seen; else 409")]


class Saved(BaseModel):
    revision: int
    decided: int


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api/queue", tags=["queue"])

    @api.get("")
    def queue() -> QueueView:
        """The documents that wait, and those that were decided."""
        file, journal = bench.need_file(), _journal(bench)
        order = np.argsort(file.sureness(bench.labels), kind="stable")
        known = bool((file.admitted != UNKNOWN).any())
        decided = {int(place) for place in journal.items()}
        places = [
            place for place in order.tolist() if not known or file.admitted[place] == 0 or place in decided
        ]
        values = journal.items().values()
        return QueueView(
            names=list(bench.labels.names),
            several=bench.labels.kind == "multilabel",
            refused=known,
            total=len(places),
            decided=len(values),
            added=sum(value["added"] for value in values),
            documents=[_queued(place, journal) for place in places[: WAITING + len(decided)]],
        )

    @api.put("/{place}")
    def decide(place: Place, body: DecisionToSave) -> Saved:
        """Decide a document. Who has not seen the last decision on it is told (409)."""
        journal = _journal(bench)
        bench.look(place)  # it must be there
        value = {"label": _checked(bench, body.label), "added": False}
        return Saved(revision=journal.put(str(place), value, body.revision), decided=len(journal))

    @api.delete("/{place}")
    def withdraw(place: Place, revision: Annotated[int, Query(ge=0, lt=2**31)]) -> Saved:
        """Take a decision back."""
        journal = _journal(bench)
        if journal.get(str(place))[1] is None:
            raise NotFoundError("this document was not decided")
        return Saved(revision=journal.put(str(place), None, revision), decided=len(journal))

    @api.post("/add")
    def add(body: Step) -> EditView:
        """Put all documents that were decided into the support set, as one edit."""
        bench.need_support()
        journal, documents = _journal(bench), _decided(bench, added=False)
        if not documents:
            raise DataError("nothing was decided that is not in the support set already")
        with bench.editing:
            bench.check_version(body.version)
            made = bench.auditor.add(
                list(documents.values()),
                author=body.author or None,
                reason=body.reason or "decided in the queue",
            )
            for place in documents:
                revision, value = journal.get(place)
                journal.put(place, {**value, "added": True}, revision)
            bench.follow(None)
        return edit_view(made)

    @api.get("/export", response_class=PlainTextResponse)
    def export() -> PlainTextResponse:
        """The decided documents as JSON lines."""
        lines = [json_text(_line(document)) + "\n" for document in _decided(bench).values()]
        told = {"content-disposition": 'attachment; filename="decided.jsonl"'}
        return PlainTextResponse("".join(lines), headers=told, media_type="application/x-ndjson")

    return api


def _journal(bench: Workbench) -> Journal:
    return bench.state.journal("queue", f"{bench.need_file().folder.name}.jsonl")


def _queued(place: int, journal: Journal) -> QueuedDocument:
    revision, value = journal.get(str(place))
    return QueuedDocument(
        place=place, revision=revision, decision=None if value is None else Decision(**value)
    )


def _checked(bench: Workbench, label: list[str]) -> list[str]:
    names = bench.labels.names
    if any(name not in names for name in label) or len(set(label)) < len(label):
        raise DataError("there is no such class, or one is named twice")
    if bench.labels.kind != "multilabel" and len(label) != 1:
        raise DataError("a document has one class")
    return label


def _decided(bench: Workbench, *, added: bool | None = None) -> dict[str, Document]:
    """The documents with the decisions as their labels, by their keys."""
    file = bench.need_file()
    return {
        place: replace(
            file.document(int(place)).without_token_labels(), label=label_of(value["label"], bench.labels)
        )
        for place, value in _journal(bench).items().items()
        if added is None or value["added"] == added
    }


def _line(document: Document) -> dict[str, Any]:
    return {"id": document.id, "label": document.label, "text": document.text}
