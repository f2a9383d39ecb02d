"""How long a budget lasts: the releases of one epsilon that an analyst's budget, and the data set's, have room for."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Query

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.planning import forecast as planning
from discreet.rational import epsilon_of
from discreet.release.exactly import exact
from discreet.server.api.analyst import Here, Reader
from discreet.server.dataset import DataSet
from discreet.session.analyst import AnalystSession, account_name
from discreet.session.budget import DATA_SET, account_of

router = APIRouter(prefix="/api/v1", tags=["for analysts"])
MOST_LOOKED_AHEAD = 1_000
"""Releases that are looked ahead at most: each is priced under the accountant of the policy."""
Price = Annotated[str, Query(max_length=100, description="The epsilon of each release, such as 0.1.")]
Ahead = Annotated[int, Query(ge=1, le=MOST_LOOKED_AHEAD, description="How many releases are wanted.")]


@router.get(
    "/datasets/{name}/forecast", summary="How many releases of one epsilon the budget has room for; free"
)
async def forecast(
    name: str, caller: Reader, service: Here, epsilon: Price = "0.1", releases: Ahead = 30
) -> dict[str, Any]:
    """Of your budget, and of that of the data set, under the accountant of the policy; a steward sees the latter.

    The smaller number counts. Nothing is read and nothing is charged.
    """
    loss = epsilon_of(epsilon)
    found = service.dataset(caller, name)
    own = service.session(caller, name) if caller.role == "analyst" else None

    def work() -> list[dict[str, Any]]:
        ahead = [standing(found, DATA_SET, found.session.policy.budget.epsilon, loss, releases)]
        return ahead if own is None else [_own(found, own, loss, releases), *ahead]

    return {"epsilon": exact(loss), "releases": releases, "forecast": await service.look(caller, work)}


def standing(found: DataSet, subject: str, limit: Fraction, loss: Fraction, releases: int) -> dict[str, Any]:
    """How many releases of a loss fit into an account, and the largest loss with which all of them do."""
    budget = found.session.policy.budget
    last = found.session.ledger.posting(account_of(subject, budget.version))
    past = Tally() if last is None else last.tally
    every = planning.forecast(Loss(limit, budget.delta), past, loss, releases)
    chosen = next((candidate for candidate in every if candidate.rule == budget.accountant), every[0])
    return {
        "account": subject,
        "accountant": chosen.rule,
        "fit": len(chosen.spent),
        "most": exact(chosen.most),
    }


def _own(found: DataSet, session: AnalystSession, loss: Fraction, releases: int) -> dict[str, Any]:
    """The same for the budget of an analyst, which may have an end, and a cap of each question."""
    terms = session.terms
    said = standing(found, account_name(session.name), terms.epsilon, loss, releases)
    cap = Fraction(0) if terms.ended else terms.most
    if cap is not None:
        said["fit"] = 0 if loss > cap else said["fit"]
        said["most"] = exact(min(cap, Fraction(said["most"])))
    return said
