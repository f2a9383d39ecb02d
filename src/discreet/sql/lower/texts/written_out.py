"""The size of an expression once a planner has written out the columns of the sub-queries below it.

PostgreSQL merges a sub-query that only computes into the query that reads it, and writes each of its columns again
wherever it is used. Thirty sub-queries, each of which uses a column of the one before twice, become a billion parts,
and its planner takes all memory for them. So a sub-query is fenced where an expression over it would grow too large. An
engine without a fence refuses the question there: ClickHouse and Spark write columns out into conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Expression, weight

MOST_PARTS = 2000
"""Columns and operations of an expression behind which there is a fence: as many as may stand in a question."""


def fence(relation: Relation, expressions: Iterable[Expression | None], dialect: Dialect) -> str:
    """The fence behind a relation over whose columns some expression grows too large once they are written out.

    Raises:
        QueryRefused: it grows too large for an engine that has no fence.
    """
    most = MOST_PARTS if dialect.fence else dialect.most_parts
    if not most or not _over(weights(relation, most), expressions, most):
        return ""
    if not dialect.fence:
        raise QueryRefused(
            f"A value has more than {most:,} parts once this engine writes the columns of sub-queries out wherever "
            "they are used.",
            "Use a computed column once where you can, or compute in fewer steps.",
        )
    return dialect.fence


def weights(relation: Relation, most: int) -> Mapping[str, int]:
    """The weights of those columns of a relation that are written out where they are read.

    Args:
        relation: whose columns they are.
        most: the weight of an expression below which there is no fence.
    """
    if isinstance(relation, rel.Select):
        known = weights(relation.source, most)
        if _over(known, reading(relation), most):
            known = {}
        if relation.items is None:
            return known
        return {name: weight(item, known) for name, item in relation.items}
    if isinstance(relation, rel.Join | rel.PublicJoin | rel.Matching | rel.Union):
        out: dict[str, int] = {}
        for part in rel.parts(relation):
            for name, own in weights(part, most).items():
                out[name] = max(own, out.get(name, 1))
        return out
    return {}  # no planner merges a sub-query that groups or has windows


def reading(select: rel.Select) -> list[Expression | None]:
    """The expressions over the source of a SELECT."""
    return [select.where, *(item for _, item in select.items or ())]


def _over(known: Mapping[str, int], expressions: Iterable[Expression | None], most: int) -> bool:
    read = (expression for expression in expressions if expression is not None)
    return bool(known) and any(weight(expression, known) > most for expression in read)
