"""The limits that a condition sets to single columns: `age >= 65` leaves the values from 65 up, and no NULL.

Only comparisons with literals are read here. They are read exactly, so that a condition that was read can be left out
where the narrowed columns are looked at. Beside them stands where an expression cuts moments, or compares them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span, Value, number, of_values
from discreet.sql.functions import call
from discreet.sql.functions.calendar import DAY
from discreet.sql.functions.dates import moment_grain

MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
"""NOT of a comparison is the other one: both are NULL beside NULL, and NaN is read as NULL."""
TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
WHOLE = frozenset({Type.INTEGER, Type.DATE, Type.TIMESTAMP})
"""Types whose values lie at whole numbers of the line that spans are measured on."""

EXACT = 2**62
"""Literals beyond this are not read: the values that they are compared with may lie at the end of their type."""


def conjuncts(conditions: Iterable[Expression]) -> list[Expression]:
    """The conditions that AND ties together, those of NOT (a OR b) among them."""
    out: list[Expression] = []
    for condition in conditions:
        if isinstance(condition, Call) and condition.name == "and":
            out += conjuncts(condition.args)
        elif (sides := _neither(condition)) is not None:
            out += conjuncts(sides)
        else:
            out.append(condition)
    return out


def _neither(condition: Expression) -> list[Expression] | None:
    """NOT a and NOT b, where the condition is NOT (a OR b)."""
    inner = condition.args[0] if isinstance(condition, Call) and condition.name == "not" else None
    if not isinstance(inner, Call) or inner.name != "or":
        return None
    return [side for arg in inner.args if (side := call("not", arg)) is not None]


def narrowed(
    conditions: Sequence[Expression], columns: Mapping[str, Column]
) -> tuple[dict[str, Column], list[Expression]]:
    """Read the conditions on single columns.

    Args:
        conditions: all of which hold.
        columns: those that may be narrowed, by name.

    Returns:
        The columns, narrowed, and the conditions that were not read.
    """
    found, rest = dict(columns), []
    for condition in conditions:
        name, column = _narrowed(condition, found)
        if column is None:
            rest.append(condition)
        else:
            found[name] = column
    return found, rest


def _narrowed(condition: Expression, columns: Mapping[str, Column]) -> tuple[str, Column | None]:
    """The column that a condition is about, narrowed by it; None where the condition cannot be read."""
    if isinstance(condition, Column):
        return condition.name, _tested(columns.get(condition.name), lambda value: value is True)
    if not isinstance(condition, Call):
        return "", None
    if condition.name == "not" and isinstance(inner := condition.args[0], Column):
        return inner.name, _tested(columns.get(inner.name), lambda value: value is False)
    if condition.name == "not" and isinstance(inner := condition.args[0], Call) and inner.name == "is_null":
        argument = inner.args[0]
        column = columns.get(argument.name) if isinstance(argument, Column) else None
        return ("", None) if column is None else (column.name, _with(column, column.span.null(False)))
    if condition.name == "not" and isinstance(inner := condition.args[0], Call) and inner.name in NEGATED:
        other = call(NEGATED[inner.name], *inner.args)
        return ("", None) if other is None else _narrowed(other, columns)
    if condition.name == "in":
        operand, *literals = condition.args
        values = [
            literal.value
            for literal in literals
            if isinstance(literal, Literal) and literal.value is not None
        ]
        return _compared(operand, columns, "in", values)
    if condition.name in MIRRORED:
        left, right = condition.args
        if isinstance(right, Literal) and right.value is not None:
            return _compared(left, columns, condition.name, [right.value])
        if isinstance(left, Literal) and left.value is not None:
            return _compared(right, columns, MIRRORED[condition.name], [left.value])
    return "", None


def _compared(
    side: Expression, columns: Mapping[str, Column], name: str, values: list[Value]
) -> tuple[str, Column | None]:
    unit, most = 1, EXACT
    if isinstance(side, Call) and side.name == "to_float":
        most = 2**53 - 1  # 2**53 + 1 is rounded to 2**53
    if (
        isinstance(side, Call)
        and side.name in ("to_float", "to_timestamp")
        and side.args[0].type is not Type.TEXT
    ):
        unit = DAY if side.args[0].type is Type.DATE else 1
        side = side.args[0]
    column = columns.get(side.name) if isinstance(side, Column) else None
    if column is None:
        return "", None
    if column.type in (Type.TEXT, Type.BOOLEAN):
        return column.name, _by_value(column, name, values)
    places = [None if (numeric := number(value)) is None else numeric / unit for value in values]
    if any(place is None or abs(place) > most for place in places):
        return "", None  # NaN, the infinities and values that doubles round compare in a way of their own
    return column.name, _by_place(column, name, [place for place in places if place is not None])


def _by_value(column: Column, name: str, values: list[Value]) -> Column | None:
    if name == "in" or (name == "eq" and column.span.domain is None):
        if column.span.domain is None:
            return _with(column, of_values(dict.fromkeys(values), nullable=False))
        return _tested(column, lambda value: value in values)
    if column.span.domain is None:
        return None
    return _tested(column, lambda value: TESTS[name](value, values[0]))


def _by_place(column: Column, name: str, places: list[Fraction]) -> Column | None:
    span = column.span
    if span.domain is not None:
        place_of = {value: number(value) for value in span.domain}
        if None in place_of.values():
            return None
        if name == "in":
            return _tested(column, lambda value: place_of[value] in places)
        return _tested(column, lambda value: TESTS[name](place_of[value], places[0]))
    if name in ("in", "eq"):
        kept = sorted({place for place in places if _inside(place, span)})
        if column.type is Type.INTEGER:
            return _with(
                column, of_values([int(place) for place in kept if place.denominator == 1], nullable=False)
            )
        if not kept:
            return _with(column, Span(Fraction(1), Fraction(0), nullable=False))
        exact = len(kept) == 1
        return _with(column, Span(kept[0], kept[-1], nullable=False)) if exact else None
    if name == "ne":
        return None
    place, whole = places[0], column.type in WHOLE
    lo, hi = span.lo, span.hi
    if name in ("lt", "le"):
        end = Fraction(math.floor(place)) if whole else place
        if whole and name == "lt" and end == place:
            end -= 1
        hi = end if hi is None else min(hi, end)
    else:
        end = Fraction(math.ceil(place)) if whole else place
        if whole and name == "gt" and end == place:
            end += 1
        lo = end if lo is None else max(lo, end)
    return _with(column, Span(lo, hi, nullable=False))


def _inside(place: Fraction, span: Span) -> bool:
    return (span.lo is None or span.lo <= place) and (span.hi is None or place <= span.hi)


def _tested(column: Column | None, test: Callable[[Value], bool]) -> Column | None:
    if column is None or column.span.domain is None:
        return None
    return _with(column, of_values([value for value in column.span.domain if test(value)], nullable=False))


def _with(column: Column, span: Span) -> Column:
    return Column(column.name, column.type, span)


def rebuilt(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression over narrowed columns, or others, with the bounds that follow wherever they do from the table."""
    if isinstance(expression, Column):
        return columns.get(expression.name, expression)
    if not isinstance(expression, Call):
        return expression
    return applied(expression, tuple(rebuilt(arg, columns) for arg in expression.args))


def applied(expression: Call, args: tuple[Expression, ...]) -> Call:
    """The same function of other arguments, with the bounds that follow wherever they do from the table."""
    if args == expression.args:
        return expression
    again = None if expression.name in ("case", "in", "clamp") else _again(expression.name, args)
    if again is not None and again.args == args and dict(again.spelling) == dict(expression.spelling):
        return again
    return Call(expression.name, expression.spelling, args, expression.type, expression.span)


def _again(name: str, args: tuple[Expression, ...]) -> Call | None:
    try:
        return call(name, *args)
    except KeyError:
        return None  # made by other means than a line of the table


def _plain_moment(expression: Expression) -> Column | None:
    """The column of moments that an expression is, but for those outside the calendar, which are NULL."""
    while isinstance(expression, Call) and expression.name == "in_years":
        expression = expression.args[0]
    return expression if isinstance(expression, Column) and expression.type is Type.TIMESTAMP else None


def moment_in(expression: Call) -> tuple[str, int | None, list[Fraction]] | None:
    """For a call that cuts a moment to a unit or compares it with literals: the column, the unit, and the literals."""
    grain = moment_grain(expression)
    if grain is not None:
        column = _plain_moment(expression.args[grain[0]])
        return None if column is None else (column.name, grain[1], [])
    if expression.name not in (*MIRRORED, "in"):
        return None
    columns = [column for arg in expression.args if (column := _plain_moment(arg)) is not None]
    values = [arg.value for arg in expression.args if isinstance(arg, Literal) and arg.value is not None]
    if len(columns) != 1 or len(values) != len(expression.args) - 1:
        return None
    places = [number(value) for value in values]
    return (
        None if None in places else (columns[0].name, None, [place for place in places if place is not None])
    )


def uses_of(expression: Expression, name: str, grains: list[int], literals: list[int]) -> None:
    """Collect the units that a column of moments is cut to, and the literals that it is compared with."""
    if not isinstance(expression, Call):
        return
    found = moment_in(expression)
    if found is not None:
        if found[0] == name:
            grains += [] if found[1] is None else [found[1]]
            literals += [math.floor(place) for place in found[2]]
        return
    for arg in expression.args:
        uses_of(arg, name, grains, literals)
