"""The pages: HTML from templates, with every text escaped; what moves on them is in `static/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse, Response
from jinja2 import BaseLoader, ChoiceLoader, Environment, FunctionLoader

from exaudit._version import __version__
from exaudit.analyse.features import By
from exaudit.analyse.report.html import drawer, environment, show
from exaudit.serve.corrections import support_view
from exaudit.serve.insight import Insight, features_view
from exaudit.serve.label import file_info, job_view
from exaudit.serve.model_page import card_of, model_view
from exaudit.serve.workbench import Workbench

__all__ = ["router"]

NAVIGATION = (
    ("/", "Label"),
    ("/correct", "Correct"),
    ("/mark", "Mark"),
    ("/queue", "Queue"),
    ("/features", "Features"),
    ("/reliability", "Reliability"),
    ("/compare", "Compare"),
    ("/model", "Model"),
)


def router(bench: Workbench, insight: Insight, app: FastAPI) -> APIRouter:
    pages = APIRouter()

    def page(name: str, **more: Any) -> HTMLResponse:
        file = file_info(bench)
        shared = {
            "navigation": NAVIGATION,
            "version": __version__,
            "labels": bench.labels,
            "file": file,
            "support": support_view(bench, 0),
            "rules": bench.rules(),
            "show": show,
            "draw": drawer(),
        }
        return HTMLResponse(
            _environment().get_template(f"{name}.html").render(**shared | {"here": name} | more)
        )

    @pages.get("/")
    def label() -> HTMLResponse:
        return page("label")

    @pages.get("/correct")
    def correct() -> HTMLResponse:
        return page("correct")

    @pages.get("/mark")
    def mark() -> HTMLResponse:
        return page("mark")

    @pages.get("/queue")
    def queue() -> HTMLResponse:
        return page("queue")

    @pages.get("/features")
    def features(
        predicted: Annotated[str | None, Query(alias="class", max_length=1000)] = None,
        size: Annotated[int, Query(ge=1, le=5)] = 1,
        by: By = "mean",
        minimum: Annotated[int, Query(ge=1, le=10_000)] = 3,
    ) -> HTMLResponse:
        asked = {"predicted": predicted or bench.labels.names[-1], "size": size, "by": by, "minimum": minimum}
        job = None if bench.file is None else insight.get("features")
        found = None
        if job is not None and job.status == "done":
            found = features_view(bench, job.result, **asked, top=20)  # type: ignore[arg-type]
        return page("features", job=job and job_view(job), found=found, asked=asked)

    @pages.get("/reliability")
    def reliability() -> HTMLResponse:
        job = None if bench.file is None else insight.get("reliability")
        return page("analysis", title="Reliability", job=job and job_view(job), found=job and job.result)

    @pages.get("/compare")
    def compare(beside: Annotated[str, Query(max_length=40)] = "") -> HTMLResponse:
        files = bench.kept_files()
        chosen = beside if beside in files else None
        job = None if bench.file is None else insight.get("compare", chosen)
        told = {"job": job and job_view(job), "found": job and job.result, "files": files, "beside": chosen}
        return page("analysis", title="Compare", **told)

    @pages.get("/model")
    def model() -> HTMLResponse:
        return page("model", model=model_view(bench), card=card_of(bench), support=support_view(bench, 20))

    @pages.get("/api")
    def api() -> HTMLResponse:
        return page("api", schema=app.openapi())

    @pages.get("/favicon.ico")
    def icon() -> Response:
        return Response(_read("../static/icon.svg"), media_type="image/svg+xml")

    return pages


@cache
def _environment() -> Environment:
    made = environment().overlay()
    loader = environment().loader
    assert isinstance(loader, BaseLoader)
    made.loader = ChoiceLoader([FunctionLoader(_template), loader])
    return made


def _template(name: str) -> str | None:
    try:
        return _read(name)
    except FileNotFoundError:
        return None


def _read(name: str) -> str:
    return files("exaudit.serve").joinpath("templates", name).read_text(encoding="utf-8")
