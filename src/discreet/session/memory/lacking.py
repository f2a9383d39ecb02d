"""Why a question is asked anew: an earlier answer would make it, had its groups not lacked rows.

Privacy: reads the text, the policy and the plans of earlier questions, never the data.
"""

from __future__ import annotations

from discreet.sql.finish.recall import Recall
from discreet.sql.inspect.wording import named_keys
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.workloads.axes import listed


def lacking(plan: QueryPlan, earlier: Recall) -> str:
    """The earlier question that does not make this one, with the reason and the fix; "" where there is none."""
    found = earlier.lacking(plan.releases[0])
    if found is None:
        return ""
    number, keys = found
    other = any(listed(key.expression) for key in keys)
    rows = "NULL or not listed" if other else "NULL"
    fix = "IN and the listed values" if other else "IS NOT NULL"
    return (
        f"not made of question {number}, whose groups lack the rows where {named_keys(keys)} is {rows}: "
        f"leave these out by a condition with {fix}, and it is"
    )
