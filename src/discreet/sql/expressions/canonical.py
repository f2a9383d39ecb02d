"""One spelling for all values that compare as equal, so that no row decides how its class is shown.

FLOAT      -0.0 and 0.0 are equal. Every column of a relation, every key and every argument of MIN and MAX holds
0.0 for both: x + 0 is x but for -0.0, which it turns into 0.0. NaN is NULL wherever a number is read or
computed; a key that is found is looked at once more.
TEXT       is compared by its bytes. Each engine reads a column of texts without its collation, without the blanks
that pad a char(n), and citext as text; so only texts that are alike are equal.
TIMESTAMP  is read in UTC without its zone, in microseconds; INTEGER, BOOLEAN and DATE have one spelling each.
Decimals are read as FLOAT, where their scale is gone.
OTHER      (intervals, times, lists, json, …) has no spelling that is known here, so it is no key that can be found.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable
from typing import TypeVar

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Value

ONE_ZERO = {"": "({0} + CAST(0 AS DOUBLE))"}
NO_NAN = {"": "NULLIF({0} + CAST(0 AS DOUBLE), CAST('NaN' AS DOUBLE))"}


def canonical(expression: Expression) -> Expression:
    """The expression with one spelling for equal values.

    A column is not touched: those of a relation are canonical, as its items are written through here.

    Example:
        >>> from discreet.sql.expressions.dialect import STANDARD
        >>> from discreet.sql.expressions.expression import spell
        >>> from discreet.sql.expressions.span import ANY
        >>> x = Column("x", Type.FLOAT, ANY)
        >>> spell(canonical(Call("negate", {"": "(-{0})"}, (x,), Type.FLOAT, ANY)), STANDARD)
        '((-"x") + CAST(0 AS DOUBLE))'
    """
    if expression.type is not Type.FLOAT or isinstance(expression, Column):
        return expression
    if isinstance(expression, Literal):
        return dataclasses.replace(expression, value=canonical_value(expression.value))
    if expression.name == "to_float" or expression.span.excludes_zero():
        return expression
    return Call("one_zero", ONE_ZERO, (expression,), Type.FLOAT, expression.span)


def canonical_key(expression: Expression) -> Expression:
    """A key in the form in which it is found: one spelling for equal values, and NULL for NaN."""
    if expression.type is not Type.FLOAT:
        return expression
    return Call("one_zero", NO_NAN, (expression,), Type.FLOAT, expression.span.null())


def see_spelling(key: Expression, subject: str, refuse: Callable[[str, str], QueryRefused]) -> None:
    """See that a key that must be found has one spelling for values that the engine holds equal.

    Raises:
        QueryRefused: by `refuse`, it is of a type without.
    """
    if not key.type.single:
        raise refuse(
            f"The groups of {subject} cannot be found: a value of its type has no single spelling.",
            "Group by a text, a number, a date or a time stamp; a view of the table can CAST it to one.",
        )


def canonical_value(value: Value | None) -> Value | None:
    """A public value in that spelling."""
    return value + 0.0 if isinstance(value, float) else value


V = TypeVar("V", Value, Value | None)
_READ_AS_THEY_ARE = (Type.INTEGER, Type.BOOLEAN, Type.TEXT)
"""Types whose values `_read` leaves alone; there may be a million of them."""


def distinct(values: Iterable[V], kind: Type) -> tuple[V, ...]:
    """Public values of a type, each once, in order; values that become equal in that type are one.

    Integers that are read as FLOAT beside fractions may become equal: a row would match both and count twice.

    Example:
        >>> distinct([2**53, 2**53 + 1, -0.0, 0, 1.5], Type.FLOAT)
        (9007199254740992.0, 0.0, 1.5)
    """
    read = values if kind in _READ_AS_THEY_ARE else (_read(value, kind) for value in values)
    return tuple(dict.fromkeys(value for value in read if value == value))  # NaN differs from itself


def _read(value: V, kind: Type) -> V:
    """A public value as an expression of that type has it."""
    if kind is Type.FLOAT and isinstance(value, int | float):
        return float(value) + 0.0
    if kind is Type.TIMESTAMP and isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if kind is Type.TIMESTAMP and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value.date() if kind is Type.DATE and isinstance(value, dt.datetime) else value
