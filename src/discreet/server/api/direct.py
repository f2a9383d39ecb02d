"""The addresses that are asked most often, past the layers of the framework, which cost more than a small question.

Address, model of the body, scopes and endpoint are those of the framework's own route, so that nothing is declared
twice. Only the plain case is served here: JSON of the right shape, nothing behind the address. Every other request goes
the framework's way, which names its fault.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.errors import DiscreetError
from discreet.server import problems
from discreet.server.guard import PARSED, Receive, Scope, Send

JSON = b"application/json"


class Direct:
    """Serves some routes itself, and hands everything else on.

    Args:
        app: the application that the routes belong to.
        routes: with one model as their body, dependencies that need the request alone, and options in the query of the
            address, all of which may be left out.
    """

    def __init__(self, app: FastAPI, routes: Iterable[APIRoute]) -> None:
        self._app = app
        self._routes = [_Called(route) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = self._found(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        called, place, body = found
        scope["app"], scope["route"] = self._app, called.route
        try:
            response = await called(Request(scope), place, body)
        except DiscreetError as error:
            told = problems.told(error)
            response = JSONResponse(problems.body(told), problems.status(told))
        await response(scope, receive, send)

    def _found(self, scope: Scope) -> tuple[_Called, dict[str, str], BaseModel] | None:
        """The route of a request, the part of its address that has a name, and its body; None unless all is plain."""
        parsed = scope.get(PARSED)
        if parsed is None or scope["query_string"]:
            return None
        if [value for name, value in scope["headers"] if name == b"content-type"] != [JSON]:
            return None
        for called in self._routes:
            place = called.route.path_regex.match(scope["path"])
            if place and scope["method"] in called.methods:
                body = called.read(parsed)
                return None if body is None else (called, place.groupdict(), body)
        return None


class _Called:
    """The endpoint of a route, and the things that it is called with."""

    def __init__(self, route: APIRoute) -> None:
        self.route, self.methods = route, frozenset(route.methods or ())
        parts = route.dependant
        (body,) = parts.body_params
        model = body.field_info.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        assert not [*parts.header_params, *parts.cookie_params]
        assert not any(option.field_info.is_required() for option in parts.query_params)
        self._body, self._model = body.name, model
        self._endpoint: Callable[..., Awaitable[Any]] = route.endpoint
        self._needs = [(dependency.name, _alone(dependency)) for dependency in parts.dependencies]
        self._request = parts.request_param_name

    def read(self, parsed: Any) -> BaseModel | None:
        """The body; None where it is of another shape."""
        try:
            return self._model.model_validate(parsed)
        except (ValidationError, RecursionError):
            return None

    async def __call__(self, request: Request, place: dict[str, str], body: BaseModel) -> Response:
        """Answer a request."""
        given: dict[str, Any] = {name: await needed(request) for name, needed in self._needs if name}
        if self._request is not None:
            given[self._request] = request
        answer = await self._endpoint(**place, **given, **{self._body: body})
        if isinstance(answer, Response):
            return answer
        return Response(to_json(answer, inf_nan_mode="null"), media_type="application/json")


def _alone(part: Dependant) -> Callable[[Request], Awaitable[Any]]:
    """A dependency that needs the request alone."""
    assert part.call is not None
    assert part.request_param_name == "request"
    assert not [*part.dependencies, *part.query_params, *part.body_params, *part.header_params]
    return part.call
