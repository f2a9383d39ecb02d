"""Rows that have a match in other private rows: EXISTS with its conditions, and IN by a key on the path to the unit.

Whether a row has a match depends on the rows of its unit alone: the engine compares the units of both sides, whatever
else the sub-query says. So a sub-query must compare the units, or a key on the path to them: then comparing the units
as well changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.algebra import key_paths
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.lineage import read
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.from_clause import Frame, all_of
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call

Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]
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


def exists_by_key(
    frame: Frame, rows: Rows, name: str, conditions: list[exp.Expr], refuse: Refuse
) -> tuple[Rows, Expression | None] | None:
    """The other rows and the condition of EXISTS; None where it compares neither the units nor a key on their path.

    Args:
        frame: the rows around the sub-query.
        rows: those that it reads.
        name: that it gives them.
        conditions: all that it asks of a pair.
        refuse: makes refusals.
    """
    relation, columns = inside(rows)
    held = {columns[unit].name for unit in rows.units if unit in columns}

    def column(node: exp.Column) -> Expression:
        # An unqualified name belongs to the sub-query first, as SQL has it.
        if node.table.lower() == name or (not node.table and node.name.lower() in columns):
            found = columns.get(node.name.lower())
            if found is None:
                raise refuse(node, f"There is no column {node.name} in {name}.",
                             f"The columns are {', '.join(rows.names)}.")  # fmt: skip
            return found
        return frame.column(node)

    binder = frame.binder(column)
    names = {c.name for c in columns.values()}
    alone: list[Expression] = []
    pairs: list[Expression] = []
    equal = False
    for node in conditions:
        if isinstance(node, exp.EQ) and _equates(node, column, held, frame.held):
            equal = True
            continue
        one = binder.condition(node)
        (alone if read([one]) <= names else pairs).append(one)
    if not equal and not key_paths.between(frame.rows.relation, relation).joined(pairs):
        return None
    kept = all_of(alone)
    return rel.replaced(rows, relation if kept is None else rel.Select(relation, None, kept)), all_of(pairs)


def _equates(
    node: exp.EQ, column: Callable[[exp.Column], Expression], inner: set[str], outer: frozenset[str]
) -> bool:
    """Whether a condition says that the units of both sides are the same; their types are compared elsewhere."""
    if not (isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column)):
        return False
    bound = [column(side) for side in (node.this, node.expression)]
    if not all(isinstance(side, Column) for side in bound):
        return False
    a, b = (side.name for side in bound if isinstance(side, Column))
    return (a in inner and b in outer) or (b in inner and a in outer)
