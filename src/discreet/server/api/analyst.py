"""The addresses of analysts: data sets, schema, preview, plan, mock, questions, answers again, and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response

from discreet.client import wire
from discreet.errors import Busy, EngineError, InvalidParameter, QueryRefused, tell
from discreet.federation.nodes import given, offered
from discreet.release.answer import Release
from discreet.release.documents import FEW, FORMS, AnswerText, dump, state
from discreet.release.exactly import exact
from discreet.server.access import needs
from discreet.server.api.previews import previewed, workload_previewed
from discreet.server.bodies import (
    ExplainQuestion,
    MockQuestion,
    PreviewQuestion,
    PricedQuestion,
    Question,
    Workload,
    WorkloadLook,
)
from discreet.server.people import Caller
from discreet.server.records.asks import Began, budget_beside
from discreet.server.records.sent import SentAnswer
from discreet.server.service import Service, see_size, shown
from discreet.session.analyst import AnalystSession
from discreet.session.parameters import ErrorTarget
from discreet.session.question import SessionQuestion as SessionQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

router = APIRouter(prefix="/api/v1", tags=["for analysts"])
Reader = Annotated[Caller, Depends(needs("read", "audit"))]
Analyst = Annotated[Caller, Depends(needs("read"))]
Asker = Annotated[Caller, Depends(needs("ask"))]
Form = Annotated[
    str | None,
    Query(alias="format", max_length=20, description="json, csv, arrow or parquet; else by Accept."),
]


async def service_of(request: Request) -> Service:
    """The service of a request; async, or each request would wait for a thread to look it up."""
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]


def form_of(request: Request, named: str | None) -> str:
    """The form of an answer: the one that is named, or the first that the client accepts.

    Raises:
        InvalidParameter: there is none of this name.
    """
    if named is not None:
        if named not in FORMS:
            raise InvalidParameter("There is no form of this name.", f"Choose of {', '.join(FORMS)}.")
        return named
    accepted = [
        kind.partition(";")[0].strip().lower() for kind in request.headers.get("accept", "").split(",")
    ]
    kinds = {kind.partition(";")[0]: name for name, (kind, _) in FORMS.items()}
    return next((kinds[kind] for kind in accepted if kind in kinds), "json")


def written(form: str, release: Release, session: AnalystSession) -> Response:
    """An answer in a form."""
    kind, write = FORMS[form]
    return Response(write(release, budget_beside(session)), media_type=kind)


@router.get("/me", summary="Who the token is for")
async def me(caller: Annotated[Caller, Depends(needs("read", "ask", "audit", "manage"))]) -> dict[str, Any]:
    """Name, role and scopes."""
    return {"name": caller.name, "role": caller.role, "scopes": sorted(caller.scopes)}


@router.get("/datasets", summary="The data sets that you may see")
async def datasets(caller: Reader, service: Here) -> dict[str, Any]:
    """Each with the things that it protects, in words."""
    return {
        "datasets": [
            {"name": dataset.name, "words": [f"{subject}: {words}" for subject, words in dataset.words()]}
            for dataset in service.visible(caller)
        ]
    }


@router.get("/datasets/{name}", summary="Tables and columns, and the questions that they can answer")
async def schema(name: str, caller: Reader, service: Here) -> dict[str, Any]:
    """From the policy and the names and types of the columns alone."""
    found = service.dataset(caller, name)
    tables = await service.look(caller, found.schema)
    return {"name": name, "tables": tables}


@router.post("/datasets/{name}/preview", summary="Price and expected error of a question; free")
async def preview(name: str, body: PreviewQuestion, caller: Analyst, service: Here) -> dict[str, Any]:
    """Nothing is read and nothing is charged."""
    return await service.look(
        caller, lambda: wire.of_preview(previewed(service.session(caller, name), body.looked()))
    )


@router.post("/datasets/{name}/explain", summary="The plan of a question; free")
async def explain(name: str, body: ExplainQuestion, caller: Analyst, service: Here) -> dict[str, Any]:
    """Nothing is read and nothing is charged."""
    return await service.look(
        caller, lambda: wire.of_explanation(service.session(caller, name).explain(**body.explained()))
    )


@router.post(
    "/datasets/{name}/mock", summary="The same question about invented rows; free, and means nothing"
)
async def mock(
    name: str, body: MockQuestion, caller: Analyst, service: Here, request: Request, form: Form = None
) -> Response:
    """Answers have the columns and groups of the real ones; no private data is read for them."""
    chosen = form_of(request, form)
    return await service.mock(
        caller, name, body.asked(), body.rows, lambda release, session: written(chosen, release, session)
    )


@router.post("/datasets/{name}/query", summary="Answer a question, and charge its epsilon")
async def query(
    name: str, body: PricedQuestion, caller: Asker, service: Here, request: Request, form: Form = None
) -> Response:
    """The charge is durable before data is read, and stays if anything fails afterwards.

    The same question with the same epsilon is answered again for nothing. Answers and errors come in slots of time.
    """
    chosen = form_of(request, form)
    asked = await priced(service, caller, name, body)
    if chosen != "json":
        return await service.ask(
            caller, name, asked, lambda release, session: written(chosen, release, session)
        )
    known = service.sent.find(name, asked, caller.name)
    again = None if known is None else await sent_again(service, caller, name, known)
    return again or await told(service, caller, name, asked)


async def sent_again(service: Service, caller: Caller, name: str, known: SentAnswer) -> Response | None:
    """An answer that this caller was sent before, beside the present budget; None where it is to be asked anew."""

    def work() -> Response | None:
        session = service.session(caller, name)
        if session.versions() != known.versions:
            return None
        return Response(known.told.text(True, session.budget), media_type=FORMS["json"][0])

    try:
        return await service.look(caller, work)
    except Busy:
        return None


async def told(service: Service, caller: Caller, name: str, asked: Mapping[str, Any]) -> Response:
    """The answer to a question in JSON, which is kept for those who ask the same again."""
    began, kept = Began(name, service.state.exactly()), []

    def made(release: Release, session: AnalystSession) -> Response:
        look = began.look
        if len(release) > FEW or look is None or not look.key or session.versions() != look.versions:
            return written("json", release, session)
        kept.append((look.versions, AnswerText.of(release)))
        return Response(
            kept[0][1].text(release.replayed, budget_beside(session)), media_type=FORMS["json"][0]
        )

    response = await service.ask(caller, name, asked, made, began)
    for versions, text in kept:
        service.sent.keep(name, asked, caller.name, versions, text)
    return response


async def priced(service: Service, caller: Caller, name: str, body: PricedQuestion) -> dict[str, Any]:
    """The keyword arguments of a question, with the least epsilon for the errors that it names.

    Raises:
        InvalidParameter: it has both, or no epsilon will do. Nothing was charged.
    """
    asked = body.asked()
    target = ErrorTarget.read(body.within, body.group_rows)
    if target is None:
        return asked
    if body.epsilon is not None:
        raise InvalidParameter("A question has either epsilon or within.", "Leave one of them out.")
    session = service.session(caller, name)
    wanted = {**asked, "within": target.within, "group_rows": target.group_rows}
    found = await service.look(caller, lambda: session.epsilon_for(**wanted))
    return {**asked, "epsilon": exact(found)}


@router.post("/datasets/{name}/workload", summary="Answer several questions as one, and charge their epsilon")
async def workload(
    name: str, body: Workload, caller: Asker, service: Here, request: Request, form: Form = None
) -> Response:
    """Tables of the same rows are estimated together, so that they agree.

    The form is JSON; asked for Arrow, each table in it is an Arrow stream in base64.
    """
    chosen = form_of(request, form)
    if chosen not in ("json", "arrow"):
        raise InvalidParameter("Several answers have the form json or arrow.", "Choose one of them.")
    asked = {"query": "; ".join(body.queries.values()), **body.asked()}
    return await service.ask(
        caller, name, asked,
        lambda answers, session: Response(
            dump(wire.of_answers(answers, budget_beside(session), chosen == "arrow"), None),
            media_type="application/json",
        ),
    )  # fmt: skip


@router.post(
    "/datasets/{name}/workload/preview", summary="Price and expected errors of several questions; free"
)
async def look_at_workload(name: str, body: WorkloadLook, caller: Analyst, service: Here) -> dict[str, Any]:
    """Nothing is read and nothing is charged."""
    return await service.look(
        caller, lambda: wire.of_workload(workload_previewed(service.session(caller, name), body.looked()))
    )


@router.post("/datasets/{name}/offer", summary="Whether a question adds up with other data sets; free")
async def offer(name: str, body: Question, caller: Asker, service: Here) -> dict[str, Any]:
    """For a federation: price, declarations and a digest of the plan. Nothing is read and nothing is charged.

    A token that may not ask is refused here, before another data set is charged, and so is a table that is too large.
    """

    def made() -> dict[str, Any]:
        session = service.session(caller, name)
        offer = wire.of_offer(offered(session, asked_of(body)))
        see_size(session.look(**body.asked()))
        return offer

    return await service.look(caller, made)


@router.post("/datasets/{name}/integers", summary="The noisy integers of a question, for its epsilon")
async def integers(name: str, body: Question, caller: Asker, service: Here) -> Response:
    """For a federation, which adds those of several data sets up. It is charged as by *query*."""
    asked = asked_of(body)
    await service.look(caller, lambda: offered(service.session(caller, name), asked))
    return await service.ask(
        caller,
        name,
        body.asked(),
        lambda _, session: Response(
            dump(wire.of_integers(_given(session, asked))), media_type="application/json"
        ),
    )


def _given(session: AnalystSession, asked: SessionQuestion) -> NDArray[np.int64]:
    """The noisy integers of a question that was charged just now."""
    try:
        return given(session, asked)
    except QueryRefused:
        error = EngineError("The data changed while it was asked.", "Ask the same question again.")
    tell(error, asked.loss(False))
    raise error


def asked_of(body: Question) -> SessionQuestion:
    """A question of a federation.

    Raises:
        InvalidParameter: it has no epsilon, or a parameter is out of range.
    """
    if body.epsilon is None:
        raise InvalidParameter("The question has no epsilon.", "Give one.")
    asked = body.asked()
    return SessionQuestion.read(asked.pop("query"), **asked)


@router.post(
    "/datasets/{name}/questions", summary="Ask a question, and fetch its answer later", status_code=202
)
async def submit(name: str, body: PricedQuestion, caller: Asker, service: Here) -> dict[str, Any]:
    """It is charged as by *query*, and goes by the key of its answer, which *releases* has once it is there."""
    key = await service.later.submit(caller, name, await priced(service, caller, name, body))
    return {"key": key, "status": "at work"}


@router.get("/datasets/{name}/questions/{key}", summary="How far a question is")
async def status(name: str, key: str, caller: Analyst, service: Here) -> dict[str, Any]:
    """At work, answered, failed, cancelled, or charged with no answer after the time-out."""
    service.session(caller, name)
    return await service.look(caller, lambda: service.later.status(caller, name, key))


@router.delete("/datasets/{name}/questions/{key}", summary="Take a question back that was not begun")
async def cancel(name: str, key: str, caller: Asker, service: Here) -> dict[str, Any]:
    """One that was begun goes on, and stays charged."""
    return {"key": key, "cancelled": service.later.cancel(caller, name, key)}


@router.get("/datasets/{name}/budget", summary="Your budget, and that of the data set")
async def budget(name: str, caller: Reader, service: Here) -> Response:
    """A steward sees that of the data set."""
    if caller.role == "steward":
        found = service.dataset(caller, name)
        said = await service.look(caller, lambda: {"data_set": state(found.session.budget)})
    else:
        session = service.session(caller, name)
        said = await service.look(caller, lambda: {**wire.of_budget(session.budget), **shown(session.terms)})
    return JSONResponse(said)


@router.get("/datasets/{name}/card", summary="The card of the data set, for readers and registries; free")
async def card(name: str, caller: Reader, service: Here) -> Response:
    """Unit, guarantee, bounds, budget and accounting, from the policy and the ledger; nothing private is read."""
    found = service.dataset(caller, name)
    said = await service.look(caller, lambda: wire.of_card(found.session.card()))
    return Response(dump(said), media_type="application/json")


@router.get("/datasets/{name}/releases", summary="The answers that you have paid for")
async def releases(name: str, caller: Analyst, service: Here) -> Response:
    """The newest first; `answered` is false where nothing was bought yet.

    `charges` says how often each was charged. One of them at most bought the answer, and the others nothing: a charge
    whose question failed stays, and the same question asked again is charged anew.
    """
    found = await service.look(caller, lambda: service.releases(caller, name))
    return Response(dump({"releases": wire.of_releases(found)}), media_type="application/json")


@router.get("/datasets/{name}/releases/{key}", summary="An answer again; free")
async def release(
    name: str, key: str, caller: Analyst, service: Here, request: Request, form: Form = None
) -> Response:
    """From the ledger: nothing private is read."""
    chosen = form_of(request, form)
    return await service.again(caller, name, key, lambda release, session: written(chosen, release, session))
