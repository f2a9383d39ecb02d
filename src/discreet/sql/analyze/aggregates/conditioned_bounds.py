"""Bounds that WHERE sets to a column without any: `WHERE pay BETWEEN 0 AND 50` lets `SUM(pay)` be answered.

Nothing is believed: the value is clamped to these bounds, so the sensitivity is theirs for all data. That changes no
row that counts: its value met the condition, so it lies within. Only comparisons of one column with literals are read.
A column that has bounds keeps them, narrower or not: its question is planned for all literals at once, and measured
together with others of the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.sql import functions as fn
from discreet.sql.algebra.narrowing import conjuncts, narrowed
from discreet.sql.algebra.relation import (
    UNIT,
    Join,
    Matching,
    PrivateRows,
    PublicJoin,
    Relation,
    Select,
    Windowed,
)
from discreet.sql.analyze.aggregates.implied_bounds import is_unbounded
from discreet.sql.expressions.expression import Column, Expression, leaves


def clamped(
    rows: PrivateRows, column: Callable[[exp.Column], Expression]
) -> Callable[[exp.Column], Expression]:
    """The meaning of a query's columns, each number without bounds clamped to those that all its rows meet.

    Args:
        rows: of a query.
        column: the meaning of its columns.
    """

    def read(node: exp.Column) -> Expression:
        found = column(node)
        if not is_unbounded(found):
            return found
        span = _met(rows.relation, found).span
        if span.lo is None or span.hi is None or span.lo >= span.hi:
            return found
        return fn.clamp(found, span.lo, span.hi)

    return read


def _met(relation: Relation, column: Column) -> Column:
    """A column of a relation with the bounds that all its rows meet."""
    if isinstance(relation, Select):
        source = _source(relation, column)
        if source is None:
            return column
        met = _met(relation.source, source)
        conditions = [] if relation.where is None else conjuncts([relation.where])
        about = [
            condition
            for condition in conditions
            if {leaf.name for leaf in leaves(condition)} == {source.name}
        ]
        if about:
            met = narrowed(about, {source.name: met})[0][source.name]
        return _within(column, met)
    if isinstance(relation, Windowed) and all(own != column.name for own, _ in relation.windows):
        return _within(column, _met(relation.source, column))
    if isinstance(relation, Join):
        left = _met(relation.left, column)
        # The unit of a row without a partner meets no condition of the right side.
        return _within(column, left if column.name == UNIT else _met(relation.right, left))
    if isinstance(relation, PublicJoin | Matching):
        return _within(column, _met(relation.left, column))
    return column


def _source(relation: Select, column: Column) -> Column | None:
    """The column of the source that a column shows; None where it is computed."""
    if relation.items is None:
        return column
    item = next((item for own, item in relation.items if own == column.name), None)
    return item if isinstance(item, Column) else None


def _within(column: Column, met: Column) -> Column:
    return Column(column.name, column.type, met.span)
