"""The web app: guard, API and pages, put together."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from exaudit._version import __version__
from exaudit.errors import ExauditError
from exaudit.serve import corrections, evidence, insight, label, marks, model_page, pages, queue
from exaudit.serve.security import LOCAL, Guard
from exaudit.serve.state import ConflictError
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["create_app"]


class Refusal(BaseModel):
    """Why a request was not answered."""

    error: str


STATUSES = {
    400: "It makes no sense here",
    401: "No token",
    403: "It comes from another page, or lacks the header x-exaudit",
    404: "Not there",
    409: "Somebody else was faster",
    413: "Too large",
    421: "Another host",
    422: "Not what the schema says",
}


def create_app(bench: Workbench, *, hosts: Iterable[str] = LOCAL, token: str | None = None) -> FastAPI:
    """The workbench as an ASGI app.

    Parameters
    ----------
    bench
        What it is about.
    hosts
        Names under which it may be asked for.
    token
        What every request must show; None: nothing, for an app that only this machine can reach.
    """
    app = FastAPI(
        title="exaudit workbench",
        version=__version__,
        description="Decisions, evidence and corrections of one model. Whatever changes something needs the header "
        "`x-exaudit: 1`.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual page fetches scripts from elsewhere; ours is /api
        redoc_url=None,
        responses={status: {"model": Refusal, "description": why} for status, why in STATUSES.items()},
    )
    analyses = insight.Insight(bench)
    for router in (
        label.router(bench),
        evidence.router(bench),
        corrections.router(bench),
        marks.router(bench),
        queue.router(bench),
        insight.router(bench, analyses),
        model_page.router(bench),
        model_page.jobs_router(bench),
    ):
        app.include_router(router)
    app.include_router(pages.router(bench, analyses, app), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(str(files("exaudit.serve") / "static"))), name="static")
    _answer_errors(app, bench)
    app.add_middleware(Guard, hosts=tuple(hosts), token=token)
    return app


def _answer_errors(app: FastAPI, bench: Workbench) -> None:
    """Errors say what is wrong, and nothing of the machine."""

    @app.exception_handler(ExauditError)
    async def refused(_: Request, error: ExauditError) -> JSONResponse:
        status = 409 if isinstance(error, ConflictError) else 404 if isinstance(error, NotFoundError) else 400
        return JSONResponse({"error": bench.plain(str(error))}, status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first: dict[str, Any] = next(
            iter(error.errors()), {"loc": (), "msg": "it is not what the schema says"}
        )
        where = ".".join(str(part) for part in first["loc"])
        text = f"{where}: {first['msg']}".encode(errors="replace").decode()
        return JSONResponse({"error": text[:500]}, 422)

    @app.exception_handler(HTTPException)
    async def stopped(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)
