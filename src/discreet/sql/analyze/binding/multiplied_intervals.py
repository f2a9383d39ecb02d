"""Intervals of a computed length: `INTERVAL 30 MINUTE * slots`, `INTERVAL (x) HOUR` and `to_hours(x)`."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.expression import Expression, Literal

FIX = "Write x + INTERVAL 30 MINUTE * n, of a whole number n and a unit of one length, from a microsecond to a week."
NAMED = {"to_weeks": "week", "to_days": "day", "to_hours": "hour", "to_minutes": "minute", "to_seconds": "second",
         "to_milliseconds": "millisecond", "to_microseconds": "microsecond"}  # fmt: skip


def factors(node: exp.Expr) -> tuple[exp.Interval, exp.Expr] | None:
    """A literal interval and the number that it is multiplied by; None where a node is neither such a product nor one.

    Example:
        >>> import sqlglot
        >>> interval, times = factors(sqlglot.parse_one("to_hours(x + 1)", read="duckdb"))
        >>> interval.sql("duckdb"), times.sql("duckdb")
        ("INTERVAL '1' HOUR", 'x + 1')
    """
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Mul):
        for interval, times in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(interval, exp.Interval) and isinstance(interval.this, exp.Literal):
                return interval, times
    if (
        isinstance(node, exp.Interval)
        and not isinstance(node.this, exp.Literal | exp.Neg)
        and node.args.get("unit")
    ):
        return _single_interval(node.args["unit"].name), node.this
    if isinstance(node, exp.Anonymous) and node.name.lower() in NAMED and len(node.expressions) == 1:
        return _single_interval(NAMED[node.name.lower()]), node.expressions[0]
    return None


def _single_interval(unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=unit))


def shifted(
    binder: Binder, node: exp.Expr, moment: Expression, months: int, micros: int, times: exp.Expr
) -> Expression:
    """A moment so many times a literal interval later; NULL where that is beyond four thousand years.

    Args:
        binder: reads the number.
        node: the interval with its number.
        moment: the moment.
        months: of the literal interval, which must be 0.
        micros: of the same.
        times: the number.

    Raises:
        QueryRefused: the number is not whole, or the unit has no one length.
    """
    count = binder.bind(times)
    if months or not micros or count.type is not Type.INTEGER:
        raise binder.refuse(node, "The length of this interval cannot be computed.", FIX)
    return binder.apply(node, "add_length", [moment, Literal(micros, Type.INTEGER), count], [node] * 3)


__all__ = ["factors", "shifted"]
