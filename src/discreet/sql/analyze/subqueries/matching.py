"""Rows that have a match in other private rows, looked up by a key on the path to the unit.

Whether a row has a match depends on the rows of its unit alone: the engine compares the units of both sides, in
addition to all conditions of the sub-query. So a sub-query must compare the units, or a key on the path to them: then
comparing the units as well changes nothing.
"""

from __future__ import annotations

from discreet.sql.algebra import key_paths
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.from_clause import Frame
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call

INSIDE = "__inside."
"""Before the names of the columns of a sub-query, so that none is one of the query around it."""


def inside(rows: Rows) -> tuple[rel.Select, dict[str, Column]]:
    """The rows of a sub-query with columns of names of their own, and these by the names that the query says."""
    columns = {key: Column(INSIDE + key, c.type, c.span) for key, c in rows.columns.items()}
    items = tuple((INSIDE + key, c) for key, c in rows.columns.items())
    return rel.Select(rows.relation, items, None), columns


def in_by_key(frame: Frame, bound: Expression | None, scope: Rows) -> tuple[Rows, Expression] | None:
    """The other rows and the condition of `key IN (SELECT key …)`; None where it is no key on the path to the unit."""
    if len(scope.names) != 1 or not isinstance(bound, Column):
        return None
    relation, columns = inside(scope)
    same = call("eq", bound, columns[scope.names[0].lower()])
    if same is None or not key_paths.between(frame.rows.relation, relation).joined([same]):
        return None
    return rel.replaced(scope, relation), same
