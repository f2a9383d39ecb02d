"""The pages of stewards: losses spent and by whom, the log, people, tokens and budgets, and the audit log."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InvalidParameter, LedgerCorrupt
from discreet.release.exactly import exact
from discreet.server.dataset import DataSet
from discreet.server.pages.checks import checks
from discreet.server.pages.site import Visitor, form_of, moved, page, service_of, visits
from discreet.server.pages.spending import WINDOW, Spending, spending
from discreet.server.people import DAYS
from discreet.server.problems import status, told
from discreet.server.records.asks import Asks

router = APIRouter(include_in_schema=False)
Auditor = Annotated[Visitor, Depends(visits("audit"))]
Manager = Annotated[Visitor, Depends(visits("manage"))]
SHOWN = 50
"""Lines of a log on its page."""
FIRST = 10
"""Those of them that are open: the gauge of the next data set stands below."""


@router.get("/steward")
async def overview(request: Request, visitor: Auditor) -> Response:
    """The budgets of all data sets, by analyst, and the newest questions."""
    service = service_of(request)

    def look() -> list[dict[str, Any]]:
        spent = service.spent()
        return [_overview(dataset, service.asks, spent) for dataset in service.datasets.values()]

    return page(
        request, "steward.html", visitor, first=FIRST, datasets=await service.look(visitor.caller, look)
    )


def _overview(dataset: DataSet, asks: Asks, spent: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The facts about one data set; where its ledger is refused, why, and the others are shown all the same."""
    try:
        return {
            "name": dataset.name,
            "spending": _spending(dataset, asks),
            "analysts": [
                (name, part, _share(part["spent"], part["epsilon"]))
                for name, parts in spent.items()
                for part in parts
                if part["dataset"] == dataset.name and "spent" in part
            ],
            "log": [(line, asks.answered(dataset.name, line.key)) for line in dataset.history.newest(SHOWN)],
        }
    except DiscreetError as error:
        return {"name": dataset.name, "refused": told(error).cause}


def _share(spent: str, epsilon: str) -> int:
    """The spent part of a budget, of 1000."""
    whole = Fraction(epsilon)
    return min(1000, round(1000 * Fraction(spent) / whole)) if whole else 0


def _spending(dataset: DataSet, asks: Asks) -> Spending:
    history, version = dataset.history, dataset.session.policy.budget.version
    now = dt.datetime.now(dt.UTC)
    lines = history.recent(now - dt.timedelta(WINDOW))
    return spending(dataset.session.budget, version, lines, partial(asks.answered, dataset.name), now)


@router.get("/steward/policy/{name}")
async def policy(request: Request, name: str, visitor: Auditor) -> Response:
    """The declarations of a policy, and its checks."""
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    tables = await service.look(visitor.caller, found.schema)
    granted = [terms[name].epsilon for terms in map(service.people.grants, service.people.names("analyst"))
               if name in terms]  # fmt: skip
    told = list(checks(found.session.policy, tables, granted))
    return page(request, "policy.html", visitor, dataset=found, tables=tables, checks=told)


@router.post("/steward/verify/{name}")
async def verify(request: Request, name: str, visitor: Auditor) -> Response:
    """Compute every hash, price and total of a ledger again."""
    service = service_of(request)
    await form_of(request, visitor)
    found = service.dataset(visitor.caller, name)

    def work() -> tuple[int, str]:
        try:
            count = found.session.ledger.verify()
        except LedgerCorrupt:
            return -1, ""
        head = found.session.ledger.head()
        return count, f"{head.number}:{head.hash}"

    count, head = await service.look(visitor.caller, work)
    return page(request, "verified.html", visitor, log=f"ledger of {name}", count=count, head=head)


FIELDS = {
    "add": ("name", "role"), "budget": ("name", "dataset", "epsilon", "most", "until"), "token": ("name", "days"),
    "link": ("account", "name"),
}  # fmt: skip
"""The fields of the forms about people, which a fault leaves filled in."""


async def _people(request: Request, visitor: Visitor, code: int = 200, **more: Any) -> Response:
    service = service_of(request)
    sent = more.pop("sent", {})
    kept = {
        form: {name: sent.get(form, {}).get(name, "") for name in names} for form, names in FIELDS.items()
    }
    given = {"error": None, "token": "", "owner": "", "kept": kept, **more}
    tokens = [{**token, "expires": _day(token["expires"])} for token in service.people.tokens()]
    stewards, analysts = service.people.names("steward"), service.people.names("analyst")
    spent = await service.look(visitor.caller, service.spent)
    wholes = {name: dataset.session.policy.budget.epsilon for name, dataset in service.datasets.items()}
    for part in (budget for parts in spent.values() for budget in parts):
        whole = wholes[part["dataset"]]
        part["beyond"] = exact(whole) if Fraction(part["epsilon"]) > whole else ""
    return page(
        request, "people.html", visitor, code, stewards=stewards, analysts=analysts, spent=spent, tokens=tokens,
        days=DAYS, identities=service.identities.all() if service.provider else [], **given,
    )  # fmt: skip


@router.get("/steward/people")
async def people(request: Request, visitor: Auditor) -> Response:
    """People, budgets and tokens."""
    return await _people(request, visitor)


@router.post("/steward/people/{action}")
async def change(request: Request, action: str, visitor: Manager) -> Response:
    """Add somebody, set or withdraw a budget, make or revoke a token."""
    service, by = service_of(request), visitor.caller.name
    fields = await form_of(request, visitor)
    name, dataset = fields.get("name", "").strip(), fields.get("dataset", "")
    try:
        if action == "add":
            service.people.add(by, name, fields.get("role", "analyst"))
        elif action == "budget":
            service.dataset(visitor.caller, dataset)
            most, until = fields.get("most", "").strip() or None, fields.get("until", "").strip() or None
            service.people.grant(by, name, dataset, fields.get("epsilon", ""), most, until)
        elif action == "withdraw":
            service.people.withdraw(by, name, dataset)
        elif action == "token":
            token = service.people.issue(by, name, _days(fields.get("days", "")))
            return await _people(request, visitor, token=token, owner=name)
        elif action == "link":
            service.identities.link(by, fields.get("account", ""), name)
        elif action == "unlink":
            service.identities.unlink(by, fields.get("account", ""))
        elif action == "revoke":
            service.people.revoke(by, fields.get("token", ""))
        else:
            raise InvalidParameter("There is no action of this name.", "Use the buttons of the page.")
    except DiscreetError as error:
        return await _people(request, visitor, status(error), error=error, sent={action: fields})
    return moved("/steward/people")


@router.get("/steward/audit")
async def audit(request: Request, visitor: Auditor) -> Response:
    """The audit log."""
    rows = [(_day(row.made, True), row.who, row.action, row.about)
            for row in service_of(request).state.audit(500)]  # fmt: skip
    return page(request, "audit.html", visitor, rows=rows)


@router.get("/steward/audit/export")
async def export(request: Request, visitor: Auditor) -> Response:
    """The whole audit log as a file, which `discreet audit verify --file` verifies."""
    service = service_of(request)
    lines = await service.look(visitor.caller, lambda: [f"{line}\n" for line in service.state.export()])
    headers = {"content-disposition": 'attachment; filename="audit.jsonl"'}
    return Response("".join(lines), media_type="application/x-ndjson", headers=headers)


@router.post("/steward/audit/verify")
async def verify_audit(request: Request, visitor: Auditor) -> Response:
    """Compute every hash of the audit log again."""
    service = service_of(request)
    await form_of(request, visitor)

    def work() -> tuple[int, str]:
        try:
            head = service.state.verify()
        except LedgerCorrupt:
            return -1, ""
        return head.number, f"{head.number}:{head.hash}"

    count, head = await service.look(visitor.caller, work)
    return page(request, "verified.html", visitor, log="audit log", count=count, head=head)


def _days(text: str) -> int:
    try:
        return int(text.strip() or DAYS)
    except ValueError:
        pass
    raise InvalidParameter("The days are no whole number.", "Write 90.")


def _day(seconds: int, time: bool = False) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M" if time else "%Y-%m-%d")
