"""Figures for Prometheus, of which none depends on data: no times, and no failures after a charge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from discreet.server.access import needs
from discreet.server.api.analyst import Here
from discreet.server.people import Caller
from discreet.server.service import Service

HELP = {
    "discreet_requests_total": "Requests by address and outcome; a question that failed counts as served.",
    "discreet_questions_at_work": "Questions that this process is answering or holds back until their slot.",
    "discreet_charges_total": "Charges of a data set, in all processes.",
    "discreet_budget_epsilon": "Budget of a data set: its limit, and the loss spent.",
}
router = APIRouter(prefix="/api/v1", tags=["for stewards"])


@router.get("/metrics", summary="Figures for Prometheus")
async def metrics(caller: Annotated[Caller, Depends(needs("audit"))], service: Here) -> Response:
    """Requests, questions at work, charges and budgets; scrape it with the token of a steward who may only read."""
    said = await service.look(caller, lambda: "\n".join(written(service)) + "\n")
    return Response(said, media_type="text/plain; version=0.0.4")


def written(service: Service) -> list[str]:
    """All figures as Prometheus reads them."""
    lines = [*_head("discreet_requests_total", "counter"), *service.counted.lines()]
    lines += [
        *_head("discreet_questions_at_work", "gauge"),
        f"discreet_questions_at_work {len(service.questions.at_work())}",
    ]
    # Charges, not entries: when the answer to one was entered depends on the data, and so does whether it ever was.
    lines += _head("discreet_charges_total", "counter")
    for name, one in service.datasets.items():
        lines.append(f'discreet_charges_total{{dataset="{name}"}} {one.history.count()}')
    lines += _head("discreet_budget_epsilon", "gauge")
    for name, one in service.datasets.items():
        budget = one.session.budget
        for kind, value in (("limit", budget.epsilon), ("spent", budget.spent)):
            lines.append(f'discreet_budget_epsilon{{dataset="{name}",kind="{kind}"}} {float(value)!r}')
    return lines


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"]
