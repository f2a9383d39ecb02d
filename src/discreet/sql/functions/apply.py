"""Applies functions of the table to expressions: widening, guards and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.engines.schema import LIST_OF, Type
from discreet.sql.expressions import span as sp
from discreet.sql.expressions.clamping import clamped
from discreet.sql.expressions.expression import EVERYWHERE, Call, Expression, Literal, is_null_literal
from discreet.sql.expressions.span import Span, Value
from discreet.sql.functions import dates, numbers, shifts
from discreet.sql.functions.every_line import TABLE, VARIADIC
from discreet.sql.functions.table import INT64, B, D, F, Function, I, S, T, truth

CALM = 10**300
"""Beyond this a product of two doubles may be infinite, and their difference NaN."""
FAR = 10**600
"""Beyond this an end of a span is none: no double is as large, and each product would double its digits."""
MOST_PIECES = 20
"""The most texts that are joined by one call."""


def call(name: str, *args: Expression) -> Call | None:
    """Apply a function of the table; None when it has no line for these arguments.

    Integers are widened to floats, and dates to time stamps, where no line takes them unchanged or where the
    result could leave 64 bits. A time stamp is narrowed to its date where only the date matters: days can be
    listed as public keys, moments cannot.
    """
    if name in dates.DAY_PARTS or name in ("dayname", "monthname", "last_day"):
        args = tuple(_to_date(arg) if arg.type is S else arg for arg in args)
    if name == "strftime" and len(args) == 2 and isinstance(args[1], Literal):
        args = (_to_finest(args[0], args[1].value), args[1])
    for line in TABLE[name]:
        if len(line.takes) != len(args):
            continue
        widened = [widen(arg, wanted) for arg, wanted in zip(args, line.takes, strict=True)]
        ready = tuple(_guarded(line, arg) for arg in widened if arg is not None)
        if len(ready) < len(args) or not all(allowed(line, index, arg) for index, arg in enumerate(ready)):
            continue
        span = line.bounds(*(arg.span for arg in ready))
        if line.gives is I and name in numbers.OVERFLOW and not span.within(-INT64, INT64):
            continue  # the line for floats comes next
        if line.gives is not F:
            return Call(name, line.spelling, ready, line.gives, span)
        result = Call(name, line.spelling, ready, F, _as_doubles(span))
        calm = all(_calm(argument.span) for argument in (result, *ready) if argument.type is F)
        if calm and name in ("add", "subtract"):
            # No sum of such numbers is too large or too small for a double.
            plain = {"": line.spelling[""], EVERYWHERE: ""}
            return Call(name, plain, ready, F, result.span)
        if name != "no_nan" and not calm:
            return Call("no_nan", TABLE["no_nan"][0].spelling, (result,), F, result.span.null())
        return result
    return None


def allowed(line: Function, index: int, arg: Expression) -> bool:
    """Whether an argument is the literal that the line asks for at that place, if it asks for one."""
    rule = line.literals.get(index)
    return rule is None or (isinstance(arg, Literal) and arg.value is not None and rule.allows(arg.value))


def _guarded(line: Function, arg: Expression) -> Expression:
    """The argument as the line can take it: moments within the calendar, texts of bounded length."""
    if arg.type in (D, S) and line.name in dates.GUARDED and not _in_years(arg):
        return must("in_years", arg)
    if line.shortens and arg.type is T and not isinstance(arg, Literal) and not _short(arg):
        return must("cut", arg)
    return arg


def _in_years(arg: Expression) -> bool:
    """Whether a moment surely lies within the years 1 to 9999."""
    if isinstance(arg, Literal) or arg.span.within(int(dates.FIRST[arg.type]), int(dates.LAST[arg.type])):
        return True
    if not isinstance(arg, Call):
        return False
    return arg.name in dates.KEEPS_YEARS or (
        arg.name in ("to_date", "to_timestamp") and arg.args[0].type in (D, S) and _in_years(arg.args[0])
    )


def _short(arg: Expression) -> bool:
    """Whether a text is surely not longer than a few hundred characters."""
    if arg.span.domain is not None:
        return True
    known = ("dayname", "monthname", "strftime", "lpad", "cut")
    return isinstance(arg, Call) and (
        arg.name in known or (arg.name == "to_text" and arg.args[0].type is not T)
    )


def must(name: str, *args: Expression) -> Call:
    """Apply a function of the table that has a line for these arguments for certain."""
    result = call(name, *args)
    assert result is not None
    return result


def _to_date(moment: Expression) -> Expression:
    if isinstance(moment, Call) and moment.name == "to_timestamp" and moment.args[0].type is D:
        return moment.args[0]
    return must("to_date", moment)


def _to_finest(moment: Expression, pattern: object) -> Expression:
    """A moment without the parts that a format does not show."""
    unit = shifts.finest(pattern) if isinstance(pattern, str) else None
    if moment.type is not S or unit is None or isinstance(moment, Literal):
        return moment
    return _to_date(moment) if unit == "day" else must(f"date_trunc_{unit}", moment)


def variadic(name: str, args: list[Expression]) -> Call:
    """Apply a variadic function to arguments of one type."""
    line = VARIADIC[name]
    return Call(name, {"": line.sql}, tuple(args), args[0].type, line.bounds([arg.span for arg in args]))


def join(pieces: Sequence[Expression], separator: Literal | None = None) -> Call:
    """concat(a, b, …) and concat_ws('-', a, b, …) of texts: NULLs are passed over."""
    line = TABLE["concat"][0]
    short = [_guarded(line, piece) for piece in pieces]
    if separator is None:
        return Call("concat_all", {"": "concat({*})"}, tuple(short), T, Span(nullable=False))
    return Call("concat_ws", {"": "concat_ws({*})"}, (separator, *short), T, Span(nullable=False))


def case(branches: list[tuple[Expression, Expression]], otherwise: Expression) -> Call:
    """CASE WHEN … THEN … ELSE … END; results of one type."""
    parts: list[Expression] = []
    text = "CASE"
    for index, (condition, result) in enumerate(branches):
        parts += [condition, result]
        text += f" WHEN {{{2 * index}}} THEN {{{2 * index + 1}}}"
    text += f" ELSE {{{2 * len(branches)}}} END"
    results = [result for _, result in branches] + [otherwise]
    kind = next((r.type for r in results if not is_null_literal(r)), results[0].type)
    span = sp.hull(r.span for r in results)
    return Call("case", {"": f"({text})"}, (*parts, otherwise), kind, span)


def listed(items: Sequence[Expression]) -> Call:
    """`[a, b, …]` of expressions of one type: as many items as are written."""
    many, kind = Fraction(len(items)), LIST_OF[items[0].type]
    span = Span(many, many, False, items=sp.hull(item.span for item in items))
    return Call("list_value", {"": "[{*}]"}, tuple(items), kind, span)


def clamp(operand: Expression, lo: Fraction, hi: Fraction) -> Call:
    """Clamp a number to literal bounds: the nearest value within them, and NULL for NaN."""
    if operand.type is I:
        # Bounds beyond 64 bits clamp nothing, and a cast of them would fail as soon as there is a row.
        least, most = (max(min(end, INT64), -INT64 - 1) for end in (math.ceil(lo), math.floor(hi)))
        ends = [f"CAST({least} AS BIGINT)", f"CAST({most} AS BIGINT)"]
        span = sp.clamp(operand.span, Fraction(least), Fraction(most))
    else:
        ends = [f"CAST('{float(end)!r}' AS DOUBLE)" for end in (lo, hi)]
        span = sp.clamp(operand.span, Fraction(float(lo)), Fraction(float(hi))).null()
    text = f"({clamped('{0}', *ends, exact=operand.type is I)})"
    return Call("clamp", {"": text}, (operand,), operand.type, span)


def clamp_moment(operand: Expression, lo: Literal, hi: Literal) -> Call:
    """Clamp a date or a time stamp to literals of its type: the nearest moment within them."""
    below, above = must("lt", operand, lo), must("gt", operand, hi)
    plain = case([(below, lo), (above, hi)], operand)
    span = sp.clamp(operand.span, lo.span.lo, hi.span.lo)
    return Call(plain.name, plain.spelling, plain.args, operand.type, span)


def among(operand: Expression, values: list[Expression]) -> Call:
    """`a IN (b, c, …)` with literals."""
    text = "({0} IN (" + ", ".join(f"{{{index + 1}}}" for index in range(len(values))) + "))"
    return Call("in", {"": text}, (operand, *values), B, truth(operand.span, *(v.span for v in values)))


def one_of(operand: Expression, values: Sequence[Value | None]) -> Expression | None:
    """Whether it has one of some values, of which NULL may be one; None where there are none."""
    null = must("is_null", operand) if None in values else None
    known: list[Expression] = [Literal(value, operand.type) for value in values if value is not None]
    if not known:
        return null
    inside = among(operand, known)
    return inside if null is None else must("or", inside, null)


def widen(arg: Expression, wanted: Type) -> Expression | None:
    """The argument as the wanted type where that loses nothing; None otherwise."""
    if arg.type is wanted:
        return arg
    if is_null_literal(arg):
        return Literal(None, wanted)
    if (arg.type, wanted) == (I, F):
        if isinstance(arg, Literal):
            return arg.then(_as_float)
        return Call("to_float", {"": "CAST({0} AS DOUBLE)"}, (arg,), F, _as_doubles(arg.span))
    if (arg.type, wanted) == (D, S):
        return call("to_timestamp", arg)
    return None


def _as_float(literal: Literal) -> Literal:
    return Literal(float(literal.value), F)  # type: ignore[arg-type]


def common_type(kinds: list[Type]) -> Type | None:
    """The least type that all of these widen to; None when there is none."""
    if len(set(kinds)) == 1:
        return kinds[0]
    if set(kinds) == {I, F}:
        return F
    if set(kinds) == {D, S}:
        return S
    return None


def _calm(span: Span) -> bool:
    return span.within(-CALM, CALM)


def _as_doubles(span: Span) -> Span:
    """The ends as an engine rounds them: rounding to doubles is increasing, so no result passes a rounded end."""
    if not _calm(span):
        far = any(end is not None and abs(end) > FAR for end in (span.lo, span.hi))
        return Span(None, None, span.nullable, span.domain) if far else span
    return Span(Fraction(float(span.lo or 0)), Fraction(float(span.hi or 0)), span.nullable, span.domain)
