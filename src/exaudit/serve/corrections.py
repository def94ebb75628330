"""Correct: edits of the support set, with a preview before and a way back after."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from exaudit.audit import Auditor, Flip
from exaudit.data.document import Document, Label
from exaudit.data.labels import LabelSet
from exaudit.serve.label import JobView, job_view
from exaudit.serve.told import Names, RuleName, Text, label_of
from exaudit.serve.workbench import NotFoundError, Workbench
from exaudit.support.history import Edit

__all__ = ["router"]

SHOWN = 200  # flips of a preview that are listed
TRIED = 2000  # documents that an edit is tried on, where it may change any of them
Id = Annotated[str, Field(min_length=1, max_length=1000)]
Version = Annotated[int, Field(ge=-1, lt=2**31, description="of the support set that was seen; else 409")]
Reason = Annotated[str, Field(max_length=2000)]


class Relabel(BaseModel):
    """Another label for a document of the support set."""

    kind: Literal["relabel"]
    id: Id
    label: Names


class RelabelWord(BaseModel):
    """Another label for one of its words: classes, none of them (an empty list), or null (not known)."""

    kind: Literal["relabel-word"]
    id: Id
    position: Annotated[int, Field(ge=0, lt=2**31)]
    label: Names | None


class Remove(BaseModel):
    """A document leaves the support set."""

    kind: Literal["remove"]
    id: Id


class Add(BaseModel):
    """A text, or a document of the open file, joins the support set with a label."""

    kind: Literal["add"]
    label: Names
    text: Text | None = None
    place: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class EditToMake(BaseModel):
    edit: Annotated[Relabel | RelabelWord | Remove | Add, Field(discriminator="kind")]
    version: Version
    reason: Reason = ""
    author: Annotated[str, Field(max_length=200)] | None = None


class EditToTry(BaseModel):
    edit: Annotated[Relabel | RelabelWord | Remove | Add, Field(discriminator="kind")]
    rule: RuleName | None = None


class Step(BaseModel):
    version: Version
    reason: Reason = ""
    author: Annotated[str, Field(max_length=200)] | None = None


class EditView(BaseModel):
    number: int
    version: str
    when: str
    who: str
    kind: str
    what: str
    why: str


class SupportView(BaseModel):
    exists: bool
    version: int
    name: str
    documents: int
    exemplars: int
    can_undo: bool
    can_redo: bool
    history: list[EditView] = Field(description="the last edits, newest first")


class SupportDocumentView(BaseModel):
    id: str
    tokens: list[str]
    label: list[str]
    word_labels: list[list[str] | None] = Field(
        description="the classes that each word carries; null: not known"
    )


class FlipView(BaseModel):
    place: int | None
    id: str
    position: int
    word: str
    before: list[str]
    after: list[str]


class PreviewView(BaseModel):
    job: JobView
    what: str = ""
    rule: str = ""
    documents: int = Field(default=0, description="of the open file")
    tried: int = Field(default=0, description="of them, where any may change: a large file is drawn from")
    words: int = 0
    count: int = Field(default=0, description="words whose decision would flip")
    flips: list[FlipView] = []


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api/support", tags=["correct"])

    @api.get("")
    def support(count: Annotated[int, Query(ge=0, le=1000)] = 50) -> SupportView:
        """The support set and its history."""
        return support_view(bench, count)

    @api.get("/document")
    def document(id: Annotated[str, Query(max_length=1000)]) -> SupportDocumentView:
        """A document of the support set."""
        bench.need_support()
        found = bench.auditor.support.document(id)
        return SupportDocumentView(
            id=found.id,
            tokens=list(found.tokens),
            label=_names(found.label),
            word_labels=[_carried(mark, bench.labels) for mark in found.token_labels],
        )

    @api.post("/preview")
    def preview(body: EditToTry) -> PreviewView:
        """Which decisions on the open file an edit would flip. Nothing is written; the answer comes with the job."""
        bench.need_support()
        make = edit_of(bench, body.edit)
        touched = touched_by(bench, body.edit)
        rule = body.rule if body.rule != "model" else None
        job = bench.jobs.start("preview", lambda job: _tried(bench, make, touched, rule), short=True)
        return PreviewView(job=job_view(job))

    @api.get("/preview/{id}")
    def previewed(id: Annotated[str, Path(max_length=20)]) -> PreviewView:
        """How a preview went."""
        job = bench.jobs.get(id)
        if job is None or job.what != "preview":
            raise NotFoundError("this preview is no longer known; ask for it again")
        view = PreviewView(job=job_view(job))
        return view if job.result is None else job.result.model_copy(update={"job": view.job})

    @api.post("/edits")
    def edit(body: EditToMake) -> EditView:
        """Make an edit. Who has not seen the last one is told (409), and nothing is changed."""
        bench.need_support()
        make = edit_of(bench, body.edit, body.author, body.reason)
        with bench.editing:
            bench.check_version(body.version)
            made = make(bench.auditor)
            gone = isinstance(body.edit, Remove)  # its exemplars leave their places to others
            bench.follow(None if gone else touched_by(bench, body.edit))
        return edit_view(made)

    @api.post("/undo")
    def undo(body: Step) -> EditView:
        """Take back the last edit that stands."""
        return _step(bench, bench.auditor.undo, body)

    @api.post("/redo")
    def redo(body: Step) -> EditView:
        """Do again what was undone last."""
        return _step(bench, bench.auditor.redo, body)

    @api.post("/build")
    def build() -> JobView:
        """Build a support set of the open file, whose documents need labels, in the background."""
        file = bench.need_file()
        documents = list(file.documents())

        def work(_: object) -> int:
            with bench.editing:
                bench.auditor.build(documents, reason=f"built from {file.name}")
                bench.looks.has_support = True
            bench.follow(None)
            return len(documents)

        return job_view(bench.jobs.start("build a support set", work))

    return api


def support_view(bench: Workbench, count: int) -> SupportView:
    if not bench.has_support:
        nothing = {"version": -1, "name": "", "documents": 0, "exemplars": 0}
        return SupportView(exists=False, can_undo=False, can_redo=False, history=[], **nothing)  # type: ignore[arg-type]
    version, support = bench.version, bench.auditor.support
    log = support.log()
    return SupportView(
        exists=True,
        version=version,
        name=support.version,
        documents=len(support.ids),
        exemplars=len(support),
        can_undo=bool(support.undoable),
        can_redo=bool(support.redoable),
        history=[edit_view(each) for each in reversed(log[len(log) - min(count, len(log)) :])],
    )


def edit_view(edit: Edit) -> EditView:
    return EditView(**{name: value for name, value in asdict(edit).items() if name in EditView.model_fields})


def edit_of(
    bench: Workbench, edit: Relabel | RelabelWord | Remove | Add, author: str | None = None, reason: str = ""
) -> Callable[[Auditor], Edit]:
    """A function that makes the edit on the auditor it is given."""
    signed = {"author": author or None, "reason": reason}
    if isinstance(edit, Relabel):
        label = label_of(edit.label, bench.labels)
        return lambda auditor: auditor.relabel(edit.id, label, **signed)  # type: ignore[arg-type]
    if isinstance(edit, RelabelWord):
        mark: int | Label | None = None
        if edit.label is not None:
            names = tuple(edit.label)
            mark = (
                int(names == (bench.labels.names[1],)) if bench.labels.kind == "binary" else names or "none"
            )
            mark = mark[0] if isinstance(mark, tuple) and len(mark) == 1 else mark
        return lambda auditor: auditor.relabel_token(edit.id, edit.position, mark, **signed)  # type: ignore[arg-type]
    if isinstance(edit, Remove):
        return lambda auditor: auditor.remove(edit.id, **signed)  # type: ignore[arg-type]
    document = replace(added(bench, edit), label=label_of(edit.label, bench.labels))
    return lambda auditor: auditor.add([document], **signed)  # type: ignore[arg-type]


def added(bench: Workbench, edit: Add) -> Document:
    if edit.place is not None:
        return bench.look(edit.place).scores.document.without_token_labels()
    if edit.text is None:
        raise NotFoundError("nothing to add: give a text, or the place of a document")
    key = hashlib.sha256(edit.text.encode()).hexdigest()[:12]
    return Document.from_text(edit.text, id=f"text-{key}", cut=bench.model.settings.tokens)


def touched_by(bench: Workbench, edit: Relabel | RelabelWord | Remove | Add) -> list[int] | None:
    """The documents of the open file that may be decided otherwise after an edit; None: any."""
    file = bench.file
    if file is None or isinstance(edit, Add) or not bench.looks.holds(file.number, file.rows):
        return None
    found = bench.auditor.support.document(edit.id)
    return file.near(np.arange(found.row, found.row + len(found.tokens)))


def _tried(
    bench: Workbench, make: Callable[[Auditor], Edit], touched: list[int] | None, rule: str | None
) -> PreviewView:
    file = bench.file
    drawn = [] if file is None or touched is not None else file.drawn(TRIED).tolist()
    places = drawn if touched is None else touched
    documents = [] if file is None else [file.document(place) for place in places]
    tried = bench.auditor.preview(make, documents, rule=rule)  # type: ignore[arg-type]
    ids = {document.id: place for place, document in zip(places, documents, strict=True)}
    return PreviewView(
        job=JobView(id="", what="", status="done", step="", done=0, total=None, error=None),
        what=tried.edit.what,
        rule=tried.rule,
        documents=0 if file is None else len(file),
        tried=0 if file is None else len(file) if touched is not None else len(drawn),
        words=0 if file is None else file.words,
        count=len(tried.flips),
        flips=[_flip(bench, flip, ids.get(flip.id)) for flip in tried.flips[:SHOWN]],
    )


def _flip(bench: Workbench, flip: Flip, place: int | None) -> FlipView:
    def told(decision: int | tuple[str, ...]) -> list[str]:
        if isinstance(decision, tuple):
            return list(decision)
        return [bench.labels.names[1]] if decision else []

    before, after = told(flip.before), told(flip.after)
    return FlipView(
        place=place, id=flip.id, position=flip.position, word=flip.token, before=before, after=after
    )


def _step(bench: Workbench, step: Callable[..., Edit], body: Step) -> EditView:
    bench.need_support()
    with bench.editing:
        bench.check_version(body.version)
        before = bench.version
        made = step(author=body.author or None, reason=body.reason)
        bench.follow(_relabelled(bench, before))
    return edit_view(made)


def _relabelled(bench: Workbench, before: int) -> list[int] | None:
    """The documents of the open file that an edit of labels may have touched; None: any, as it was no such edit."""
    changes = bench.auditor.support.changes(before)
    if bench.file is None or len(changes.added) or len(changes.removed):
        return None
    return bench.file.near(np.asarray(changes.relabelled))


def _carried(mark: int | str, labels: LabelSet) -> list[str] | None:
    """The classes of a word, which the support set tells as a sign or as names."""
    if mark in (0, "unknown"):
        return None
    if isinstance(mark, int):
        return [labels.names[1]] if mark > 0 else []
    return [
        name
        for name in (mark.split(" + ") if labels.kind == "multilabel" else [mark])
        if name in labels.names
    ]


def _names(label: Label) -> list[str]:
    return [label] if isinstance(label, str) else list(label)
