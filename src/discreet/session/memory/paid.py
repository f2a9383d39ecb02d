"""Whether the very same question was answered before, so that asking it again is free.

Privacy: read from the ledger's entries and the plan, never from the data. An analyst is told of the answers alone that
this analyst has paid for, and a service of none before its slot of time.
"""

from __future__ import annotations

from discreet.session.queries import Queries
from discreet.sql.plan.plan import QueryPlan

AGAIN = "this very question was answered before: asked again, it is free and has the same answer"


def paid(queries: Queries, plan: QueryPlan) -> bool:
    """Whether a question would be answered again from the ledger, for nothing."""
    if not plan.releases:
        return False
    key = queries.identity(plan)
    if queries.hidden(key) or not queries.ledger.has_settled(key):
        return False
    return not queries.account.owes(key)
