"""EXISTS: the words for one that is about rows where groups are, and for one that is always true."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.syntax.nodes import has_aggregate, has_only

Refuse = Callable[[exp.Expr, str, str], QueryRefused]
"""The refusal of a part of a statement, with its cause and its fix."""
OF_ROWS = "Write EXISTS (SELECT 1 FROM ...), without the aggregate."
"""The fix where EXISTS is about rows."""
_COUNT = "Compare a count with zero: (SELECT COUNT(*) FROM t WHERE ...) > 0."


def rows_of_private(node: exp.Expr, refuse: Refuse) -> QueryRefused:
    """The refusal of a sub-query that would return rows of a private table."""
    fix = _COUNT if isinstance(node.parent, exp.Exists) else "Aggregate them in it."
    return refuse(node, "This sub-query returns rows of a private table.", fix)


def see_it_can_be_false(node: exp.Expr, refuse: Refuse, fix: str = _COUNT) -> None:
    """See that EXISTS does not hold a sub-query that always has one row, which somebody would pay for.

    Raises:
        QueryRefused: it does: one with aggregates and without groups, which has no condition on them.
    """
    inner, holder = node.unnest() if isinstance(node, exp.Subquery) else node, node.parent
    while isinstance(holder, exp.Subquery | exp.Paren):
        holder = holder.parent
    if not isinstance(holder, exp.Exists) or not isinstance(inner, exp.Select):
        return
    if inner.find(exp.UDTF, exp.Explode):  # UNNEST gives rows of a list, perhaps none
        return
    if has_only(inner, ("expressions", "from_", "joins", "where", "with_", "order")) and any(
        has_aggregate(item) for item in inner.selects
    ):
        raise refuse(node, "This sub-query has one row in any case, so that EXISTS is always true.", fix)
