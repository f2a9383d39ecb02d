"""The pages of analysts: sign in, data sets, the editor, preview, the question itself, answers and history."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.responses import FileResponse, Response

from discreet.dbapi.words import Words
from discreet.errors import DiscreetError, InvalidParameter
from discreet.rational import exact
from discreet.server.api.previews import previewed
from discreet.server.bodies import Question
from discreet.server.pages import form, together
from discreet.server.pages.answers import Analyst, answer_page, url_of
from discreet.server.pages.precision import at_prices
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
from discreet.server.problems import not_there, told
from discreet.server.service import Service
from discreet.sql.inspect.preview import Preview
from discreet.sql.syntax.priced import priced

router = APIRouter(include_in_schema=False)
Anybody = Annotated[Visitor, Depends(visits("read", "ask", "audit", "manage"))]
Reader = Annotated[Visitor, Depends(visits("read", "audit"))]
Asker = Annotated[Visitor, Depends(visits("ask"))]
EMPTY = {"query": "", "epsilon": "0.1", "confidence": "0.95", "delta": "", "simultaneous": ""}


@router.get("/static/style.css")
async def style() -> Response:
    """The one style sheet."""
    return FileResponse(HERE / "style.css", media_type="text/css", headers={"cache-control": "max-age=300"})


@router.get("/static/pages.js")
async def script() -> Response:
    """The one script: completion, the slider, the caret at a fault, logs that follow. Pages work without it."""
    return FileResponse(
        HERE / "pages.js", media_type="text/javascript", headers={"cache-control": "max-age=300"}
    )


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
            lambda: {dataset.name: _budget(service, visitor, dataset.name) for dataset in found},
        )
    return page(request, "datasets.html", visitor, datasets=found, budgets=budgets)


def _budget(service: Service, visitor: Visitor, name: str) -> Any:
    """The budget of a visitor, or the error that its ledger is refused with; the other data sets are shown then."""
    try:
        return service.session(visitor.caller, name).budget
    except DiscreetError as error:
        return told(error)


async def _editor(request: Request, visitor: Visitor, name: str, **more: Any) -> Response:
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    tables = await service.look(visitor.caller, found.schema)
    given: dict[str, Any] = {
        "fields": EMPTY,
        "preview": None,
        "choices": [],
        "error": None,
        "workload": None,
        "built": None,
        "given": {},
        **more,
    }
    if visitor.caller.role == "analyst":
        session = service.session(visitor.caller, name)
        given["budget"] = await service.look(visitor.caller, lambda: session.budget)
        given["words"] = await service.look(visitor.caller, lambda: Words.of(session).known)
    given = {"budget": None, "words": (), **given, **form.offered(tables, given["built"] or {})}
    return page(request, "dataset.html", visitor, dataset=found, tables=tables, url=url_of(request), **given)


async def _previewed(
    request: Request, visitor: Visitor, name: str, fields: dict[str, str], **more: Any
) -> Response:
    """The editor with a preview of the question in it, or with the reason why there is none."""
    service = service_of(request)
    seen, error = None, None
    choices: list[Preview] = []
    given: dict[str, Any] = {}
    try:
        given = asked(fields)
        if "queries" in given:
            more["workload"] = await together.previewed(request, visitor, name, given)
            return await _editor(request, visitor, name, fields=fields, **more)
        session = service.session(visitor.caller, name)

        def look() -> tuple[Preview, list[Preview]]:
            found = previewed(session, {"epsilon": 1, **given})
            if found.groups and "epsilon" not in given and priced(given["query"]) is None:
                raise InvalidParameter("The price is missing.", "Write an epsilon, such as 0.1.")
            return found, at_prices(session, given, found)

        seen, choices = await service.look(visitor.caller, look)
    except DiscreetError as fault:
        error = fault
    return await _editor(
        request, visitor, name, fields=fields, preview=seen, choices=choices, error=error, given=given, **more
    )


@router.get("/data/{name}")
async def editor(request: Request, name: str, visitor: Reader) -> Response:
    """The editor, with the schema beside it; a link may bring a question, which is previewed."""
    given = dict(request.query_params)
    fields = {**EMPTY, **{field: given[field] for field in EMPTY if field in given}}
    if fields["query"] and visitor.caller.role == "analyst":
        return await _previewed(request, visitor, name, fields)
    return await _editor(request, visitor, name)


@router.get("/data/{name}/form")
async def simple(request: Request, name: str, visitor: Analyst) -> Response:
    """A question without SQL: the form writes the SELECT into the editor, and shows its preview."""
    service = service_of(request)
    built = {field: value for field, value in request.query_params.items() if field in form.FIELDS}
    found = service.dataset(visitor.caller, name)
    tables = await service.look(visitor.caller, found.schema)
    if not form.askable(tables):
        raise not_there()
    try:
        query = form.written(built, tables) if "what" in built else ""
    except InvalidParameter as error:
        return await _editor(request, visitor, name, built=built, error=error)
    fields = {**EMPTY, "query": query, "epsilon": built.get("epsilon", EMPTY["epsilon"])}
    if not query:
        return await _editor(request, visitor, name, built=built)
    return await _previewed(request, visitor, name, fields, built=built)


@router.post("/data/{name}/preview")
async def preview(request: Request, name: str, visitor: Analyst) -> Response:
    """Price and expected error, and the button that asks for that price; free."""
    return await _previewed(request, visitor, name, {**EMPTY, **await form_of(request, visitor)})


@router.post("/data/{name}/mock")
async def mock(request: Request, name: str, visitor: Analyst) -> Response:
    """The question about invented rows; free."""
    service = service_of(request)
    fields = {**EMPTY, **await form_of(request, visitor)}
    try:
        given = asked(fields)
        if "queries" in given:
            raise InvalidParameter("Several statements are not tried on invented data.", "Try one at a time.")
        release = await service.mock(visitor.caller, name, given, 10_000, lambda answer, _: answer)
    except DiscreetError as error:
        return await _editor(request, visitor, name, fields=fields, error=error)
    return answer_page(request, visitor, name, release, given, key="", invented=True)


@router.post("/data/{name}/ask")
async def ask(request: Request, name: str, visitor: Asker) -> Response:
    """Ask for the price that was confirmed, and lead to the answer."""
    service = service_of(request)
    fields = {**EMPTY, **await form_of(request, visitor)}
    try:
        given = asked(fields)
        if "queries" in given:
            return await together.answered(request, visitor, name, given)
        key, release = await service.ask(
            visitor.caller, name, given, lambda answer, session: (session.look(**given).key, answer)
        )
    except DiscreetError as error:
        return await _editor(request, visitor, name, fields=fields, error=error)
    if key:
        return moved(f"/data/{name}/answers/{key}")
    return answer_page(request, visitor, name, release, given, key="")


def asked(fields: dict[str, str]) -> dict[str, Any]:
    """The keyword arguments of `Session.sql` that a form says; of `Session.workload` where it has several statements.

    Raises:
        InvalidParameter: a field cannot be read.
    """
    given: dict[str, Any] = {"query": fields["query"].strip()}
    for name in ("epsilon", "delta"):
        if fields[name].strip():
            given[name] = fields[name].strip()
    given["confidence"] = float(exact(fields["confidence"].strip() or "0.95", "confidence"))
    if together.several(fields):
        return together.asked(fields, {name: value for name, value in given.items() if name != "query"})
    if fields["simultaneous"]:
        given["simultaneous"] = True
    try:
        return Question(**given).asked()
    except ValidationError:
        pass
    raise InvalidParameter("There is no question, or it is too long.", "Write one SELECT.")
