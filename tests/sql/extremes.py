"""The worst values that a column can hold, by logical type, and how to look at an expression over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.duckdb.connection import connect, make_total
from discreet.engines.duckdb.hexagons import provide
from discreet.engines.hexagons import NAME
from discreet.engines.schema import LIST_OF, Type, arrow_type
from discreet.quoting import quote
from discreet.sql.algebra.catalog import scan_of
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Expression, leaves, spell
from discreet.sql.expressions.span import BOOLEANS, Span, number

NAN, INF = float("nan"), float("inf")
DAY = 86_400_000_000
INTEGERS = [None, 0, 1, -1, 2, 7, -40, 255, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [
    None, NAN, INF, -INF, 0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 0.1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e15, 2.0**53 + 2,
    2.0**63, -(2.0**63), 1e300, 1e308, -1e308,
]  # fmt: skip
TEXTS = [
    None, "", " ", "x", "X", "z", "nan", "NaN", "inf", "-Infinity", "1e400", "-1e400", "12", "-0", "1e3", " 7 ", "0x10",
    "1_000", "1,5", "99999999999999999999", "9223372036854775807", "true", "2020-02-29", "2020-02-30", "infinity",
    "-infinity", "5000000-01-01", "0044-03-15 (BC)", "10:00", "e\u0301", "\u00df", "\u0130", "\u202e", "\U0001f600",
    "\u0661", "%", "_", "\\", "'", '"', "a\nb", "a\0b", "{0}", "x' OR 1=1 --", "x" * 3000,
]  # fmt: skip
BOOLS = [None, True, False]
DATES = [None, 0, -1, 18_321, -719_162, 2_932_896, 2_932_897, 106_751_991, 106_751_992, -106_751_992, 2**31 - 2,
         -(2**31) + 2, 2**31 - 1, -(2**31) + 1]  # fmt: skip
"""Days from 1970-01-01; the two outermost are DuckDB's infinities, beside them its first and last day."""
STAMPS = [None, 0, -1, 1, 1_583_000_000_123_456, 253_402_300_799_999_999, -62_135_596_800_000_000, 2**63 - 2,
          -9_223_372_022_400_000_000, 2**63 - 1, -(2**63) + 1]  # fmt: skip
"""Microseconds from 1970-01-01; the two outermost are DuckDB's infinities, beside them its first and last moment."""
WORST: dict[Type, list[Any]] = {
    Type.INTEGER: INTEGERS, Type.FLOAT: FLOATS, Type.TEXT: TEXTS, Type.BOOLEAN: BOOLS, Type.DATE: DATES,
    Type.TIMESTAMP: STAMPS,
}  # fmt: skip
WORST |= {
    kind: [None, [], [None], [None, *WORST[item], None], *([value, value] for value in WORST[item][1:])]
    for item, kind in LIST_OF.items()
}
BOUNDS: dict[Type, list[tuple[Fraction, Fraction] | None]] = {
    Type.INTEGER: [None, (Fraction(-5), Fraction(20)), (Fraction(1), Fraction(2**40)),
                   (Fraction(-(2**62)), Fraction(2**62))],
    Type.FLOAT: [None, (Fraction(-5, 2), Fraction(4)), (Fraction(1, 8), Fraction(10**9)),
                 (Fraction(-(10**299)), Fraction(10**299))],
    Type.TEXT: [None],
    Type.BOOLEAN: [None],
    Type.DATE: [None, (Fraction(18_262), Fraction(18_627))],
    Type.TIMESTAMP: [None, (Fraction(0), Fraction(18_627 * DAY))],
}  # fmt: skip
BOUNDS |= {kind: [None] for kind in LIST_OF.values()}


def array(kind: Type, values: Sequence[Any]) -> pa.Array:
    """Values of a type; NaN stays NaN, and dates are any 32-bit number of days."""
    if kind.item is not None:
        flat = array(kind.item, [value for one in values for value in one or []])
        ends = pa.array([0, *itertools.accumulate(len(one or []) for one in values)], pa.int32())
        return pa.ListArray.from_arrays(ends, flat, mask=pa.array([one is None for one in values]))
    if kind is Type.DATE:
        return pa.array(values, pa.int32()).cast(pa.date32())
    if kind is Type.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us"))
    return pa.array(values, arrow_type(kind), from_pandas=False)


def scanned(name: str, kind: Type, bounds: tuple[Fraction, Fraction] | None) -> Expression:
    """A column as a private table is scanned, with or without bounds."""
    span = Span() if bounds is None else Span(*bounds)
    return scan_of(name, kind, bounds, BOOLEANS if kind is Type.BOOLEAN else span)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """A connection with the settings of the engine."""
    made = connect()
    make_total(made)
    provide(made, NAME)
    return made


@cache
def product(kinds: tuple[Type, ...]) -> pa.Table:
    """Every combination of the worst values of some types, a column each."""
    sizes = [len(WORST[kind]) for kind in kinds]
    places = np.unravel_index(np.arange(math.prod(sizes)), sizes) if kinds else ()
    columns = [array(kind, WORST[kind]).take(pa.array(at)) for kind, at in zip(kinds, places, strict=True)]
    return pa.table(columns, [f"c{at}" for at in range(len(kinds))])


@cache
def registered(kinds: tuple[Type, ...]) -> str:
    """The name of a table of that product, or of one row."""
    name = "_".join(["worst", *(kind.name.lower() for kind in kinds)])
    connection().register(name, product(kinds) if kinds else pa.table({"one": [1]}))
    return quote(name)


def evaluate(expression: Expression) -> pa.ChunkedArray:
    """The values of an expression over the product of the worst values of its columns; errors surface as they are."""
    return _evaluated([expression])[0]


def _evaluated(expressions: Sequence[Expression]) -> list[pa.ChunkedArray]:
    """The same of several over the same columns, in one query."""
    columns = {column.name: column for column in leaves(expressions[0])}
    worst = registered(tuple(column.type for column in columns.values()))
    renamed = ", ".join(f"c{at} AS {quote(name)}" for at, name in enumerate(columns)) or "1 AS one"
    listed = ", ".join(f"{spell(one, DUCKDB)} AS v{at}" for at, one in enumerate(expressions))
    found = connection().sql(f"SELECT {listed} FROM (SELECT {renamed} FROM {worst})").to_arrow_table()
    return list(found.columns)


def broken(expression: Expression) -> list[str]:
    """What is wrong with the values of an expression: type, NULL, NaN, or a value outside its span."""
    return _broken(expression, evaluate(expression))


def broken_each(expressions: Sequence[Expression]) -> list[list[str]]:
    """The same of several, those over the same columns in one query."""
    shapes: dict[tuple[tuple[str, Type], ...], list[int]] = {}
    for at, one in enumerate(expressions):
        shape = tuple({column.name: column.type for column in leaves(one)}.items())
        shapes.setdefault(shape, []).append(at)
    problems: dict[int, list[str]] = {}
    for places in shapes.values():
        alike = [expressions[at] for at in places]
        for at, one, values in zip(places, alike, _evaluated(alike), strict=True):
            problems[at] = _broken(one, values)
    return [problems[at] for at in range(len(expressions))]


def _broken(expression: Expression, values: pa.ChunkedArray) -> list[str]:
    span, problems = expression.span, []
    item = expression.type.item
    if item is None:
        values = values.unique()  # each value once, which is all that is looked at
    kind = values.type.value_type if item is not None else values.type
    if kind != arrow_type(item or expression.type):
        problems.append(f"type {values.type}")
    if values.null_count and not span.nullable:
        problems.append("NULL where the span knows none")
    if item is not None:
        ends = pc.list_value_length(values)
    elif expression.type is Type.DATE:
        ends = values.cast(pa.int32())
    elif expression.type is Type.TIMESTAMP:
        ends = values.cast(pa.int64())
    else:
        if expression.type is Type.FLOAT:
            nan = pc.is_nan(values)
            if pc.any(nan).as_py():
                problems.append("NaN")
            values = values.filter(pc.invert(nan))
        if span.domain is not None and not set(values.to_pylist()) - {None} <= set(span.domain):
            problems.append("a value outside the domain")
        if expression.type not in (Type.INTEGER, Type.FLOAT):
            return problems
        ends = values
    # The least and the greatest of tens of thousands of values: as fractions all of them would take seconds.
    known = [_exact(end) for end in pc.min_max(ends).as_py().values() if end is not None]
    # A floating-point result may differ from the exact one by some units in the last place.
    edges = [abs(edge) for edge in (span.lo, span.hi) if edge is not None]
    slack = max(edges, default=Fraction(0)) / 10**12 if expression.type is Type.FLOAT else Fraction(0)
    if span.lo is not None and known and min(known) < span.lo - slack:
        problems.append(f"{_short(min(known))} below {_short(span.lo)}")
    if span.hi is not None and known and max(known) > span.hi + slack:
        problems.append(f"{_short(max(known))} above {_short(span.hi)}")
    return problems


def _exact(value: Any) -> Fraction:
    """A number as a fraction, and an infinite one as something beyond all spans."""
    if value in (INF, -INF):
        return Fraction(10) ** 400 * (1 if value > 0 else -1)
    exact = number(value)
    assert exact is not None
    return exact


def _short(value: Fraction) -> str:
    return f"{float(value)!r}" if abs(value) < 10**308 else "something huge"
