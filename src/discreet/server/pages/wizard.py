"""The way from a file to a policy and its first answer, for `discreet init --web`; elsewhere it is not there."""

from __future__ import annotations

import hmac
from functools import lru_cache
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InvalidParameter, PolicyError
from discreet.server.dataset import open_dataset
from discreet.server.pages.draft import PolicyDraft, policy_of, proposed
from discreet.server.pages.site import Visitor, form_of, moved, page, service_of, set_cookie, visits
from discreet.server.people import ADMINISTRATOR
from discreet.server.problems import not_there
from discreet.server.service import Service
from discreet.session import protect

router = APIRouter(include_in_schema=False)
Manager = Annotated[Visitor, Depends(visits("manage"))]
ME = "me"
"""The analyst that the first questions are asked as."""
QUESTIONS = 20
BUDGETS = ("0.5", "1", "3", "10")


def policy_draft(service: Service) -> PolicyDraft:
    """The policy in the making.

    Raises:
        NotThere: there is none.
    """
    if service.draft is None:
        raise not_there()
    return service.draft


@router.get("/begin/{secret}")
async def begin(request: Request, secret: str) -> Response:
    """Sign in whoever was shown this address on the machine itself; it holds once."""
    service = service_of(request)
    policy_draft(service)
    if not service.secret or not hmac.compare_digest(secret.encode(), service.secret.encode()):
        raise not_there()
    service.secret = ""
    answer = moved("/steward/new")
    set_cookie(answer, service, _signed_in(service, service.people.administrator()))
    return answer


@router.get("/steward/new")
async def new(request: Request, visitor: Manager) -> Response:
    """The decisions."""
    draft = policy_draft(service_of(request))
    return _decisions(request, visitor, draft, proposed(draft))


@router.post("/steward/new")
async def decided(request: Request, visitor: Manager) -> Response:
    """Write the policy, open it, and lead to the first question."""
    service = service_of(request)
    draft = policy_draft(service)
    fields = await form_of(request, visitor, 2 * len(draft.columns) + 10)

    def made() -> str:
        text = policy_of(draft, fields).to_toml()
        try:
            with draft.place.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            there = True
        else:
            there = False
        if there:
            raise InvalidParameter("The policy cannot be written there.", "Name another place with --output.")
        try:
            service.open(open_dataset(draft.place))
        except BaseException:
            draft.place.unlink()
            raise
        return next(iter(service.datasets))

    def heard() -> str:
        try:
            return made()
        except PolicyError as error:  # a fault of the form, whose writer is the steward of this very machine
            raise InvalidParameter(error.cause, error.fix) from None

    try:
        name = await service.look(visitor.caller, heard)
    except DiscreetError as error:
        return _decisions(request, visitor, draft, fields, error)
    service.draft = None
    if ME not in service.people.names("analyst"):
        service.people.add(ADMINISTRATOR, ME, "analyst")
    service.people.grant(ADMINISTRATOR, ME, name, service.datasets[name].session.policy.budget.epsilon)
    answer = moved(f"/data/{name}/form")
    set_cookie(answer, service, _signed_in(service, service.people.issue(ADMINISTRATOR, ME)))
    return answer


def _signed_in(service: Service, token: str) -> str:
    caller = service.people.caller(token)
    assert caller is not None, "a token that was just made is valid"
    return service.people.sign_in(caller)


def _decisions(
    request: Request, visitor: Visitor, draft: PolicyDraft, fields: dict[str, str], error: Any = None
) -> Response:
    return page(
        request, "wizard.html", visitor, 200 if error is None else 422, draft=draft, fields=fields, error=error,
        buys=bought(), questions=QUESTIONS,
    )  # fmt: skip


@lru_cache(1)
def bought() -> list[tuple[str, str, float]]:
    """Budgets, each with the price of one of so many questions, and the error of a count for it."""
    with protect(pa.table({"x": [0]}), privacy_unit="row", budget=1) as session:
        found = []
        for budget in BUDGETS:
            seen = session.preview("SELECT COUNT(*) AS n FROM data", epsilon=f"{float(budget) / QUESTIONS:g}")
            found.append((budget, f"{float(seen.epsilon):g}", seen.errors["n"]))
        return found
