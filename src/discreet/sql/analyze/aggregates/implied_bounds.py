"""Bounds that follow: a count or a sum over the rows of one unit, of which at most max_rows are expected to count.

Nothing is believed: where such bounds are needed, the value is clamped to them, as one is to bounds of the policy. So
the sensitivity is right for all data, and a unit with more rows than that is clamped.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.relation import (
    Join,
    Matching,
    PerUnit,
    PrivateRows,
    PublicJoin,
    Relation,
    Scan,
    Select,
    Union,
    Windowed,
)
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.expressions.span import Span

Bounds = tuple[Fraction, Fraction]


def of_count(rows: int) -> Bounds:
    """The bounds of a count of the rows of one unit."""
    return Fraction(0), Fraction(rows)


def of_sum(span: Span, step: Fraction, rows: int) -> Bounds | None:
    """The bounds of a sum over the rows of one unit of values in a span of steps; None without bounds.

    Example:
        >>> of_sum(Span(Fraction(-1), Fraction(40)), Fraction(1, 2), 3)
        (Fraction(-3, 2), Fraction(60, 1))
        >>> of_sum(Span(Fraction(18), Fraction(40)), Fraction(1), 3)
        (Fraction(0, 1), Fraction(120, 1))
    """
    if span.lo is None or span.hi is None:
        return None
    return rows * min(span.lo, Fraction(0)) * step, rows * max(span.hi, Fraction(0)) * step


def clamped(
    rows: PrivateRows, column: Callable[[exp.Column], Expression]
) -> Callable[[exp.Column], Expression]:
    """The meaning of a query's columns, each that has bounds that follow clamped to them."""

    def read(node: exp.Column) -> Expression:
        found = column(node)
        bounds = following(rows.relation, found.name) if is_unbounded(found) else None
        return found if bounds is None or bounds[0] == bounds[1] else fn.clamp(found, *bounds)

    return read


def is_unbounded(found: Expression) -> TypeGuard[Column]:
    """Whether it is a column of numbers that has no bounds, or one only."""
    numbers = (Type.INTEGER, Type.FLOAT)
    return isinstance(found, Column) and found.type in numbers and not found.span.bounded


def following(relation: Relation, name: str) -> Bounds | None:
    """The bounds of a column of a relation that follow; None when nothing is known."""
    if isinstance(relation, Scan):
        return None
    if isinstance(relation, PerUnit):
        return next((aggregate.follows for own, aggregate in relation.aggregates if own == name), None)
    if isinstance(relation, Windowed):
        for own, call in relation.windows:
            if own == name:
                return call.follows
        return following(relation.source, name)
    if isinstance(relation, Select):
        if relation.items is None:
            return following(relation.source, name)
        item = next((item for own, item in relation.items if own == name), None)
        return following(relation.source, item.name) if isinstance(item, Column) else None
    if isinstance(relation, Union):
        found = [following(part, name) for part in relation.parts]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return min(lo for lo, _ in known), max(hi for _, hi in known)
    if isinstance(relation, Join):
        return following(relation.left, name) or following(relation.right, name)
    assert isinstance(relation, PublicJoin | Matching)
    return following(relation.left, name)
