"""Label: a pasted text, or the documents of the open file."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.data.notes import Notes
from exaudit.data.readers import read_documents
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat
from exaudit.errors import DataError
from exaudit.serve.jobs import Job
from exaudit.serve.opened import UNKNOWN, Bools, Filter, Ints, OpenFile, flagged
from exaudit.serve.promised import PromiseView
from exaudit.serve.told import DocumentView, RuleName, Text, view_of
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["FileInfo", "JobView", "job_view", "router"]

SNIPPET = 40  # words of a document that a list shows
POINTS = 401  # of the curve of flagged words
DRAWN = 5000  # documents of a large file that it is drawn for
NEVER = -1e3  # a strength that no boundary is below
UploadFormat = Literal["jsonl", "csv", "tsv", "conll", "lines", "text"]
ENDINGS = {"jsonl": "jsonl", "csv": "csv", "tsv": "tsv", "conll": "conll", "lines": "txt", "text": "txt"}
Place = Annotated[int, Path(ge=0, lt=2**31, description="of a document in the open file, from 0")]


class TextToLabel(BaseModel):
    text: Text


class JobView(BaseModel):
    """Work in the background."""

    id: str
    what: str
    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: str
    done: int
    total: int | None
    error: str | None


class FileInfo(BaseModel):
    """The open file, and the one that is being opened."""

    name: str | None
    documents: int
    words: int
    wrong: int | None = Field(description="documents that are decided wrongly, where the truth is known")
    has_truth: bool
    has_marks: bool = Field(description="whether the true classes of words are known")
    has_admission: bool
    promise: PromiseView | None = Field(description="as it stands for this file")
    opening: JobView | None


class ListedDocument(BaseModel):
    place: int
    id: str
    words: list[str] = Field(description="the first of its words")
    flagged: list[int] = Field(description="those of them that the model flags")
    length: int
    decided: list[str]
    truth: list[str] | None
    wrong: bool | None
    admitted: bool | None
    output: float


class DocumentList(BaseModel):
    total: int
    start: int
    documents: list[ListedDocument]


class Shares(BaseModel):
    """For each class, how many of the file's words are flagged if the boundary moves by so much; by the rules ExAG and
    ExAT, what they let stand of these."""

    moves: list[list[float]]
    shares: list[float]
    flagged: list[float]
    drawn: bool = Field(description="whether it was looked at in some documents alone, as the file is large")


def job_view(job: Job) -> JobView:
    return JobView(
        id=job.id,
        what=job.what,
        status=job.status,
        step=job.step,
        done=job.done,
        total=job.total,
        error=job.error,
    )


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api", tags=["label"])

    @api.post("/label")
    async def label(body: TextToLabel) -> DocumentView:
        """Decide a text and every word of it. Texts of clients that ask at the same time are labelled together."""
        key, look = await bench.label(body.text)
        return await run_in_threadpool(view_of, bench, look, key=key)

    @api.get("/texts/{key}")
    def text(key: Annotated[str, Path(pattern="^[0-9a-f]{20}$")]) -> DocumentView:
        """A text that was labelled not long ago, as it is decided now."""
        return view_of(bench, bench.text(key), key=key)

    @api.get("/file")
    def file() -> FileInfo:
        """What is open."""
        return file_info(bench)

    @api.post("/file", openapi_extra=_UPLOAD)
    async def open_file(
        request: Request,
        name: Annotated[str, Query(max_length=200, description="to show; it names no file on the server")],
        format: Annotated[UploadFormat, Query(description="of the body")],
    ) -> JobView:
        """Open a file, sent as the body, in the background."""
        body = await request.body()
        key = hashlib.sha256(body).hexdigest()[:20]
        documents = await run_in_threadpool(_read, bench, body, key, format, name)
        told = f"{format} {bench.model.settings.tokens} {key}"
        return job_view(bench.open(name, documents, fingerprint=told, total=len(documents)))

    @api.delete("/file")
    def close_file() -> FileInfo:
        """Close the open file. Marks and decisions on it are kept, should it be opened again."""
        bench.close_file()
        return file_info(bench)

    @api.get("/file/documents")
    def documents(
        wrong: bool | None = None,
        predicted: Annotated[str | None, Query(max_length=1000)] = None,
        truth: Annotated[str | None, Query(max_length=1000)] = None,
        admitted: bool | None = None,
        text: Annotated[
            str,
            Query(
                max_length=1000, description="that they have, or an id; in quotation marks: as whole words"
            ),
        ] = "",
        order: Literal["file", "weakest"] = "file",
        start: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        count: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> DocumentList:
        """Documents of the open file that fit, a page of them."""
        opened, labels = bench.need_file(), bench.labels
        wanted = Filter(
            wrong, _number(predicted, labels), _number(truth, labels), admitted, text, order == "weakest"
        )
        places = opened.chosen(wanted, labels)
        return DocumentList(
            total=len(places),
            start=start,
            documents=[listed(opened, place, labels) for place in places[start : start + count].tolist()],
        )

    @api.get("/file/documents/{place}")
    def document(place: Place) -> DocumentView:
        """A document of the open file, as it is decided now."""
        return view_of(bench, bench.look(place), place=place)

    @api.get("/file/place")
    def place_of(id: Annotated[str, Query(max_length=1000)]) -> int:
        """Where the document with this id is."""
        found = bench.need_file().ids.get(id)
        if found is None:
            raise NotFoundError("the open file has no document of this id")
        return found

    @api.get("/file/shares")
    def shares(rule: RuleName = "model") -> Shares:
        """What moving the boundary of the words does to the whole file; nothing while that is looked up again."""
        opened = bench.need_file()
        places = opened.drawn(DRAWN)
        drawn = len(places) < len(opened)
        if not len(places) or (rule != "model" and not bench.looks.holds(opened.number, opened.rows)):
            return Shares(moves=[], shares=[], flagged=[], drawn=drawn)
        strengths = opened.margins(places) if rule != "knn" else _knn_outputs(bench, opened, places)
        if rule in ("exag", "exat"):
            strengths[~_gates(bench, opened, places, rule)] = NEVER
        levels = np.unique(np.concatenate([np.linspace(0, 0.5, POINTS), np.linspace(0.5, 1, 11)]))
        moves = [np.quantile(own, 1 - levels).tolist() for own in strengths.T] if len(strengths) else []
        now = [float((own > 0).mean()) for own in strengths.T] if len(strengths) else []
        return Shares(moves=moves, shares=levels.tolist(), flagged=now, drawn=drawn)

    return api


def file_info(bench: Workbench) -> FileInfo:
    opened, opening = bench.file, bench.opening
    known = opened is not None and bool((opened.truth != UNKNOWN).any())
    return FileInfo(
        name=None if opened is None else opened.name,
        documents=0 if opened is None else len(opened),
        words=0 if opened is None else opened.words,
        wrong=int(opened.wrong(bench.labels).sum()) if opened is not None and known else None,
        has_truth=known,
        has_marks=opened is not None and opened.has_marks,
        has_admission=opened is not None and bool((opened.admitted != UNKNOWN).any()),
        promise=bench.promised.view(bench.labels, opened),
        opening=None if opening is None or opening.status == "done" else job_view(opening),
    )


def listed(opened: OpenFile, place: int, labels: LabelSet) -> ListedDocument:
    scores = opened.scores(place)
    document, admitted = scores.document, int(opened.admitted[place])
    row = opened.truth[place]
    truth = None if (row == UNKNOWN).any() else row
    known = (
        None
        if truth is None
        else (int(truth[0]),)
        if labels.kind == "binary"
        else np.flatnonzero(truth).tolist()
    )
    return ListedDocument(
        place=place,
        id=document.id,
        words=list(document.tokens[:SNIPPET]),
        flagged=[n for n in flagged(scores) if n < SNIPPET],
        length=len(document.tokens),
        decided=[labels.names[c] for c in scores.decided],
        truth=None if known is None else [labels.names[c] for c in known],
        wrong=None if known is None else set(known) != set(scores.decided),
        admitted=None if admitted == UNKNOWN else bool(admitted),
        output=max(float(view.output) for view in scores.views),
    )


def _read(bench: Workbench, body: bytes, key: str, format: str, name: str) -> list[Document]:
    """The documents of an upload, which is a file for that long; in messages it has the name that it was given."""
    path = bench.state.place("uploads") / f"{key}.{ENDINGS[format]}"
    path.write_bytes(body)
    try:
        return read_documents(path, format=format, notes=Notes())
    except DataError as error:
        raise DataError(error.message, name, error.line) from None
    finally:
        path.unlink(missing_ok=True)


def _number(name: str | None, labels: LabelSet) -> int | None:
    if name is None or name == "":
        return None
    if name not in labels.names:
        raise NotFoundError("there is no such class")
    return labels.names.index(name)


def _knn_outputs(bench: Workbench, opened: OpenFile, places: Ints) -> npt.NDArray[np.float32]:
    """f(x)^KNN of all words of some documents, counted from its boundary (W, K)."""
    knn = bench.auditor.knn
    if (why := bench.rules()["knn"]) is not None or knn is None:
        raise NotFoundError(why or "")
    views = _exemplars(bench, opened, places)
    return np.stack([own.output(view) - own.offset for own, view in zip(knn.knns, views, strict=True)], 1)


def _gates(bench: Workbench, opened: OpenFile, places: Ints, rule: Literal["exag", "exat"]) -> Bools:
    """What ExAG or ExAT would let stand of all words of some documents (W, K)."""
    if (why := bench.rules()[rule]) is not None:
        raise NotFoundError(why)
    views = _exemplars(bench, opened, places, 1)
    sure = np.ones(len(views[0]))
    found = [
        exag(sure, view) if rule == "exag" else exat(sure, view, has_token_labels=True) for view in views
    ]
    return np.stack(found, 1)


def _exemplars(
    bench: Workbench, opened: OpenFile, places: Ints, k: int | None = None
) -> tuple[Neighbours, ...]:
    """Those of all words of some documents, as each class sees them now."""
    words = opened.words_of(places)
    with bench.auditor._near.index() as index:
        distances, rows = opened.distances[words, :k], opened.rows[words, :k]
        return index.seen(distances, rows, offsets=bench.model.word_boundaries)


_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"text/plain": {"schema": {"type": "string", "format": "binary"}}},
    }
}
