"""The application: the addresses for programs and the pages for people, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.errors import DiscreetError, InvalidParameter
from discreet.server import problems
from discreet.server.api import analyst, metrics, standing, steward
from discreet.server.api.direct import Direct
from discreet.server.guard import Guard
from discreet.server.pages import analyst as pages_analyst
from discreet.server.pages import answers as pages_answers
from discreet.server.pages import oidc as pages_oidc
from discreet.server.pages import steward as pages_steward
from discreet.server.pages import wizard as pages_wizard
from discreet.server.pages.site import failed, page
from discreet.server.service import Service

ABOUT = """Private answers to questions about people. Every answer is noisy by a known amount, and every question is
charged to a budget that cannot be overdrawn.

Send the token as `Authorization: Bearer …`. Numbers such as epsilon are exact: write them as texts. Every error is
`{"error", "cause", "fix", "charged"}`, where `charged` is the loss that stays charged, or null."""


def make_app(service: Service) -> Guard:
    """The whole application of a service."""
    app = make_api(service)
    often = (analyst.query, analyst.preview)
    routes = [route for route in app.routes if isinstance(route, APIRoute) and route.endpoint in often]
    return Guard(Direct(app, routes), service)


def make_api(service: Service) -> FastAPI:
    """The application without its guard, for tests that read its addresses."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="discreet", version=__version__, description=ABOUT, docs_url=None, redoc_url=None,
        openapi_url="/api/v1/openapi.json", lifespan=lifespan, redirect_slashes=False,
    )  # fmt: skip
    app.state.service = service
    # One flat list, which the test of authorisation can read whole.
    parts = (
        analyst, standing, steward, metrics, pages_analyst, pages_oidc, pages_answers, pages_steward, pages_wizard,
    )  # fmt: skip
    for part in (module.router for module in parts):
        app.router.routes.extend(part.routes)

    @app.get("/api", include_in_schema=False)
    async def described(request: Request, visitor: pages_analyst.Anybody) -> Response:
        """The addresses for programs, for people."""
        return page(request, "api.html", visitor, about=app.openapi())

    @app.get("/api/v1/health", tags=["for everybody"], summary="Whether the service is up")
    async def health() -> dict[str, Any]:
        """It says nothing else."""
        return {"status": "ok"}

    @app.exception_handler(DiscreetError)
    async def refused(request: Request, error: DiscreetError) -> Response:
        return answered(request, problems.told(error))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return answered(request, problems.told(error))

    @app.exception_handler(RequestValidationError)
    async def unreadable(request: Request, error: RequestValidationError) -> Response:
        return answered(request, invalid(error))

    @app.exception_handler(HTTPException)
    async def nothing(request: Request, error: HTTPException) -> Response:
        return answered(request, not_served(error))

    return app


def answered(request: Request, error: DiscreetError) -> Response:
    """An error as an answer: JSON for programs, a page for people."""
    if not request.url.path.startswith("/api/"):
        return failed(request, error)
    return JSONResponse(problems.body(error), problems.status(error))


def invalid(error: RequestValidationError) -> InvalidParameter:
    """The error for a request of another shape; it names the place, and quotes nothing that was sent."""
    first = error.errors()[0]
    known = "missing" if first["type"] == "missing" else "not known" if "extra" in first["type"] else "wrong"
    place = [
        part for part in first["loc"] if isinstance(part, str) and part.isidentifier() and len(part) < 40
    ]
    return InvalidParameter(
        f"A part of the request is {known}: {'.'.join(place) or 'body'}.", "See /api/v1/openapi.json."
    )


def not_served(error: HTTPException) -> DiscreetError:
    """The error for an address or a method that is not there, or a body that is no JSON."""
    if error.status_code in (404, 405):
        return problems.not_there()
    return InvalidParameter("The request cannot be read.", "Send JSON as in /api/v1/openapi.json.")
