"""Bounds that conditions set to a column: `WHERE pay BETWEEN 0 AND 50` makes `SUM(pay)` a sum of values up to 50.

Nothing is believed: the value is clamped to these bounds, so the sensitivity is theirs for all data. That changes no
row that counts: its value met the condition, so it lies within. Comparisons of one column with literals are read, NOT
of these, lists of literals, and ELSE, which is for rows that fail the conditions before it. The bounds go on through
functions of the column. OR is not read.
A column without bounds gets them where its question is read (`clamped`), so that it can be answered at all. One that
has bounds gets narrower ones (`within`), for less noise. As soon as releases are measured together, all keep the bounds
of the policy, which they share; `plan.planner` sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.narrowing import applied, conjuncts, narrowed
from discreet.sql.algebra.relation import (
    UNIT,
    Join,
    Matching,
    PrivateRows,
    PublicJoin,
    Relation,
    Select,
    Union,
    Windowed,
)
from discreet.sql.expressions import span as sp
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves

NUMBERS = frozenset({Type.INTEGER, Type.FLOAT})


def clamped(
    rows: PrivateRows, column: Callable[[exp.Column], Expression]
) -> Callable[[exp.Column], Expression]:
    """The meaning of a query's columns, each number clamped to the bounds that all its rows meet.

    Args:
        rows: of a query.
        column: the meaning of its columns.
    """

    def read(node: exp.Column) -> Expression:
        found = column(node)
        if not isinstance(found, Column) or found.type not in NUMBERS:
            return found
        return _clamped(found, _met(rows.relation, found))

    return read


def within(relation: Relation, argument: Expression) -> Expression:
    """An argument of an aggregate with its columns clamped to the bounds that conditions set, if those are narrower.

    Args:
        relation: the rows that count.
        argument: over their columns. The condition of a branch of CASE holds for its result; FILTER is read as CASE.

    Raises:
        ValueNeededError: a parameter stands in the place of a literal.
    """
    columns = {column.name: column for column in leaves(argument) if column.type in NUMBERS}
    met = {name: _met(relation, column) for name, column in columns.items() if column.span.bounded}
    found = _within_branches(argument, columns, met)
    return found if found.span.bounded and found.span.width < argument.span.width else argument


def _within_branches(
    argument: Expression, columns: Mapping[str, Column], met: Mapping[str, Column]
) -> Expression:
    """The argument with columns clamped to their bounds, in a branch of CASE also to those of its condition."""
    if isinstance(argument, Column):
        return _clamped(columns[argument.name], met[argument.name]) if argument.name in met else argument
    if not isinstance(argument, Call):
        return argument
    if argument.name != "case":
        return _applied(argument, tuple(_within_branches(arg, columns, met) for arg in argument.args))
    *branches, otherwise = argument.args
    results, rest = [], met
    for condition, result in zip(branches[::2], branches[1::2], strict=True):
        inside = _narrowed(conjuncts([condition]), rest)
        results.append((condition, _within_branches(result, columns, inside)))
        # A later branch is for rows that fail the condition, or whose column is NULL, which no bound is about.
        rest = _narrowed(conjuncts([fn.must("not", condition)]), rest)
    return fn.case(results, _within_branches(otherwise, columns, rest))


def _applied(function: Call, args: tuple[Expression, ...]) -> Call:
    """A function of narrower arguments, with its bounds."""
    if args == function.args:
        return function
    if function.name in fn.VARIADIC:
        return fn.variadic(function.name, list(args))
    if function.name == "clamp":
        span = sp.clamp(args[0].span, function.span.lo, function.span.hi).null(function.span.nullable)
        return Call(function.name, function.spelling, args, function.type, span)
    return applied(function, args)


def _narrowed(conditions: Sequence[Expression], columns: Mapping[str, Column]) -> dict[str, Column]:
    """Columns with the bounds of the conditions that are about one of them alone."""
    out = dict(columns)
    read = [end for condition in conditions for end in _ends(condition)]
    for name, column in columns.items():
        about = [condition for condition in read if {leaf.name for leaf in leaves(condition)} == {name}]
        if about:
            out[name] = narrowed(about, {name: column})[0][name]
    return out


def _ends(condition: Expression) -> list[Expression]:
    """The least and the greatest number of a list of them, for a column of floats; else the condition."""
    if not isinstance(condition, Call) or condition.name != "in" or condition.args[0].type is not Type.FLOAT:
        return [condition]
    operand, *listed = condition.args
    places = [
        (sp.number(item.value), item)
        for item in listed
        if isinstance(item, Literal) and item.value is not None
    ]
    if not places or len(places) < len(listed) or any(place is None for place, _ in places):
        return [condition]
    ordered = [item for _, item in sorted(places, key=lambda pair: pair[0] or Fraction(0))]
    return [fn.must("ge", operand, ordered[0]), fn.must("le", operand, ordered[-1])]


def _clamped(column: Column, met: Column) -> Expression:
    """The column clamped to bounds; itself where they are not known, are its own, or leave no value."""
    own, span = column.span, met.span
    if span.lo is None or span.hi is None or span.lo > span.hi or (own.lo, own.hi) == (span.lo, span.hi):
        return column
    return fn.clamp(column, span.lo, span.hi)


def _met(relation: Relation, column: Column) -> Column:
    """A column of a relation with the bounds that all its rows meet."""
    if isinstance(relation, Select):
        source = _source(relation, column)
        if source is None:
            return column
        met = _met(relation.source, source)
        conditions = [] if relation.where is None else conjuncts([relation.where])
        return _within(column, _narrowed(conditions, {source.name: met})[source.name])
    if isinstance(relation, Windowed) and all(own != column.name for own, _ in relation.windows):
        return _within(column, _met(relation.source, column))
    if isinstance(relation, Join):
        left = _met(relation.left, column)
        # The unit of a row without a partner meets no condition of the right side.
        return _within(column, left if column.name == UNIT else _met(relation.right, left))
    if isinstance(relation, PublicJoin | Matching):
        return _within(column, _met(relation.left, column))
    if isinstance(relation, Union):
        return Column(column.name, column.type, sp.hull(_met(part, column).span for part in relation.parts))
    return column


def _source(relation: Select, column: Column) -> Column | None:
    """The column of the source that a column shows; None where it is computed."""
    if relation.items is None:
        return column
    item = next((item for own, item in relation.items if own == column.name), None)
    return item if isinstance(item, Column) else None


def _within(column: Column, met: Column) -> Column:
    return Column(column.name, column.type, met.span)
