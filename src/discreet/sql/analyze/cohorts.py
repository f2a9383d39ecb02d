"""UNION, INTERSECT and EXCEPT of private rows: sets of units, as cohorts are made.

Both sides name the unit in the same place, so that equal rows are of one unit, and whether a row is in the result
depends on the rows of that unit alone.

Privacy: a unit has at most as many rows as both sides together (UNION), or as the left one (INTERSECT, EXCEPT); one,
where nothing but the unit is selected. Rows are bounded again where they are aggregated.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.from_clause import all_of
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call

Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]
THEIRS = "__theirs."
"""Before the names of the columns of the right side, so that no name is there twice."""


def cohort(node: exp.SetOperation, sides: tuple[Rows, Rows], united: Rows, refuse: Refuse) -> Rows:
    """The rows of a UNION, INTERSECT or EXCEPT, each once.

    Args:
        node: the set operation.
        sides: the rows of both sides, whose columns have the same names and types.
        united: those of their UNION ALL.
        refuse: makes refusals.

    Raises:
        QueryRefused: by `refuse`, the sides do not name the unit in one place, or rows are to be counted (ALL).
    """
    word = node.key.upper()
    if not united.per_unit or not united.units:
        raise refuse(node.expression, f"{word} of private rows would merge rows of different units.",
                     "Select the privacy unit on both sides, in the same place; or write UNION ALL.")  # fmt: skip
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise refuse(node.expression, f"{word} ALL of private rows is not supported.",
                     f"Write {word}, which has each row once.")  # fmt: skip
    for name, column in united.columns.items():
        if column.type is Type.OTHER:
            raise refuse(node.expression, *about_column(united.relation, column, name))
    if isinstance(node, exp.Union):
        return distinct(united)
    left, right = sides
    columns = tuple((f"{THEIRS}{name}", column) for name, column in right.columns.items())
    theirs = rel.Select(right.relation, columns, None)
    alike = [
        _same(column, Column(f"{THEIRS}{name}", right.columns[name].type, right.columns[name].span))
        for name, column in left.columns.items()
        if name not in united.units
    ]
    once = distinct(left)
    relation = rel.Matching(once.relation, theirs, all_of(alike), isinstance(node, exp.Except))
    return rel.replaced(once, relation)


def distinct(rows: Rows) -> Rows:
    """The rows, each once; they name the unit, and no column of theirs is opaque."""
    keys = tuple((name, column) for name, column in rows.columns.items())
    alone = set(rows.columns) <= rows.units
    return rel.replaced(rows, rel.PerUnit(rows.relation, keys, ()), max_rows=1 if alone else None)


def _same(one: Expression, other: Expression) -> Expression:
    """Equality in which NULL is like NULL."""
    differ = call("distinct", one, other)
    assert differ is not None
    same = call("not", differ)
    assert same is not None
    return same
