"""The public keys of a GROUP BY: derived from the policy and the text, never from the data."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.schema import Type
from discreet.query.expression import Call, Column, Expression, Literal, replace, spell
from discreet.query.functions.dates import FIRST, LAST, grain_of
from discreet.query.functions.numbers import decimal_place
from discreet.query.span import EPOCH, MICROSECOND, Span, Value

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELLS = 10_000_000
"""The largest number of groups of one query."""
MAX_EVALUATED = 1_000_000
"""The largest public domain over which an expression is evaluated to find its values."""


@dataclass(frozen=True, slots=True)
class Key:
    """One expression of GROUP BY.

    Attributes:
        expression: over the rows.
        values: every value that is answered, in order; a row with another value is dropped.
    """

    expression: Expression
    values: tuple[Value, ...]

    def arrow(self) -> pa.Array:
        """The values as an Arrow array of the type that the engine's expression has."""
        import pyarrow as pa

        return pa.array(self.values, type=arrow_type(self.expression.type))

    def range(self) -> tuple[int, int] | None:
        """First value and count when the values are consecutive integers."""
        if self.expression.type is not Type.INTEGER:
            return None
        first = int(self.values[0])  # type: ignore[arg-type]
        consecutive = all(value == first + at for at, value in enumerate(self.values))
        return (first, len(self.values)) if consecutive else None


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a logical type."""
    import pyarrow as pa

    return {
        Type.INTEGER: pa.int64(),
        Type.FLOAT: pa.float64(),
        Type.BOOLEAN: pa.bool_(),
        Type.TEXT: pa.string(),
        Type.DATE: pa.date32(),
        Type.TIMESTAMP: pa.timestamp("us"),
    }[kind]


@lru_cache(maxsize=256)
def public_values(expression: Expression) -> tuple[Value, ...] | None:
    """Every value but NULL that an expression can take, when they are public and few; None otherwise.

    Known from the text (a CASE of literals, a comparison), or by evaluating the expression over the product of
    the public domains of the parts it is made of: listed keys, bounded integers, booleans, bounded dates, bounded
    moments cut to a month, day, hour, …, bounded numbers rounded to some digits.
    """
    if expression.span.domain is not None:
        return _ordered(expression.span.domain)
    parts = _parts(expression)
    if parts is None:
        return None
    domains = [
        (*part_values, None) if part.span.nullable else part_values for part, part_values in parts.items()
    ]
    if math.prod(len(d) for d in domains) > MAX_EVALUATED:
        # Too many combinations to try; consecutive integers will do when they are few enough.
        return _consecutive(expression, MAX_CELLS)
    if list(parts) == [expression]:
        return _ordered(parts[expression])
    return _evaluate(expression, list(parts), domains)


def _parts(expression: Expression) -> dict[Expression, tuple[Value, ...]] | None:
    """The smallest parts of an expression whose public values are known, that cover all its columns."""
    if isinstance(expression, Literal):
        return {}
    if isinstance(expression, Column):
        values = column_values(expression.span, expression.type)
        return None if values is None else {expression: values}
    found: dict[Expression, tuple[Value, ...]] = {}
    for arg in expression.args:
        inner = _parts(arg)
        if inner is None:
            values = column_values(expression.span, expression.type) or _rounded(expression)
            return None if values is None else {expression: values}
        found.update(inner)
    return found


def _rounded(expression: Call) -> tuple[Value, ...] | None:
    """The values of what rounds a bounded moment to its month, hour, …, or a bounded number to some digits."""
    if expression.name in ("round_to", "trunc_to"):
        return _decimals(expression)
    grain = grain_of(expression)
    if grain is None or not expression.span.within(int(FIRST[Type.TIMESTAMP]), int(LAST[Type.TIMESTAMP])):
        return None
    at, step = grain
    moment = expression.args[at]
    if moment.span.lo is None or moment.span.hi is None or moment.span.width >= step * MAX_EVALUATED:
        return None
    # Every month, hour, … within the bounds holds one of these: none is shorter than a step.
    first, last = math.ceil(moment.span.lo), math.floor(moment.span.hi)
    sample = [*range(first, last, step), last]
    moments: tuple[Value, ...] = tuple(dt.datetime(1970, 1, 1) + MICROSECOND * one for one in sample)
    return _evaluate(expression, [moment], [moments])


def _decimals(expression: Call) -> tuple[Value, ...] | None:
    """All multiples of 10^-n within the bounds, as the engine computes them."""
    span, digits = expression.args[0].span, expression.args[1]
    if (
        span.lo is None
        or span.hi is None
        or not isinstance(digits, Literal)
        or not isinstance(digits.value, int)
    ):
        return None
    ten = Fraction(10) ** digits.value
    first, last = math.floor(span.lo * ten), math.ceil(span.hi * ten)
    if last - first >= MAX_EVALUATED or max(abs(first), abs(last)) > 2**53:
        return None
    return tuple(decimal_place(k, digits.value) for k in range(first, last + 1))


def column_values(span: Span, kind: Type) -> tuple[Value, ...] | None:
    """Every value of a column that is listed, boolean, or a bounded integer or date."""
    if span.domain is not None:
        return span.domain
    if kind is Type.DATE and span.lo is not None and span.hi is not None and span.width <= MAX_EVALUATED:
        days = range(int(span.lo), int(span.hi) + 1)
        return tuple(EPOCH + MICROSECOND * 86_400_000_000 * day for day in days)
    return _consecutive(Column("", kind, span), MAX_EVALUATED)


def _consecutive(expression: Expression, most: int) -> tuple[Value, ...] | None:
    span = expression.span
    if expression.type is not Type.INTEGER or span.lo is None or span.hi is None or span.width >= most:
        return None
    return tuple(range(math.ceil(span.lo), math.floor(span.hi) + 1))


def _evaluate(
    expression: Expression, parts: list[Expression], domains: list[tuple[Value | None, ...]]
) -> tuple[Value, ...]:
    """Evaluate an expression over the product of public domains, in a sandbox that sees no data."""
    import pyarrow as pa

    from discreet.engines.sandbox import Sandbox

    lengths = [len(d) for d in domains]
    grid = np.indices(lengths).reshape(len(lengths), -1)
    stand_ins: dict[Expression, Expression] = {
        part: Column(f"p{at}", part.type, part.span) for at, part in enumerate(parts)
    }
    table = pa.table(
        {
            f"p{at}": pa.array(domain, type=arrow_type(part.type)).take(pa.array(grid[at]))
            for at, (part, domain) in enumerate(zip(parts, domains, strict=True))
        }
    )
    sql = f"SELECT DISTINCT {spell(replace(expression, stand_ins), 'duckdb')} AS v FROM p"
    with Sandbox({"p": table}) as sandbox:
        values = sandbox.run(sql).column("v").drop_null().to_pylist()
    return _ordered(values)


def _ordered(values: Iterable[Value]) -> tuple[Value, ...]:
    """Listed keys keep their order; numbers and dates that were computed are sorted."""
    if isinstance(values, tuple):
        return tuple(dict.fromkeys(values))
    return tuple(sorted(values))


def cells(keys: tuple[Key, ...]) -> int:
    """The number of groups."""
    return math.prod(len(key.values) for key in keys)


def table(keys: tuple[Key, ...]) -> dict[str, pa.Array]:
    """The key columns k0, k1, … of all groups, the last key running fastest."""
    import pyarrow as pa

    lengths = [len(key.values) for key in keys]
    total = math.prod(lengths)
    out: dict[str, pa.Array] = {}
    inner = total
    for at, key in enumerate(keys):
        inner //= lengths[at]
        index = np.tile(np.repeat(np.arange(lengths[at]), inner), total // (lengths[at] * inner))
        out[f"k{at}"] = key.arrow().take(pa.array(index))
    return out


def labels(keys: tuple[Key, ...]) -> Iterable[tuple[Value, ...]]:
    """The groups one by one, in the order of `table`."""
    return itertools.product(*(key.values for key in keys))


__all__ = ["MAX_CELLS", "Call", "Key", "cells", "column_values", "labels", "public_values", "table"]
