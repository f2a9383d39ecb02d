"""Literals of SQL -> typed literals. Each function depends on its inputs alone, so it holds for a parameter, too."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.syntax.parameters.parameter_node import ParameterNode

I, F, T, D, S = Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP


class NotALiteralError(Exception):
    """Cause and fix of the refusal of a literal."""


def literal_of(node: exp.Literal) -> Literal:
    """A text or a number of SQL; of a parameter in a tree, a parameter in an expression.

    Raises:
        NotALiteralError: no literal can have this value.
    """
    if isinstance(node, ParameterNode):
        parameter = node.parameter
        now = literal_of(parameter.literal)
        return Parameter(parameter.place, now.type, now)
    if node.args.get("is_string"):
        if "\0" in node.this:
            raise NotALiteralError("A text with a NUL character is not allowed.", "Remove the character.")
        return Literal(node.this, T)
    try:
        value = Decimal(node.this.replace("_", ""))
    except InvalidOperation:
        raise NotALiteralError("This is not a number.", "Write a decimal number.") from None
    if value and value.adjusted() > 400:  # beyond this, arithmetic of decimals raises errors of its own
        raise NotALiteralError("This number is too large.", "Write a number below 1e308.")
    if value == value.to_integral_value() and abs(value) <= fn.INT64 and "e" not in node.this.lower():
        if "." not in node.this:
            return Literal(int(value), I)
        return Literal(float(value), F)
    number = float(value)
    if abs(number) > 1.7e308:
        raise NotALiteralError("This number is too large.", "Write a number below 1e308.")
    return Literal(number, F)


def moment_of(text: Literal, wanted: Type) -> Literal:
    """A text as a date or a time stamp. As a date it is the day that it names: DuckDB cuts the time of day off.

    Raises:
        ValueError, OverflowError: it is none.
    """
    written = str(text.value)
    if wanted is D and len(written) <= 10:
        return Literal(dt.date.fromisoformat(written), D)
    moment = dt.datetime.fromisoformat(written)
    if wanted is D:
        return Literal(moment.date(), D)
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return Literal(moment, S)
