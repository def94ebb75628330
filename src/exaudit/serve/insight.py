"""Features, Reliability, Compare: the analyses of the command line, of the open file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from exaudit.analyse.features import By, Features
from exaudit.analyse.report import Answers, Page, reliability_page
from exaudit.serve.answers import DRAWN, answers_on, distances_of, in_domain
from exaudit.serve.comparison import compare
from exaudit.serve.jobs import Job
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["Insight", "router"]

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

    def get(self, name: Name, beside: str | None = None) -> Job:
        """The job whose result is the analysis; a comparison, `beside` a file that was open before."""
        bench = self._bench
        file = bench.need_file()
        other = None if beside is None else bench.kept_file(beside)
        key = (file.folder.name, beside, bench.model.word_boundaries, bench.version, bench.admitting())
        found = self._found.get(name)
        if found is None or found.key != key or found.job.status in ("failed", "cancelled"):
            work: dict[Name, Callable[[], Any]] = {
                "features": self._features,
                "reliability": self._reliability,
                "compare": lambda: compare(bench, other),
            }
            if found is not None:
                found.job.result = None  # jobs are remembered for a while, and analyses are large
            found = _Found(key, bench.jobs.start(name, lambda job: work[name](), short=True))
            self._found[name] = found
        return found.job

    def _features(self) -> Features:
        return Features.of(self._bench.need_file().labelled(), self._bench.model)

    def _reliability(self) -> Page:
        bench = self._bench
        file, reference, promise = bench.need_file(), in_domain(bench), bench.auditor.promise
        if promise is not None and file.withdrawal is not None:
            promise = promise.withdrawn(file.withdrawal)
        page = reliability_page(
            Answers(
                bench.model,
                bench.auditor if bench.has_support else None,
                answers_on(bench, file),
                None if reference is None else distances_of(reference),
                f"Reliability on {file.name}",
                promise if bench.promised.standing == "holds" else None,
            )
        )
        if len(file) <= DRAWN:
            return page
        return replace(page, summary=(*page.summary, f"They were drawn from {len(file):,} in the file."))


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
