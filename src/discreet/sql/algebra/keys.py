"""The public keys of a GROUP BY: derived from the policy and the text, never from the data."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow, far
from discreet.engines.schema import Type, arrow_type
from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.release.noisy_schema import key_name
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.canonical import distinct
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, replace, spell
from discreet.sql.expressions.span import EPOCH, MICROSECOND, Span, Value
from discreet.sql.functions.dates import FIRST, LAST, grain_of
from discreet.sql.functions.numbers import decimal_place
from discreet.sql.functions.places import hexagons

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MAX_CELLS = 10_000_000
"""The largest number of groups of one query."""
PLANNED = 1000
"""How many groups a plan reckons with where they must be found first: it decides the size of trees, not the cost."""
FEW = 1 << 15
"""Up to so many groups their keys are spread out in Python, which is sooner done than PyArrow's kernels are loaded."""
MAX_EVALUATED = 1_000_000
"""The largest public domain over which an expression is evaluated to find its values."""


@dataclass(frozen=True)
class Key:
    """One expression of GROUP BY.

    Attributes:
        expression: over the rows.
        values: every value that is answered, in order, None where NULL is a group; a row with another value is
            dropped. Keys that are not public have none until they are found, and then those of the found groups, one
            for each group: the unknown keys of a release run side by side, while public ones are combined with
            everything.
        public: whether the values are known from the policy and the text.
        block: public keys of one block run side by side, too, one value for each of their groups: not every
            combination of them can have rows. None for a key that is combined with everything.
    """

    expression: Expression
    values: tuple[Value | None, ...]
    public: bool = True
    block: int | None = None

    def arrow(self) -> pa.Array:
        """The values as an Arrow array of the type that the engine's expression has."""
        return self._array

    @cached_property
    def _array(self) -> pa.Array:
        return arrow.listed(self.values, arrow_type(self.expression.type))  # there may be a million of them

    @cached_property
    def plain(self) -> bool:
        """Whether the values are numbers of 64 bits, which need no detour through their places."""
        return self.expression.type in (Type.INTEGER, Type.FLOAT) and None not in self.values

    def range(self) -> tuple[int, int] | None:
        """First value and count when the values are consecutive integers."""
        return self._range

    @cached_property
    def _range(self) -> tuple[int, int] | None:
        """Worked out once: the SQL of a question asks for it several times, and there may be millions of values."""
        if self.expression.type is not Type.INTEGER or not self.public or self.block is not None:
            return None
        if None in self.values:
            return None
        first = int(self.values[0])  # type: ignore[arg-type]
        consecutive = all(map(operator.eq, self.values, itertools.count(first)))
        return (first, len(self.values)) if consecutive else None


@lru_cache(maxsize=256)
def public_values(expression: Expression) -> tuple[Value, ...] | None:
    """Every value but NULL that an expression can take, when they are public and few; None otherwise.

    Known from the text (a CASE of literals, a comparison), or by evaluating the expression over the product of
    the public domains of the parts it is made of: listed keys, bounded integers, booleans, bounded dates, bounded
    moments cut to a month, day, hour, …, bounded numbers rounded to some digits.
    """
    listed = expression.span.domain
    if listed is not None and not isinstance(expression, Call):
        return distinct(listed, expression.type)
    parts = _parts(expression)
    if listed is not None:
        # All that it can say, as of a CASE its branches; of public columns it may never say some of that.
        return distinct(_said(expression, parts, listed), expression.type)
    if parts is None:
        return None
    domains = [
        (*part_values, None) if part.span.nullable else part_values for part, part_values in parts.items()
    ]
    if math.prod(len(d) for d in domains) > MAX_EVALUATED:
        # Too many combinations to try; consecutive integers will do when they are few enough.
        return _consecutive(expression, MAX_CELLS)
    if list(parts) == [expression]:
        return parts[expression]
    return _evaluate(expression, list(parts), domains)


def _said(
    expression: Expression, parts: Mapping[Expression, tuple[Value, ...]] | None, listed: Sequence[Value]
) -> Sequence[Value]:
    """Those of some values that an expression takes for public values of its parts; all if nobody can tell."""
    if not parts:
        return listed
    domains = [(*values, None) if part.span.nullable else values for part, values in parts.items()]
    if math.prod(len(d) for d in domains) > MAX_EVALUATED:
        return listed
    taken = set(_evaluate(expression, list(parts), domains))
    return [value for value in listed if value in taken]


def _parts(expression: Expression) -> dict[Expression, tuple[Value, ...]] | None:
    """The smallest parts of an expression whose public values are known, that cover all its columns."""
    if isinstance(expression, Literal):
        return {}
    if isinstance(expression, Column):
        values = column_values(expression.span, expression.type)
        return None if values is None else {expression: values}
    if expression.name == "h3_cell":
        cells = hexagons.listed(expression)
        return None if cells is None else {expression: cells}
    found: dict[Expression, tuple[Value, ...]] = {}
    for arg in expression.args:
        inner = _parts(arg)
        if inner is None:
            values = column_values(expression.span, expression.type) or _rounded(expression)
            return None if values is None else {expression: values}
        found.update(inner)
    return found


def _rounded(expression: Call) -> tuple[Value, ...] | None:
    """The values of a call that rounds a bounded moment to its month, hour, …, or a bounded number to some digits."""
    if expression.name in ("round_to", "trunc_to"):
        return _decimals(expression)
    grain = grain_of(expression)
    if grain is None or not expression.span.within(int(FIRST[Type.TIMESTAMP]), int(LAST[Type.TIMESTAMP])):
        return None
    argument, step = grain
    moment = expression.args[argument]
    if moment.span.lo is None or moment.span.hi is None or moment.span.width >= step * MAX_EVALUATED:
        return None
    # Every month, hour, … within the bounds holds one of these: none is shorter than a step.
    first, last = math.ceil(moment.span.lo), math.floor(moment.span.hi)
    sample = [*range(first, last, step), last]
    moments: tuple[Value, ...] = tuple(dt.datetime(1970, 1, 1) + MICROSECOND * place for place in sample)
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
        return distinct(span.domain, kind)
    if kind is Type.DATE and span.lo is not None and span.hi is not None and span.width <= MAX_EVALUATED:
        days = range(int(span.lo), int(span.hi) + 1)
        return tuple(EPOCH + MICROSECOND * 86_400_000_000 * day for day in days)
    return _consecutive(Column("", kind, span), MAX_EVALUATED)


def _consecutive(expression: Expression, most: int) -> tuple[Value, ...] | None:
    span = expression.span
    if expression.type is not Type.INTEGER or span.lo is None or span.hi is None or span.width >= most:
        return None
    return tuple(range(math.ceil(span.lo), math.floor(span.hi) + 1))


def takes_null(expression: Expression) -> bool:
    """Whether an expression that can be NULL by its bounds is so for any public values; True where nobody can tell."""
    parts = _parts(expression)
    if not parts or list(parts) == [expression]:
        return True
    domains = [(*values, None) if part.span.nullable else values for part, values in parts.items()]
    if math.prod(len(d) for d in domains) > MAX_EVALUATED:
        return True
    return None in _evaluated(expression, list(parts), domains)


def _evaluate(
    expression: Expression, parts: list[Expression], domains: list[tuple[Value | None, ...]]
) -> tuple[Value, ...]:
    """The values of an expression over the product of public domains, but for NULL."""
    known = [value for value in _evaluated(expression, parts, domains) if value is not None]
    return distinct(sorted(known), expression.type)  # listed keys keep their order, computed ones are sorted


def _evaluated(
    expression: Expression, parts: list[Expression], domains: list[tuple[Value | None, ...]]
) -> list[Value | None]:
    """Evaluate an expression over the product of public domains, in a sandbox that sees no data."""
    import pyarrow as pa

    from discreet.engines.sandbox import Sandbox

    lengths = [len(d) for d in domains]
    grid = np.indices(lengths).reshape(len(lengths), math.prod(lengths))
    stand_ins: dict[Expression, Expression] = {
        part: Column(f"p{index}", part.type, part.span) for index, part in enumerate(parts)
    }
    table = pa.table(
        {"p": pa.nulls(grid.shape[1])}  # without parts there is one row all the same
        | {
            f"p{index}": pa.array(domain, type=arrow_type(part.type)).take(pa.array(grid[index]))
            for index, (part, domain) in enumerate(zip(parts, domains, strict=True))
        }
    )
    sql = f"SELECT DISTINCT {spell(replace(expression, stand_ins), DUCKDB)} AS v FROM p"
    with Sandbox({"p": table}) as sandbox:
        return listed_values(sandbox.run(sql).column("v"))


def listed_values(column: pa.ChunkedArray) -> list[Value | None]:
    """The values of a column that are groups.

    Raises:
        QueryRefused: one of them is a date that Python cannot hold.
    """
    if far.is_far(column):
        raise QueryRefused("A group here would be a date outside the years 1 to 9999.",
                           "Group by a part of it, such as its month; or leave such dates out in a sub-query of "
                           "FROM.")  # fmt: skip
    found: list[Value | None] = column.to_pylist()
    return found


def axes(keys: tuple[Key, ...]) -> list[tuple[int, ...]]:
    """The numbers of the keys that run together: each public key alone or with its block, all unknown ones as one."""
    together: dict[tuple[bool, int], list[int]] = {}
    for index, key in enumerate(keys):
        # Numbers of blocks are not negative, so a key alone gets a number of its own below zero.
        number = 0 if not key.public else -1 - index if key.block is None else key.block
        together.setdefault((key.public, number), []).append(index)
    return [tuple(indices) for indices in together.values()]


def cells(keys: tuple[Key, ...]) -> int:
    """The number of groups; 0 when there are unknown keys that were not found yet."""
    return math.prod(len(keys[axis[0]].values) for axis in axes(keys))


def planned_cells(keys: tuple[Key, ...]) -> int:
    """The number of groups that a plan reckons with: unknown keys count as so many as are likely."""
    public = cells(tuple(key for key in keys if key.public))
    return public if all(key.public for key in keys) else public * PLANNED


def found(keys: tuple[Key, ...], columns: Iterable[tuple[Value, ...]]) -> tuple[Key, ...]:
    """The keys with the values of the unknown ones filled in, one column for each of them."""
    given = iter(columns)
    return tuple(key if key.public else dataclasses.replace(key, values=next(given)) for key in keys)


def imagined(keys: tuple[Key, ...], groups: int) -> tuple[Key, ...]:
    """The keys with so many invented groups in place of the unknown ones."""
    columns = [_imagined(key.expression.type, groups) for key in keys if not key.public]
    return found(keys, columns)


def _imagined(kind: Type, groups: int) -> tuple[Value, ...]:
    if kind in (Type.DATE, Type.TIMESTAMP):
        return tuple(dt.datetime(2020, 1, 1) + dt.timedelta(days=index) for index in range(groups))
    if kind is Type.TEXT:
        return tuple(f"group {index + 1}" for index in range(groups))
    return tuple(range(groups))


def _spread(key: Key, index: NDArray[np.int64]) -> pa.Array:
    """The values of a key at the places of an index."""
    if key.plain:
        return arrow.column(arrow.numbers(key.arrow())[index])
    if len(index) > FEW:
        return key.arrow().take(arrow.column(index))
    return arrow.listed([key.values[place] for place in index.tolist()], arrow_type(key.expression.type))


def table(keys: tuple[Key, ...], wanted: Collection[int] | None = None) -> dict[str, pa.Array]:
    """The key columns k0, k1, … of all groups, the last key running fastest.

    Args:
        keys: of the release.
        wanted: the numbers of the keys whose columns are needed; by default all.
    """
    total = inner = cells(keys)
    out: dict[str, pa.Array] = {}
    for axis in axes(keys):
        length = len(keys[axis[0]].values)
        inner //= max(length, 1)
        mine = [number for number in axis if wanted is None or number in wanted]
        if length == total:  # each group has a value of its own
            out.update({key_name(number): keys[number].arrow() for number in mine})
            continue
        times = total // max(length * inner, 1)
        index = (
            None
            if all(keys[number].plain for number in mine)
            else np.tile(np.repeat(np.arange(length), inner), times)
        )
        for number in mine:
            if index is None:
                values = arrow.numbers(keys[number].arrow())
                out[key_name(number)] = arrow.column(np.tile(np.repeat(values, inner), times))
            else:
                out[key_name(number)] = _spread(keys[number], index)
    return {name: out[name] for name in map(key_name, range(len(keys))) if name in out}


def columns_of(
    keys: tuple[Key, ...], groups: NDArray[np.int64], wanted: Collection[int]
) -> dict[str, pa.Array]:
    """The key columns of some groups.

    Args:
        keys: of the release.
        groups: their numbers, an int64 array (groups,).
        wanted: the numbers of the keys whose columns are needed.
    """
    inner = cells(keys)
    out: dict[str, pa.Array] = {}
    for axis in axes(keys):
        length = len(keys[axis[0]].values)
        inner //= max(length, 1)
        mine = [number for number in axis if number in wanted]
        if mine:
            index = groups // max(inner, 1) % max(length, 1)
            out.update({key_name(number): _spread(keys[number], index) for number in mine})
    return {name: out[name] for name in map(key_name, range(len(keys))) if name in out}


__all__ = ["MAX_CELLS", "Key", "axes", "cells", "column_values", "columns_of", "found", "imagined",
           "planned_cells", "public_values", "table"]  # fmt: skip
