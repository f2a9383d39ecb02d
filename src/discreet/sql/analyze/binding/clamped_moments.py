"""clamp(x, first, last) of a date or a time stamp."""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.names import TYPE_WORDS

FIX = "Write clamp(x, DATE '2000-01-01', DATE '2030-12-31')."


def clamped_moment(binder: Binder, node: exp.Expr, operand: Expression) -> Expression:
    """Read a clamp whose first argument was bound already.

    Raises:
        QueryRefused: its bounds are no literals of the type of the argument, or in the wrong order.
    """
    lo, hi = (_end(binder, end, operand) for end in node.expressions[1:])
    first, last = lo.span.lo, hi.span.lo
    assert first is not None
    assert last is not None
    if not first < last:
        raise binder.refuse(node, "The lower bound of clamp is not below the upper one.", FIX)
    return fn.clamp_moment(operand, lo, hi)


def _end(binder: Binder, node: exp.Expr, operand: Expression) -> Literal:
    (end,) = binder.aligned([operand, binder.bind(node)], [node, node])[1:]
    if isinstance(end, Literal) and operand.type is Type.TIMESTAMP and end.type is Type.DATE:
        assert isinstance(end.value, dt.date)
        end = Literal(dt.datetime.combine(end.value, dt.time()), Type.TIMESTAMP)
    if not isinstance(end, Literal) or end.value is None or end.type is not operand.type:
        raise binder.refuse(
            node, f"The bounds of clamp must be literals, {TYPE_WORDS[operand.type]} each here.", FIX
        )
    return end
