"""The pages of a sign-in through an OpenID provider: the way there, and the way back."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import Busy, DiscreetError
from discreet.server.desk import TooLong
from discreet.server.oidc.provider import Attempt, Provider, SignInRefused
from discreet.server.pages.site import cookie_name, moved, page, service_of, set_cookie
from discreet.server.problems import not_there, status
from discreet.server.service import Service

T = TypeVar("T")
router = APIRouter(include_in_schema=False)
BACK = "/sign-in/provider/back"
MINUTES = 10
"""How long a sign-in may take at the provider."""
LONGEST_PARAMETER = 4096
"""Characters of a parameter."""


@router.get("/sign-in/provider")
async def begin(request: Request) -> Response:
    """Lead to the provider, with a new attempt in a cookie."""
    service, provider = _provider(request)
    attempt = Attempt(secrets.token_urlsafe(32))
    try:
        _see_rate(request, service)
        url = await _done(service, lambda: provider.begin(attempt, _back(request, service)))
    except DiscreetError as error:
        return page(request, "sign_in.html", code=status(error), fault=error.cause)
    answer = moved(url)
    _set_attempt(answer, service, attempt.secret)
    return answer


@router.get(BACK)
async def back(request: Request) -> Response:
    """Take the answer of the provider; whoever is known gets a cookie, and a new one each time."""
    service, provider = _provider(request)
    attempt = Attempt(request.cookies.get(_name(service), ""))
    came = dict(request.query_params)
    try:
        _see_rate(request, service)
        if not attempt.secret or any(len(value) > LONGEST_PARAMETER for value in came.values()):
            raise SignInRefused("it began in another browser, or too long ago")
        if len(came) < len(request.query_params.multi_items()):
            raise SignInRefused("a parameter stands twice")

        def work() -> str | None:
            value = provider.person(provider.finish(attempt, _back(request, service), came))
            service.people.sign_out(request.cookies.get(cookie_name(service), ""))
            return service.identities.sign_in(value)

        secret = await _done(service, work)
        fault, code = "Nobody here is known by this account. Ask the steward to link it.", 403
    except SignInRefused as error:
        if error.noted:
            service.state.note("the provider", "sign-in refused", error.reason)
        secret, fault, code = None, f"{error.cause} {error.fix}", 401
    except DiscreetError as error:
        secret, fault, code = None, error.cause, status(error)
    if secret is None:
        answer: Response = page(request, "sign_in.html", code=code, fault=fault)
    else:
        # A page of our own leads on: a browser sends no strict cookie along a redirection that began elsewhere.
        answer = page(request, "signed_in.html")
        set_cookie(answer, service, secret)
    _set_attempt(answer, service, "")
    return answer


def _provider(request: Request) -> tuple[Service, Provider]:
    service = service_of(request)
    if service.provider is None:
        raise not_there()
    return service, service.provider


def _see_rate(request: Request, service: Service) -> None:
    if not service.strangers.allows(request.client.host if request.client else ""):
        raise Busy("Too many tries. Wait for a minute.", "Wait for a minute.")


async def _done(service: Service, work: Callable[[], T]) -> T:
    """Do work that waits for the provider, a few at once."""
    try:
        return await service.looks.do("sign in", work)  # no name of an analyst has a space
    except TooLong:
        raise Busy("The provider takes too long.", "Try again in a while.") from None


def _back(request: Request, service: Service) -> str:
    base = service.settings.public_url or str(request.base_url)
    return base.rstrip("/") + BACK


def _name(service: Service) -> str:
    return f"{cookie_name(service)}-attempt"


def _set_attempt(answer: Response, service: Service, secret: str) -> None:
    """Keep an attempt in the browser, which sends it along as the provider leads back; an empty one ends it."""
    answer.set_cookie(
        _name(service), secret, max_age=60 * MINUTES if secret else 0, path="/", httponly=True, samesite="lax",
        secure=service.settings.secure,
    )  # fmt: skip
