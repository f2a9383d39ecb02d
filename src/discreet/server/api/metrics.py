"""Figures for Prometheus, of which none depends on data: no times, and no failures after a charge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from discreet.server.access import needs
from discreet.server.api.analyst import Here
from discreet.server.people import Caller
from discreet.server.service import Service

router = APIRouter(prefix="/api/v1", tags=["for stewards"])


@router.get("/metrics", summary="Figures for Prometheus")
async def metrics(caller: Annotated[Caller, Depends(needs("audit"))], service: Here) -> Response:
    """Requests, questions at work, charges and budgets; scrape it with the token of a steward who may only read."""
    said = await service.look(caller, lambda: "\n".join(written(service)) + "\n")
    return Response(said, media_type="text/plain; version=0.0.4")


def written(service: Service) -> list[str]:
    """All figures as Prometheus reads them."""
    lines = ["# TYPE discreet_requests_total counter", *service.counted.lines()]
    lines += [
        "# TYPE discreet_questions_at_work gauge",
        f"discreet_questions_at_work {len(service.questions.at_work())}",
    ]
    # Charges, not entries: when the answer to one was entered depends on the data, and so does whether it ever was.
    lines.append("# TYPE discreet_charges_total counter")
    for name, one in service.datasets.items():
        lines.append(f'discreet_charges_total{{dataset="{name}"}} {one.history.count()}')
    lines.append("# TYPE discreet_budget_epsilon gauge")
    for name, one in service.datasets.items():
        budget = one.session.budget
        for kind, value in (("limit", budget.epsilon), ("spent", budget.spent)):
            lines.append(f'discreet_budget_epsilon{{dataset="{name}",kind="{kind}"}} {float(value)!r}')
    return lines
