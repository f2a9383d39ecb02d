"""The parts that all pages share: who is signed in, forms that only our own pages can send, and the templates."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import Busy, DiscreetError, InvalidParameter, NotAllowed
from discreet.escaping import prose
from discreet.rational import show
from discreet.records import dataclass
from discreet.release.documents import dump
from discreet.release.exactly import exact
from discreet.server.access import see_scope
from discreet.server.people import SIGNED_IN, Caller
from discreet.server.problems import NotSignedIn, status
from discreet.server.service import Service

HERE = Path(__file__).parent
FIELDS = 40
"""Fields of a form."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in.

    Attributes:
        caller: who.
        seal: stands in every form of theirs; nobody else's page can know it.
    """

    caller: Caller
    seal: str


def service_of(request: Request) -> Service:
    """The service of a request."""
    service: Service = request.app.state.service
    return service


def cookie_name(service: Service) -> str:
    """The name of the cookie; under https it begins so that no other host can set it."""
    return "__Host-discreet" if service.settings.secure else "discreet"


def set_cookie(answer: Response, service: Service, secret: str) -> None:
    """Give a cookie that no script reads and no other site sends; an empty one ends it."""
    answer.set_cookie(
        cookie_name(service), secret, max_age=SIGNED_IN if secret else 0, path="/", httponly=True,
        samesite="strict", secure=service.settings.secure,
    )  # fmt: skip


def seal_of(secret: str) -> str:
    """The seal of the forms of a cookie."""
    return hashlib.sha256(f"form {secret}".encode()).hexdigest()


def visitor_of(request: Request) -> Visitor | None:
    """Who is signed in; None for nobody.

    Raises:
        Busy: they ask too often.
    """
    service = service_of(request)
    secret = request.cookies.get(cookie_name(service), "")
    caller = service.people.signed_in(secret)
    if caller is None:
        return None
    if not service.rate.allows(caller.name):
        raise Busy("You ask too often.", "Wait for a moment.")
    return Visitor(caller, seal_of(secret))


def visits(*scopes: str) -> Callable[..., Any]:
    """A dependency of FastAPI: the visitor, who must have one of these scopes."""

    async def visitor(request: Request) -> Visitor:
        found = visitor_of(request)
        if found is None:
            raise NotSignedIn("You are not signed in.", "Sign in with your token.")
        see_scope(found.caller, *scopes)
        return found

    return visitor


async def form_of(request: Request, visitor: Visitor | None, most: int = FIELDS) -> dict[str, str]:
    """The fields of a form that one of our own pages sent.

    Args:
        request: with the form.
        visitor: whose seal must stand in it; None for the form that signs in.
        most: how many fields it may have.

    Raises:
        NotAllowed: another page sent it.
        InvalidParameter: it cannot be read.
    """
    see_own_page(request)
    try:
        text = (await request.body()).decode("utf-8")
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=most, encoding="utf-8", errors="strict"
        )
        fields = dict(pairs) if len(dict(pairs)) == len(pairs) else {}
    except ValueError:
        fields = {}
    if not fields:
        raise InvalidParameter("The form cannot be read.", "Send it again.")
    if visitor is not None and not hmac.compare_digest(
        fields.pop("seal", "").encode(), visitor.seal.encode()
    ):
        raise NotAllowed("This form is not of this page, or too old.", "Load the page again.")
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}  # as browsers send lines


def see_own_page(request: Request) -> None:
    """See that a form comes from a page of the service itself, as far as the browser says.

    Raises:
        NotAllowed: it comes from another one.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    other = site is not None and site not in ("same-origin", "none")
    if other or (
        origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()
    ):
        raise NotAllowed("This form comes from another site.", "Open the page of the service itself.")


def page(
    request: Request, template: str, /, visitor: Visitor | None = None, code: int = 200, **given: Any
) -> HTMLResponse:
    """A page of a template."""
    text = (
        templates()
        .get_template(template)
        .render(visitor=visitor, path=request.url.path, service=service_of(request), **given)
    )
    return HTMLResponse(text, code)


def failed(request: Request, error: DiscreetError) -> Response:
    """The page of an error; who is not signed in is led there."""
    if isinstance(error, NotSignedIn):
        return moved("/sign-in")
    try:
        visitor = visitor_of(request)
    except DiscreetError:
        visitor = None
    return page(request, "error.html", visitor, status(error), error=error)


def moved(path: str) -> RedirectResponse:
    """Lead to another page, which is then got."""
    return RedirectResponse(path, 303)


@lru_cache(1)
def templates() -> Environment:
    """The templates, in which every value is escaped and every missing one is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, finalize=_shown,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"number": show, "exact": exact, "literal": repr, "document": dump, "size": _size}
    return made


def _size(size: float) -> str:
    """An expected error, to three digits, without powers of ten where they are not needed."""
    if not size < 1e300:
        return "unknown"
    return f"± {size:,.0f}" if 100 <= size < 1e12 else f"± {size:.3g}"


def _shown(value: Any) -> Any:
    """Odd characters are written out; markup of our own stays."""
    return prose(value) if isinstance(value, str) and not isinstance(value, Markup) else value
