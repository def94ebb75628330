"""Model: what it is, what was fitted for it, and whether that still fits."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Path
from markupsafe import Markup
from pydantic import BaseModel, Field

from exaudit.audit.staleness import limits_text
from exaudit.errors import DataError, SupportError
from exaudit.model.card import card
from exaudit.model.folder import read_description
from exaudit.serve.label import JobView, job_view
from exaudit.serve.markdown import to_html
from exaudit.serve.promised import PromiseView
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["ModelView", "card_of", "jobs_router", "model_view", "router"]


class KNNView(BaseModel):
    about: str = Field(description="the class")
    kind: str
    k: int
    tau: float
    gamma: float
    beta: float
    boundary: float
    delta: int = Field(description="words of K-NN dev that it decides otherwise than the model")


class ModelView(BaseModel):
    kind: str
    names: list[str]
    classes: list[str] = Field(description="those that words are decided for")
    encoder: str | None
    word_boundaries: list[float]
    smoothing: list[int]
    rules: dict[str, str | None]
    knn: list[KNNView]
    knn_stale: bool = Field(description="whether it was fitted on another version of the support set")
    agreement: float | None
    limits: dict[str, str]
    limits_stale: bool
    promise: PromiseView | None
    version: int
    exemplars: int
    can_undo_boundary: bool


def router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api", tags=["model"])

    @api.get("/model")
    def model() -> ModelView:
        """The model, its K-NN and its limits."""
        return model_view(bench)

    @api.post("/model/refit")
    def refit() -> JobView:
        """Fit the K-NN and the admission limits on the open file, in the background. Its documents should not be in the
        support set."""
        bench.need_support()
        file = bench.need_file()
        if len(file) < 10:
            raise DataError(f"the open file has {len(file)} documents; a fit needs ten or more")
        documents = list(file.documents())

        def work(_: object) -> None:
            if bench.auditor.overlap(documents):
                raise SupportError("documents of the open file are in the support set; open held-out ones")
            with bench.editing:
                bench.refit(documents)

        return job_view(bench.jobs.start("fit the K-NN and the limits", work))

    return api


def jobs_router(bench: Workbench) -> APIRouter:
    api = APIRouter(prefix="/api/jobs", tags=["jobs"])

    @api.get("")
    def jobs() -> list[JobView]:
        """Work in the background, newest last."""
        return [job_view(job) for job in bench.jobs.all()]

    @api.get("/{id}")
    def job(id: str = Path(max_length=20)) -> JobView:
        """One of them."""
        return job_view(_job(bench, id))

    @api.post("/{id}/cancel")
    def cancel(id: str = Path(max_length=20)) -> JobView:
        """Stop it at its next step."""
        found = _job(bench, id)
        found.cancel()
        return job_view(found)

    return api


def _job(bench: Workbench, id: str) -> Any:
    found = bench.jobs.get(id)
    if found is None:
        raise NotFoundError("there is no such job")
    return found


def model_view(bench: Workbench) -> ModelView:
    model, knn, limits = bench.model, bench.auditor.knn, bench.auditor.admission
    views, version = bench.labels.views, bench.version
    name = bench.auditor.support.version if bench.has_support else ""
    return ModelView(
        kind=bench.labels.kind,
        names=list(bench.labels.names),
        classes=[view.positive for view in views],
        encoder=None if model.encoder is None else model.settings.encoder,
        word_boundaries=list(model.word_boundaries),
        smoothing=list(model.smoothing),
        rules=bench.rules(),
        knn=[
            KNNView(
                about=view.positive,
                kind=own.knn.kind,
                k=own.knn.k,
                tau=own.knn.tau,
                gamma=own.knn.gamma,
                beta=own.knn.beta,
                boundary=own.knn.offset,
                delta=own.delta,
            )
            for view, own in zip(views, () if knn is None else knn.views, strict=False)
        ],
        knn_stale=knn is not None and knn.support_version != name,
        agreement=None if knn is None else knn.agreement,
        limits={} if limits is None else limits_text(limits.views, bench.labels),
        limits_stale=limits is not None and (limits.is_stale(name) or not bench.has_limits),
        promise=bench.promised.view(bench.labels, bench.file),
        version=version,
        exemplars=len(bench.auditor.support) if bench.has_support else 0,
        can_undo_boundary=bench.state.read("boundary.json") is not None,
    )


def card_of(bench: Workbench) -> Markup:
    """The model card."""
    return to_html(card(read_description(bench.folder)))
