"""Quantiles of dates and time stamps: those of the days, or of the microseconds, since 1970-01-01.

A moment is read as a whole number, whose quantiles are those of any other bounded number, and the number that comes
out is written as a moment again. That is post-processing, and it is increasing, so intervals go along.
"""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.expressions.expression import Expression, Literal

_FIRST = "1970-01-01"
_WHOLE = (exp.Min, exp.Max, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
"""The aggregates that give one of the values, of dates a date; the others lie between two of them, at some hour."""


def place_of(moment: Expression) -> Expression:
    """The number of a date or a time stamp: whole days, or microseconds, since 1970-01-01."""
    if moment.type is Type.DATE:
        found = fn.call("days_between", moment, Literal(dt.date(1970, 1, 1), Type.DATE))
    else:
        start = Literal(dt.datetime(1970, 1, 1), Type.TIMESTAMP)
        found = fn.call("date_diff_microsecond", start, moment)
    assert found is not None
    return found


def moment_type(node: exp.Expr, argument: Expression) -> Type | None:
    """The type of a quantile of such an argument as DuckDB has it; None of a number."""
    if argument.type not in (Type.DATE, Type.TIMESTAMP):
        return None
    while isinstance(node, exp.Filter | exp.WithinGroup):
        node = node.this
    # The days of dates between two of them have hours, which MEDIAN gives and MIN does not.
    return argument.type if isinstance(node, _WHOLE) else Type.TIMESTAMP


def as_moment(place: exp.Expr, of: Type, shown: Type) -> exp.Expr:
    """A released place as a moment, in the SQL of post-processing.

    Args:
        place: the number that `place_of` gives.
        of: the type of the values.
        shown: that of the answer.
    """
    if shown is Type.DATE:
        first = exp.cast(exp.Literal.string(_FIRST), "DATE")
        return exp.paren(exp.Add(this=first, expression=exp.cast(exp.Floor(this=place), "INT")))
    if of is Type.DATE:
        place = exp.Mul(this=place, expression=exp.Literal.number(86_400_000_000))
    return exp.Anonymous(this="make_timestamp", expressions=[exp.cast(exp.Floor(this=place), "BIGINT")])
