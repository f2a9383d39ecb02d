"""Every line of the function table, on awkward values, as integers: generated, so that no new line can be forgotten."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.expressions import span as sp
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.measures.measure import Moments, ValueGrid, grid_of

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
_PLACES = {I: "ij", F: "fg", T: "cd", B: "be", D: "nm", S: "yx"}
_BOUNDED = {I: "a", F: "p", D: "m", S: "x"}
_OTHERS: dict[Type, tuple[object, ...]] = {
    F: (0.5, 3.0), I: (3,), T: ("e",), B: (True,), D: (dt.date(2020, 2, 29),), S: (dt.datetime(2020, 2, 29, 23, 59, 59),),
}  # fmt: skip
"""A literal of each type, for the second argument."""


def expressions(catalog: Catalog) -> dict[str, Expression]:
    """Expressions over a row of `t`, by name: every line of the table, and the forms beside it."""
    found: dict[str, Expression] = {}
    for name, expression in _expressions(catalog):
        found.setdefault(name, expression)
    return found


def _expressions(catalog: Catalog) -> Iterator[tuple[str, Expression]]:
    columns = catalog.private["t"].columns

    def column(name: str) -> Column:
        return Column(name, columns[name].type, columns[name].scan.span)

    for kind, letters in _PLACES.items():
        yield f"list of {kind.name}", fn.listed([column(letters[0]), column(letters[1]), Literal(None, kind)])

    for name, lines in fn.TABLE.items():
        for line in lines:
            for args in _arguments(name, line, column):
                result = fn.call(name, *args)
                if result is not None:
                    yield f"{name}, {line.usage}: {_said(args)}", result
    for kind, letters in _PLACES.items():
        first, second = (column(letter) for letter in letters)
        literal = Literal(_OTHERS[kind][0], kind)  # type: ignore[arg-type]
        for name in fn.VARIADIC:
            yield f"{name} of {_said((first, second))}", fn.variadic(name, [first, second, literal])
        flag = column("b" if kind is not B else "e")
        yield f"case of {letters}", fn.case([(flag, first)], second)
        yield f"case without else of {letters}", fn.case([(flag, first)], Literal(None, kind))
        yield f"in of {letters}", fn.among(first, [literal, Literal(None, kind)])
    yield "joined texts", fn.join([column("c"), column("d"), Literal("-", T)])
    yield "joined texts with a separator", fn.join([column("c"), column("d")], Literal("/", T))
    for letter in "ijafgp":
        yield f"clamp of {letter}", fn.clamp(column(letter), Fraction(-3), Fraction(17, 2))


def _arguments(name: str, line: fn.Function, column: object) -> Iterator[tuple[Expression, ...]]:
    choices: list[list[Expression]] = []
    assert callable(column)
    for index, kind in enumerate(line.takes):
        if index in line.literals:
            choices.append([Literal(value, kind) for value in line.literals[index].examples])
        elif kind.item is not None:
            items = [column(letter) for letter in _PLACES[kind.item]]
            choices.append([fn.listed(items), fn.listed([items[0], items[0], Literal(None, kind.item)])])
        elif index == 0:
            choices.append(
                [column(letter) for letter in (_PLACES[kind][0], _BOUNDED.get(kind, _PLACES[kind][1]))]
            )
        else:
            # Beside a free argument one column and one literal will do; a bounded argument has another spelling.
            fixed = [Literal(value, kind) for value in _OTHERS[kind]]  # type: ignore[arg-type]
            choices.append([column(_PLACES[kind][1]), column(_BOUNDED.get(kind, _PLACES[kind][1])), *fixed])
    if name in ("like", "ilike"):
        choices[1] = [
            Literal(pattern, T)
            for pattern in ("%", "_x%", "", "\\", "%\\%", "X", "%k%", "\u0130%", "a\\%b", "%x%_%k")
        ]
    if name == "power":
        choices[1] += [Literal(value, F) for value in (-1.0, 0.0, 2.0, 3.0)]
    if len(line.literals) > 1:
        return _diagonal(choices)
    if len(choices) == 2 and not line.literals and name != "power":
        # Both free, both bounded, and a free one beside a literal: there is no other spelling to be seen.
        (free, bounded), (other, other_bounded, *literals) = choices
        return iter([(free, other), (bounded, other_bounded), *((free, literal) for literal in literals)])
    return itertools.product(*choices)


def _diagonal(choices: list[list[Expression]]) -> Iterator[tuple[Expression, ...]]:
    """Every choice in some combination, instead of all combinations."""
    for index in range(3 * max(len(some) for some in choices)):
        yield tuple(
            some[(index * (place + 1) + index // len(some)) % len(some)] for place, some in enumerate(choices)
        )


def _said(args: tuple[Expression, ...]) -> str:
    return " and ".join(
        arg.name
        if isinstance(arg, Column)
        else f"{len(arg.args)} {arg.type.name}"
        if isinstance(arg, Call)
        else repr(arg.value)[:40]
        for arg in args
    )


def covered(catalog: Catalog) -> set[tuple[str, int]]:
    """Which lines of the table the expressions reach, as name and place."""
    reached = set()
    for expression in expressions(catalog).values():
        call = expression
        if isinstance(call, Call) and call.name == "no_nan" and isinstance(call.args[0], Call):
            reached.add(("no_nan", 0))
            call = call.args[0]
        if isinstance(call, Call) and call.name in fn.TABLE:
            kinds = tuple(arg.type for arg in call.args)
            for index, line in enumerate(fn.TABLE[call.name]):
                if line.takes == kinds and line.gives is call.type and line.spelling[""] == call.spelling[""]:
                    reached.add((call.name, index))
    return reached


def measures(expression: Expression) -> list[Moments]:
    """Measures that show the value of an expression in a group of one row, as exactly as integers can."""
    return [
        Moments(0, expression, None, False),
        *(Moments(-1, number, grid, False) for number, grid in _grids(expression)),
    ]


_Bounds: TypeAlias = tuple[tuple[int, int], ...]
_EXACT: _Bounds = ((-(10**6), 10**6),)
"""Within them an integer is its own grid, and every value is told apart."""
_WIDE: _Bounds = ((-(2**62), 2**62),)
_REALS: _Bounds = ((-4, 4), *_WIDE, (-(10**280), 10**280))


def _grids(expression: Expression) -> dict[tuple[Expression, ValueGrid], None]:
    """Numbers of an expression and their grids, each once. A measure clamps to the bounds of its grid."""
    return {
        (number, grid_of(fn.clamp(number, Fraction(lo), Fraction(hi)), -1, Fraction(1))): None
        for number, bounds in _numbers(expression)
        for lo, hi in bounds
    }


def _numbers(expression: Expression) -> list[tuple[Expression, _Bounds]]:
    """Numbers that show a value, and the bounds to which each is clamped, one pair after the other."""
    kind = expression.type
    if kind.item is not None:
        items = [fn.must("nth_item", expression, Literal(place, I)) for place in (1, 2)]
        return [
            (fn.must("len", expression), ((0, 100),)),
            *(number for item in items for number in _numbers(item)),
        ]
    if kind is I:
        if sp.clamp(expression.span, *map(Fraction, _EXACT[0])) == expression.span:
            return [(expression, _EXACT)]
        low = fn.must("remainder", expression, Literal(2**20, I))
        return [(expression, _EXACT + _WIDE), (low, ((-(2**20), 2**20),))]
    if kind is F:
        return [(expression, _REALS)]
    if kind is B:
        return [(fn.must("to_integer", expression), ((0, 1),))]
    if kind is D:
        days = fn.must("days_between", expression, Literal(dt.date(2000, 1, 1), D))
        return [(days, ((-(10**6), 3 * 10**6),))]
    if kind is S:
        seconds = fn.must("date_diff_second", Literal(dt.datetime(2000, 1, 1), S), expression)
        micros = fn.must("remainder", fn.must("date_diff_microsecond", Literal(dt.datetime(2000, 1, 1), S), expression),
                       Literal(10**6, I))  # fmt: skip
        days = fn.must("date_diff_day", Literal(dt.datetime(2000, 1, 1), S), expression)
        return [
            (days, ((-(10**6), 3 * 10**6),)),
            (fn.must("remainder", seconds, Literal(86400, I)), ((-86400, 86400),)),
            (micros, ((-(10**6), 10**6),)),
        ]
    pieces = [fn.must("substring", expression, Literal(index, I), Literal(1, I)) for index in (1, 2, 3, 5)]
    pieces.append(fn.must("right", expression, Literal(1, I)))
    points = [(fn.must("ascii", piece), ((0, 0x10FFFF),)) for piece in pieces]
    return [*points, (fn.must("strlen", expression), ((0, 10**6),))]
