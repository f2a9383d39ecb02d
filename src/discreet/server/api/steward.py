"""The addresses of stewards: people, tokens, budgets, the log of questions, the audit log, and the ledger's chain."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse, Response

from discreet.errors import InvalidParameter, LedgerCorrupt
from discreet.ledger import Head
from discreet.release.exactly import exact
from discreet.server.access import needs
from discreet.server.api.analyst import Here
from discreet.server.bodies import NewAccount, NewBudget, NewPerson, NewToken
from discreet.server.history import HistoryEntry
from discreet.server.oidc.identities import LONGEST_IDENTITY
from discreet.server.people import Caller
from discreet.server.service import Service

router = APIRouter(prefix="/api/v1", tags=["for stewards"])
Auditor = Annotated[Caller, Depends(needs("audit"))]
Manager = Annotated[Caller, Depends(needs("manage"))]
Noted = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$", description="A head that an earlier one answered."),
]
Most = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


@router.get("/people", summary="Everybody, with their budgets and the losses spent")
async def people(caller: Auditor, service: Here) -> dict[str, Any]:
    """The loss of one analyst covers all answers given to that one; that of a data set, those given to all together."""
    spent = await service.look(caller, service.spent)
    return {
        "people": [
            {"name": name, "role": role, "budgets": spent.get(name, [])}
            for role in ("steward", "analyst")
            for name in service.people.names(role)
        ]
    }


@router.post("/people", summary="Add an analyst or a steward", status_code=201)
async def add(body: NewPerson, caller: Manager, service: Here) -> dict[str, Any]:
    """They can do nothing before they have a token, and an analyst a budget."""
    service.people.add(caller.name, body.name, body.role)
    return {"name": body.name, "role": body.role}


@router.put("/people/{name}/budgets/{dataset}", summary="Set the budget of an analyst")
async def grant(name: str, dataset: str, body: NewBudget, caller: Manager, service: Here) -> dict[str, Any]:
    """Below the loss spent, nothing is left."""
    service.dataset(caller, dataset)
    service.people.grant(caller.name, name, dataset, body.epsilon, body.most, body.until)
    return {"name": name, "dataset": dataset}


@router.delete("/people/{name}/budgets/{dataset}", summary="Take a data set from an analyst")
async def withdraw(name: str, dataset: str, caller: Manager, service: Here) -> dict[str, Any]:
    """The losses spent stay in the ledger, and count again if it is given back."""
    service.people.withdraw(caller.name, name, dataset)
    return {"name": name, "dataset": dataset}


@router.post("/people/{name}/tokens", summary="Make a token; it is shown once", status_code=201)
async def issue(name: str, body: NewToken, caller: Manager, service: Here) -> dict[str, Any]:
    """Only its hash is kept."""
    return {"token": service.people.issue(caller.name, name, body.days, tuple(body.scopes))}


@router.get("/tokens", summary="All tokens, without their secrets")
async def tokens(caller: Auditor, service: Here) -> dict[str, Any]:
    """The newest first; times are seconds since 1970."""
    return {"tokens": service.people.tokens()}


@router.delete("/tokens/{token}", summary="Revoke a token, at once")
async def revoke(token: str, caller: Manager, service: Here) -> dict[str, Any]:
    """Whoever is signed in with it is signed out."""
    service.people.revoke(caller.name, token)
    return {"revoked": token}


@router.get("/accounts", summary="The accounts of the organisation's provider, and whom they let in")
async def accounts(caller: Auditor, service: Here) -> dict[str, Any]:
    """None where nobody signs in through a provider."""
    return {"accounts": service.identities.all() if service.provider else []}


@router.post(
    "/accounts", summary="Link an account to a person, who may then sign in with it", status_code=201
)
async def link(body: NewAccount, caller: Manager, service: Here) -> dict[str, Any]:
    """An account leads to one person; a person may have several accounts."""
    _see_provider(service)
    service.identities.link(caller.name, body.account, body.name)
    return {"account": body.account, "name": body.name}


@router.delete("/accounts", summary="Unlink an account; whoever is signed in with it is signed out")
async def unlink(
    account: Annotated[str, Query(max_length=LONGEST_IDENTITY)], caller: Manager, service: Here
) -> dict[str, Any]:
    """The person, their budgets and tokens stay."""
    _see_provider(service)
    service.identities.unlink(caller.name, account)
    return {"unlinked": account}


@router.get("/datasets/{name}/log", summary="The newest charges: who asked which question at which price")
async def log(name: str, caller: Auditor, service: Here, limit: Most = 100) -> dict[str, Any]:
    """The newest first; a question is answered from the slot of its answer on."""
    found = service.dataset(caller, name)

    def work() -> list[tuple[HistoryEntry, bool]]:
        return [(entry, service.asks.answered(name, entry.key)) for entry in found.history.newest(limit)]

    return {
        "charges": [
            {
                "number": entry.number,
                "made": entry.made.isoformat(timespec="seconds"),
                "who": entry.who,
                "question": entry.question,
                "epsilon": exact(entry.epsilon),
                "delta": exact(entry.delta),
                "data_set_paid": entry.whole,
                "answered": answered,
            }
            for entry, answered in await service.look(caller, work)
        ]
    }


@router.post("/datasets/{name}/verify", summary="Verify the ledger's chain")
async def verify(name: str, caller: Auditor, service: Here, noted: Noted = None) -> Response:
    """Every hash, price, total and answer digest is computed again; a head that was noted must be in the chain."""
    found, before = service.dataset(caller, name), _head(noted)

    def work() -> dict[str, Any]:
        try:
            entries = found.session.ledger.verify(before)
        except LedgerCorrupt:
            return {"verified": False}
        head = found.session.ledger.head()
        return {"verified": True, "entries": entries, "head": f"{head.number}:{head.hash}"}

    return JSONResponse(await service.look(caller, work))


@router.get("/audit", summary="The audit log: sign-ins, people, budgets, tokens")
async def audit(
    caller: Auditor,
    service: Here,
    limit: Most = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**62)] = None,
) -> dict[str, Any]:
    """The newest first; `before` turns the page."""
    return {"lines": [asdict(line) for line in service.state.audit(limit, before)]}


@router.get("/audit/export", summary="The whole audit log, as lines of JSON")
async def export(caller: Auditor, service: Here) -> Response:
    """The first line names the service and the head; `discreet audit verify --file` verifies the rest from it."""
    lines = await service.look(caller, lambda: [f"{line}\n" for line in service.state.export()])
    return Response("".join(lines), media_type="application/x-ndjson")


@router.post("/audit/verify", summary="Verify the chain of the audit log")
async def verify_audit(caller: Auditor, service: Here, noted: Noted = None) -> dict[str, Any]:
    """Every hash is computed again; a head that was noted must be in the chain."""
    before = _head(noted)

    def work() -> dict[str, Any]:
        try:
            head = service.state.verify(before)
        except LedgerCorrupt:
            return {"verified": False}
        return {"verified": True, "lines": head.number, "head": f"{head.number}:{head.hash}"}

    return await service.look(caller, work)


def _head(noted: str | None) -> Head | None:
    """A head in its printed form, whose form was seen."""
    if noted is None:
        return None
    number, _, digest = noted.partition(":")
    return Head(int(number), digest)


def _see_provider(service: Service) -> None:
    """See that people sign in through a provider.

    Raises:
        InvalidParameter: they do not.
    """
    if service.provider is None:
        raise InvalidParameter(
            "Nobody signs in through a provider here.", "Start the service with --oidc FILE."
        )
