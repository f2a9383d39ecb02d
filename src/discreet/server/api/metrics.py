"""Figures for Prometheus, of which none depends on data: no times, and no failures after a charge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.server.access import needs
from discreet.server.api.analyst import Here
from discreet.server.dataset import DataSet
from discreet.server.people import Caller
from discreet.server.service import Service
from discreet.session.budget import BudgetState

HELP = {
    "discreet_requests_total": "Requests by address and outcome; a question that failed counts as served.",
    "discreet_questions_at_work": "Questions that this process is answering or holds back until their slot.",
    "discreet_charges_total": "Charges of a data set, in all processes.",
    "discreet_budget_epsilon": "Budget of a data set: its limit, and the loss spent.",
    "discreet_ledger_refused": "Whether the ledger of a data set is refused: 1 where it is, else 0.",
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
    read = {name: _read(dataset) for name, dataset in service.datasets.items()}
    for name, found in read.items():
        if found is not None:
            lines.append(f'discreet_charges_total{{dataset="{name}"}} {found[0]}')
    lines += _head("discreet_budget_epsilon", "gauge")
    for name, found in read.items():
        if found is not None:
            for kind, value in (("limit", found[1].epsilon), ("spent", found[1].spent)):
                lines.append(f'discreet_budget_epsilon{{dataset="{name}",kind="{kind}"}} {float(value)!r}')
    lines += _head("discreet_ledger_refused", "gauge")
    lines += [
        f'discreet_ledger_refused{{dataset="{name}"}} {int(found is None)}' for name, found in read.items()
    ]
    return lines


def _read(dataset: DataSet) -> tuple[int, BudgetState] | None:
    """The charges and the budget of a data set; None where its ledger is refused, which hides no other one's."""
    try:
        return dataset.history.count(), dataset.session.budget
    except DiscreetError:
        return None


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"]
