"""UNION ALL of private rows; and UNION, INTERSECT and EXCEPT: sets of units, as cohorts are made.

Each row keeps its unit, and a unit may have rows on every side. Where rows are merged, both sides name the unit in the
same place, so that equal rows are of one unit, and whether a row is in the result depends on the rows of that unit
alone.

Privacy: a unit has at most as many rows as both sides together (UNION), or as the left one (INTERSECT, EXCEPT); one,
where nothing but the unit is selected. Rows are bounded again where they are aggregated.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql import functions as fn
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.from_clause import all_of
from discreet.sql.analyze.joins.same_units import see_same_units
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.expressions.span import hull
from discreet.sql.functions import call

Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]
_SEEN = "SELECT k FROM {} GROUP BY k HAVING COUNT(*) > 0"
_OTHERWISE: dict[type[exp.Expr], str] = {
    kind: f"compare groups, as {_SEEN.format('a')} {kind.__name__.upper()} {_SEEN.format('b')}"
    for kind in (exp.Intersect, exp.Except)
}
"""Other questions for values that both sides have, or one of them."""
THEIRS = "__theirs."
"""Before the names of the columns of the right side, so that no name is there twice."""


def united(
    node: exp.SetOperation, text: str, left: PrivateRows, right: PrivateRows, refuse: Refuse
) -> PrivateRows:
    """The rows of a set operation.

    Args:
        node: the set operation.
        text: of the statement.
        left: the rows of one side.
        right: those of the other.
        refuse: makes refusals.

    Raises:
        QueryRefused: by `refuse`, the two sides do not go together.
    """
    if any(node.args.get(part) for part in ("limit", "offset", "by_name")):
        raise refuse(
            node.expression, "LIMIT and BY NAME are not supported over private rows.", "Remove them."
        )
    if left.per_unit != right.per_unit or len(left.names) != len(right.names):
        raise refuse(node.expression, "The two sides differ in their columns or in their privacy unit.",
                     "Select the same columns on both sides.")  # fmt: skip
    see_same_units(node.expression, text, left, right)
    items: list[tuple[str, Expression, Expression]] = []
    for mine, other in zip(left.names, right.names, strict=True):
        a, b = left.columns[mine.lower()], right.columns[other.lower()]
        kind = fn.common_type([a.type, b.type])
        wide = [fn.widen(c, kind) if kind is not None else None for c in (a, b)]
        if wide[0] is None or wide[1] is None:
            raise refuse(node.expression, f"The columns {mine} and {other} are of different types.",
                         "Convert one with CAST.")  # fmt: skip
        items.append((mine, wide[0], wide[1]))
    first = rel.select(left, [(name, a) for name, a, _ in items], None)
    second = rel.select(right, [(name, b) for name, _, b in items], None)
    columns = {
        name: Column(
            name, first.columns[name].type, hull([first.columns[name].span, second.columns[name].span])
        )
        for name in first.columns
    }
    # The same table on both sides counts a row twice; the sum of the caps says so.
    both = PrivateRows(rel.Union((first.relation, second.relation)), columns, first.names, left.per_unit,
                left.max_rows + right.max_rows, first.units & second.units, left.fixed and right.fixed)  # fmt: skip
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        return both
    return cohort(node, (first, second), both, refuse)


def cohort(
    node: exp.SetOperation, sides: tuple[PrivateRows, PrivateRows], united: PrivateRows, refuse: Refuse
) -> PrivateRows:
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
                     "Select the privacy unit on both sides, in the same place; or "
                     f"{_OTHERWISE.get(type(node), 'write UNION ALL')}.")  # fmt: skip
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise refuse(node.expression, f"{word} ALL of private rows is not supported.",
                     f"Write {word}, which has each row once.")  # fmt: skip
    for name, column in united.columns.items():
        if not column.type.single:
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


def distinct(rows: PrivateRows) -> PrivateRows:
    """The rows, each once; they name the unit, and no column of theirs is opaque."""
    keys = tuple((name, column) for name, column in rows.columns.items())
    alone = set(rows.columns) <= rows.units
    return rel.replaced(rows, rel.PerUnit(rows.relation, keys, ()), max_rows=1 if alone else None)


def _same(side: Expression, other: Expression) -> Expression:
    """Equality in which NULL is like NULL."""
    differ = call("distinct", side, other)
    assert differ is not None
    same = call("not", differ)
    assert same is not None
    return same
