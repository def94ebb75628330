"""Features, Reliability, Compare: the analyses of the command line, of the open file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from exaudit.analyse.features import By, Features
from exaudit.analyse.report import Answers, Page, Section, Table, reliability_page
from exaudit.analyse.report.blocks import Cell
from exaudit.audit.audited import Audited, MultiAudited
from exaudit.model.scores import Scores
from exaudit.serve.jobs import Job
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["Insight", "router"]

REFERENCE = 300  # in-domain documents that a file is compared with, at most
Name = Literal["features", "reliability", "compare"]


class NgramView(BaseModel):
    text: str
    mean: float
    total: float
    occurrences: int
    frequency: int


class RankedView(BaseModel):
    id: str
    place: int | None
    text: str
    score: float = Field(description="per word")
    truth: list[str] | None


class FeaturesView(BaseModel):
    predicted: str
    documents: int
    highest: list[NgramView]
    lowest: list[NgramView]
    misled: list[NgramView] = Field(description="the highest in documents that are truly of another class")
    typical: list[RankedView]


@dataclass
class _Found:
    key: tuple[Any, ...]
    job: Job


class Insight:
    """Analyses of the open file, made once in the background, and anew when something they depend on has changed."""

    def __init__(self, bench: Workbench) -> None:
        self._bench, self._found = bench, dict[str, _Found]()

    def get(self, name: Name) -> Job:
        """The job whose result is the analysis."""
        bench = self._bench
        file = bench.need_file()
        key = (file.folder.name, bench.model.word_boundaries, bench.version, bench.admits)
        found = self._found.get(name)
        if found is None or found.key != key or found.job.status in ("failed", "cancelled"):
            work: Callable[[], Any] = getattr(self, f"_{name}")
            found = self._found[name] = _Found(key, bench.jobs.start(name, lambda job: work()))
        return found.job

    def _features(self) -> Features:
        return Features.of(self._bench.need_file().labelled(), self._bench.model)

    def _reliability(self) -> Page:
        return reliability_page(self._answers())

    def _compare(self) -> Page:
        """The open file beside documents of the kind that the limits were fitted on."""
        bench, answers = self._bench, self._answers()
        reference = self._reference()
        if reference is None:
            raise NotFoundError(
                "a comparison needs admission limits, which know in-domain documents: fit them first"
            )
        sides = [("in-domain documents", reference), (bench.need_file().name, answers.labelled)]
        rows = [_summary(name, labelled, bench) for name, labelled in sides]
        columns = (
            "",
            "documents",
            "words",
            "flagged words, %",
            "admitted words, %",
            "nearest exemplar, median",
        )
        classes = ("", *bench.labels.names)
        shares = [_class_shares(name, labelled, bench) for name, labelled in sides]
        near = [each for each in reliability_page(answers).sections if each.title.startswith("How near")]
        first = Section(
            "Side by side",
            (
                Table("What the model and the support set say of them", columns, tuple(rows), 1),
                Table("Documents decided to be of each class, in percent", classes, tuple(shares), 1),
            ),
        )
        told = (
            f"{len(reference):,} documents that the admission limits were fitted on, beside "
            f"{len(answers.labelled):,} of the open file. Words that are far from every exemplar, and fewer admitted "
            "answers, are signs that the file is unlike what the model knows.",
        )
        return Page("In-domain against this file", told, (first, *near))

    def _answers(self) -> Answers:
        bench = self._bench
        file = bench.need_file()
        near = None
        if (reference := self._reference()) is not None:
            found = [own.views[0].neighbours for own in reference if isinstance(own, Audited | MultiAudited)]
            near = np.concatenate([n.distances[:, 0] for n in found if n is not None]).astype(np.float64)
        auditor = bench.auditor if bench.has_support else None
        return Answers(bench.model, auditor, list(self._decided()), near, f"Reliability on {file.name}")

    def _decided(self) -> Iterator[Scores]:
        bench = self._bench
        file = bench.need_file()
        rule = "knn" if bench.rules()["knn"] is None else None
        for place in range(len(file)):
            if not bench.has_support:
                yield file.scores(place)
            else:
                yield bench.looks.decided(bench.look(place), rule, admit=bench.admits)  # type: ignore[arg-type]

    def _reference(self) -> list[Scores] | None:
        limits = self._bench.auditor.admission
        if limits is None or not self._bench.admits:
            return None
        return list(self._bench.auditor.label(limits.documents[:REFERENCE], rule="knn", admit=True))


def router(bench: Workbench, insight: Insight) -> APIRouter:
    api = APIRouter(prefix="/api", tags=["insight"])

    @api.get("/features")
    def features(
        predicted: Annotated[str, Query(max_length=1000, alias="class")],
        size: Annotated[int, Query(ge=1, le=10)] = 1,
        by: By = "mean",
        minimum: Annotated[int, Query(ge=1, le=10_000)] = 1,
        top: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> FeaturesView:
        """What speaks for a class in the open file; 404 until the analysis is made, which the call starts."""
        job = insight.get("features")
        if job.status != "done":
            raise NotFoundError("the analysis is being made; ask again when its job is done")
        return features_view(bench, job.result, predicted, size, by, minimum, top)

    return api


def features_view(
    bench: Workbench, found: Features, predicted: str, size: int, by: By, minimum: int, top: int
) -> FeaturesView:
    if predicted not in bench.labels.names:
        raise NotFoundError("there is no such class")
    target = bench.labels.names.index(predicted)

    def ngrams(**more: Any) -> list[NgramView]:
        grams = found.ngrams(size, target, by=by, top=top, minimum=minimum, **more)
        return [
            NgramView(
                text=gram.text,
                mean=gram.mean,
                total=gram.total,
                occurrences=gram.occurrences,
                frequency=gram.frequency,
            )
            for gram in grams
        ]

    ids, names = bench.need_file().ids, bench.labels.names
    return FeaturesView(
        predicted=predicted,
        documents=found.count(target),
        highest=ngrams(),
        lowest=ngrams(lowest=True),
        misled=ngrams(truth="other") if found.has_truth else [],
        typical=[
            RankedView(
                id=each.id,
                place=ids.get(each.id),
                text=each.text[:400],
                score=each.normalised,
                truth=None if each.truth is None else [names[c] for c in each.truth],
            )
            for each in found.documents(target, top=10)
        ],
    )


def _summary(name: str, labelled: list[Scores], bench: Workbench) -> tuple[Cell, ...]:
    words = sum(len(own.document.tokens) for own in labelled)
    flagged = sum(int(np.any([view.margins > 0 for view in own.views], axis=0).sum()) for own in labelled)
    told = [own for own in labelled if isinstance(own, Audited | MultiAudited)]
    admitted = [own.admitted_tokens for own in told if own.admitted_tokens is not None]
    near = [own.views[0].neighbours for own in told]
    distances = [each.distances[:, 0] for each in near if each is not None]
    return (
        name,
        len(labelled),
        words,
        100 * flagged / max(1, words),
        100 * float(np.concatenate(admitted).mean()) if admitted else None,
        float(np.median(np.concatenate(distances))) if distances else None,
    )


def _class_shares(name: str, labelled: list[Scores], bench: Workbench) -> tuple[Cell, ...]:
    counts = [sum(c in own.decided for own in labelled) for c in range(len(bench.labels.names))]
    return (name, *(100 * count / max(1, len(labelled)) for count in counts))
