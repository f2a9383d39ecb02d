"""The size of an expression once a planner has written out the columns of the sub-queries below it.

PostgreSQL merges a sub-query that only computes into the query that reads it, and writes each of its columns again
wherever it is used. Thirty sub-queries, each of which uses a column of the one before twice, become a billion parts,
and its planner takes all memory for them. So a sub-query is fenced where an expression over it would grow too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.expression import Expression, weight

MOST_PARTS = 2000
"""Columns and operations of an expression: as many as one may have that stands in a question."""


def too_large(relation: Relation, expressions: Iterable[Expression | None]) -> bool:
    """Whether some expression over the columns of a relation is too large once these are written out."""
    return _over(weights(relation), expressions)


def weights(relation: Relation) -> Mapping[str, int]:
    """The weights of those columns of a relation that are written out where they are read."""
    if isinstance(relation, rel.Select):
        known = weights(relation.source)
        if _over(known, reading(relation)):
            known = {}
        if relation.items is None:
            return known
        return {name: weight(item, known) for name, item in relation.items}
    if isinstance(relation, rel.Join | rel.PublicJoin | rel.Matching | rel.Union):
        out: dict[str, int] = {}
        for part in rel.parts(relation):
            for name, own in weights(part).items():
                out[name] = max(own, out.get(name, 1))
        return out
    return {}  # no planner merges a sub-query that groups or has windows


def reading(select: rel.Select) -> list[Expression | None]:
    """The expressions over the source of a SELECT."""
    return [select.where, *(item for _, item in select.items or ())]


def _over(known: Mapping[str, int], expressions: Iterable[Expression | None]) -> bool:
    read = (expression for expression in expressions if expression is not None)
    return bool(known) and any(weight(expression, known) > MOST_PARTS for expression in read)
