"""The pages of analysts: sign in, data sets, the editor, preview, the question itself, answers and history."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.responses import FileResponse, Response

from discreet.errors import DiscreetError, InvalidParameter
from discreet.rational import exact
from discreet.release import shown
from discreet.release.answer import Release
from discreet.release.documents import FORMS
from discreet.server.bodies import Question
from discreet.server.pages.site import (
    HERE,
    Visitor,
    cookie_name,
    form_of,
    moved,
    page,
    service_of,
    set_cookie,
    visitor_of,
    visits,
)
from discreet.server.problems import not_there
from discreet.server.service import MOST_GROUPS
from discreet.sql.syntax.priced import priced

router = APIRouter(include_in_schema=False)
Anybody = Annotated[Visitor, Depends(visits("read", "ask", "audit", "manage"))]
Reader = Annotated[Visitor, Depends(visits("read", "audit"))]
Analyst = Annotated[Visitor, Depends(visits("read"))]
Asker = Annotated[Visitor, Depends(visits("ask"))]
ROWS = 500
"""Rows of an answer on its page; the downloads have all."""
EMPTY = {"query": "", "epsilon": "0.1", "confidence": "0.95", "delta": "", "simultaneous": ""}


@router.get("/static/style.css")
async def style() -> Response:
    """The one style sheet."""
    return FileResponse(HERE / "style.css", media_type="text/css", headers={"cache-control": "max-age=300"})


@router.get("/static/icon.svg")
async def icon() -> Response:
    """The sign in the tab of a browser."""
    return FileResponse(
        HERE / "icon.svg", media_type="image/svg+xml", headers={"cache-control": "max-age=300"}
    )


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """Where to sign in."""
    return page(request, "sign_in.html", fault="")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Take a token, and give a cookie for some hours."""
    service = service_of(request)
    fields = await form_of(request, None)
    caller = service.people.caller(fields.get("token", "").strip())
    if caller is None:
        peer = request.client.host if request.client else ""
        slow = not service.strangers.allows(peer)
        fault = (
            "Too many tries. Wait for a minute." if slow else "This token is not valid. It may have ended."
        )
        return page(request, "sign_in.html", code=429 if slow else 401, fault=fault)
    answer = moved("/")
    set_cookie(answer, service, service.people.sign_in(caller))
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, visitor: Anybody) -> Response:
    """Forget the cookie."""
    service = service_of(request)
    await form_of(request, visitor)
    service.people.sign_out(request.cookies.get(cookie_name(service), ""))
    answer = moved("/sign-in")
    set_cookie(answer, service, "")
    return answer


@router.get("/")
async def start(request: Request) -> Response:
    """Lead everybody to their own first page."""
    visitor = visitor_of(request)
    if visitor is None:
        return moved("/sign-in")
    return moved("/steward" if visitor.caller.role == "steward" else "/data")


@router.get("/data")
async def datasets(request: Request, visitor: Reader) -> Response:
    """The data sets in plain words, each with the budget."""
    service = service_of(request)
    found = service.visible(visitor.caller)
    budgets: dict[str, Any] = {}
    if visitor.caller.role == "analyst":
        budgets = await service.look(
            visitor.caller,
            lambda: {one.name: service.session(visitor.caller, one.name).budget for one in found},
        )
    return page(request, "datasets.html", visitor, datasets=found, budgets=budgets)


async def _editor(request: Request, visitor: Visitor, name: str, **more: Any) -> Response:
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    tables = await service.look(visitor.caller, found.schema)
    budget = None
    if visitor.caller.role == "analyst":
        budget = await service.look(visitor.caller, lambda: service.session(visitor.caller, name).budget)
    given = {"fields": EMPTY, "preview": None, "error": None, **more}
    return page(request, "dataset.html", visitor, dataset=found, tables=tables, budget=budget, **given)


@router.get("/data/{name}")
async def editor(request: Request, name: str, visitor: Reader) -> Response:
    """The editor, with the schema beside it."""
    return await _editor(request, visitor, name)


@router.post("/data/{name}/preview")
async def preview(request: Request, name: str, visitor: Analyst) -> Response:
    """Price and expected error, and the button that asks for that price; free."""
    service = service_of(request)
    fields = {**EMPTY, **await form_of(request, visitor)}
    try:
        given = asked(fields)
        session = service.session(visitor.caller, name)
        seen = await service.look(visitor.caller, lambda: session.preview(**{"epsilon": 1, **given}))
        if seen.groups and "epsilon" not in given and priced(given["query"]) is None:
            raise InvalidParameter("The price is missing.", "Write an epsilon, such as 0.1.")
    except DiscreetError as error:
        return await _editor(request, visitor, name, fields=fields, error=error)
    return await _editor(request, visitor, name, fields=fields, preview=seen)


@router.post("/data/{name}/mock")
async def mock(request: Request, name: str, visitor: Analyst) -> Response:
    """The question about invented rows; free."""
    service = service_of(request)
    fields = {**EMPTY, **await form_of(request, visitor)}
    try:
        given = asked(fields)
        release = await service.mock(visitor.caller, name, given, 10_000, lambda answer, _: answer)
    except DiscreetError as error:
        return await _editor(request, visitor, name, fields=fields, error=error)
    return _answer(request, visitor, name, release, given, key="", invented=True)


@router.post("/data/{name}/ask")
async def ask(request: Request, name: str, visitor: Asker) -> Response:
    """Ask for the price that was confirmed, and lead to the answer."""
    service = service_of(request)
    fields = {**EMPTY, **await form_of(request, visitor)}
    try:
        given = asked(fields)
        key, release = await service.ask(
            visitor.caller, name, given, lambda answer, session: (session.look(**given).key, answer)
        )
    except DiscreetError as error:
        return await _editor(request, visitor, name, fields=fields, error=error)
    if key:
        return moved(f"/data/{name}/answers/{key}")
    return _answer(request, visitor, name, release, given, key="")


@router.get("/data/{name}/answers")
async def history(request: Request, name: str, visitor: Analyst) -> Response:
    """The answers that were paid for."""
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    releases = await service.look(visitor.caller, lambda: service.releases(visitor.caller, name))
    budget = await service.look(visitor.caller, lambda: service.session(visitor.caller, name).budget)
    return page(request, "history.html", visitor, dataset=found, releases=releases, budget=budget)


@router.get("/data/{name}/answers/{key}")
async def answer(request: Request, name: str, key: str, visitor: Analyst) -> Response:
    """An answer, as chart and table; free."""
    service = service_of(request)
    given = service.asks.asked(visitor.caller.name, name, key)
    release = await service.again(visitor.caller, name, key, lambda answer, _: answer)
    return _answer(request, visitor, name, release, given, key)


@router.get("/data/{name}/answers/{key}/chart.svg")
async def chart(request: Request, name: str, key: str, visitor: Analyst) -> Response:
    """The picture of an answer."""
    from discreet.plots.render import svg

    service = service_of(request)
    try:
        text = await service.again(
            visitor.caller, name, key, lambda answer, _: svg(answer.plot(size="slide"))
        )
    except InvalidParameter:
        raise not_there() from None
    return Response(text, media_type="image/svg+xml")


@router.get("/data/{name}/answers/{key}/{form}")
async def download(request: Request, name: str, key: str, form: str, visitor: Analyst) -> Response:
    """An answer as a file."""
    if form not in FORMS:
        raise not_there()
    kind, write = FORMS[form]
    service = service_of(request)
    data = await service.again(
        visitor.caller, name, key, lambda answer, session: write(answer, session.budget)
    )
    headers = {"content-disposition": f'attachment; filename="answer.{form}"'}
    return Response(data, media_type=kind, headers=headers)


def asked(fields: dict[str, str]) -> dict[str, Any]:
    """The keyword arguments of `Session.sql` that a form says.

    Raises:
        InvalidParameter: a field cannot be read.
    """
    given: dict[str, Any] = {"query": fields["query"].strip()}
    for name in ("epsilon", "delta"):
        if fields[name].strip():
            given[name] = fields[name].strip()
    given["confidence"] = float(exact(fields["confidence"].strip() or "0.95", "confidence"))
    if fields["simultaneous"]:
        given["simultaneous"] = True
    try:
        return Question(**given).asked()
    except ValidationError:
        pass
    raise InvalidParameter("There is no question, or it is too long.", "Write one SELECT.")


def _answer(
    request: Request, visitor: Visitor, name: str, release: Release, given: dict[str, Any], key: str,
    invented: bool = False,
) -> Response:  # fmt: skip
    drawn, paid = (
        False,
        replace(release, replayed=False),
    )  # the page has the price, and says that looking is free
    if key and len(release) <= MOST_GROUPS:
        with contextlib.suppress(DiscreetError):  # nothing to draw, or nothing to draw it with
            release.plot()
            drawn = True
    return page(
        request, "answer.html", visitor, name=name, release=release, given=given, key=key, invented=invented,
        drawn=drawn, header=shown.header(release), rows=shown.rows(release, ROWS), most=ROWS,
        right=shown.to_the_right(release), footer=shown.footer(paid), card=str(release.card()), forms=FORMS,
        literal=repr(given["query"]), url=str(request.base_url).rstrip("/"),
    )  # fmt: skip
