"""Evidence: why a word was decided as it was, down to the last term of the sum."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from exaudit.audit.evidence import Evidence, Exemplar
from exaudit.audit.looks import Look
from exaudit.data.labels import LabelSet
from exaudit.serve.label import Place
from exaudit.serve.workbench import Workbench

__all__ = ["router"]

AROUND = 14  # words shown on each side of an exemplar
WordPlace = Annotated[int, Path(ge=0, lt=2**31, description="of the word, from 0")]
About = Annotated[
    str | None, Query(max_length=1000, description="the class to explain; by default the strongest")
]


class ExemplarView(BaseModel):
    """A word of the support set, with some of the words around it."""

    id: str
    position: int
    before: list[str]
    word: str
    after: list[str]
    cut: tuple[bool, bool] = Field(description="whether there are more words before and after")
    distance: float
    weight: float | None
    score: float
    predicted: bool = Field(description="whether the model flags it")
    label: list[str] = Field(description="of its document")
    word_label: bool | None = Field(description="whether people say it carries the class; null: not known")
    tanh: float | None
    label_term: float | None
    term: float | None = Field(description="what it adds to the K-NN's output: w (tanh s + gamma Y)")


class EvidenceView(BaseModel):
    position: int
    token: str
    about: str
    classes: list[str]
    score: float
    flagged: bool
    exemplars: list[ExemplarView]
    beta: float | None
    output: float | None = Field(description="beta and all terms together")
    offset: float | None = Field(description="above which the K-NN says yes")
    admitted: bool | None = Field(
        description="whether the answer on the word may be relied on; null: not known"
    )
    admitted_by: Literal["promise", "mean"] | None
    refusal: str | None
    distance: float
    limit: float | None = Field(
        description="how far the nearest exemplar may be, for the answer to be admitted"
    )
    version: int


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api", tags=["evidence"])

    @api.get("/file/documents/{place}/words/{word}")
    def of_document(place: Place, word: WordPlace, about: About = None) -> EvidenceView:
        """Why a word of a document of the open file was decided as it was."""
        return evidence(bench, bench.look(place), word, about, withdrawal=bench.need_file().withdrawal)

    @api.get("/texts/{key}/words/{word}")
    def of_text(
        key: Annotated[str, Path(pattern="^[0-9a-f]{20}$")], word: WordPlace, about: About = None
    ) -> EvidenceView:
        """Why a word of a text that was labelled not long ago was decided as it was."""
        return evidence(bench, bench.text(key), word, about)

    return api


def evidence(
    bench: Workbench, look: Look, word: int, about: str | None, *, withdrawal: str | None = None
) -> EvidenceView:
    bench.need_support()
    found, by = bench.looks.evidence(look, word, about=about, withdrawal=withdrawal), bench.admitting()
    if by == "promise" and (promise := bench.auditor.promise) is not None and "words" not in promise.parts:
        by = None  # it is about documents alone
    refusal = found.refusal if by is not None else None
    labels = bench.labels
    classes = [view.positive for view in labels.views]
    told = found.about or classes[0]
    terms = () if found.explanation is None else found.explanation.terms
    return EvidenceView(
        position=found.position,
        token=found.token,
        about=told,
        classes=classes,
        score=found.score,
        flagged=bool(found.decision),
        exemplars=[
            _exemplar(each, terms[n] if n < len(terms) else None, labels)
            for n, each in enumerate(found.exemplars)
        ],
        beta=None if found.explanation is None else found.explanation.beta,
        output=None if found.explanation is None else found.explanation.output,
        offset=None if found.explanation is None else found.explanation.offset,
        admitted=None if by is None else refusal is None,
        admitted_by=by,
        refusal=refusal,
        distance=found.exemplars[0].distance,
        limit=_limit(bench, found, classes.index(told)) if by == "mean" else None,
        version=bench.version,
    )


def _exemplar(found: Exemplar, term: object, labels: LabelSet) -> ExemplarView:
    first, last = max(0, found.position - AROUND), found.position + 1 + AROUND
    value = {name: getattr(term, name, None) for name in ("tanh", "term")}
    return ExemplarView(
        id=found.id,
        position=found.position,
        before=list(found.tokens[first : found.position]),
        word=found.token,
        after=list(found.tokens[found.position + 1 : last]),
        cut=(first > 0, last < len(found.tokens)),
        distance=found.distance,
        weight=found.weight,
        score=found.score,
        predicted=bool(found.prediction),
        label=[found.label] if isinstance(found.label, str) else list(found.label),
        word_label=None if found.token_label is None else bool(found.token_label),
        label_term=getattr(term, "label", None),
        **value,
    )


def _limit(bench: Workbench, found: Evidence, view: int) -> float | None:
    """The limit for what the K-NN says of the word."""
    limits = bench.auditor.admission
    if limits is None or found.explanation is None:
        return None
    return limits.views[view].token_limits.distance[int(found.explanation.prediction > 0)]
