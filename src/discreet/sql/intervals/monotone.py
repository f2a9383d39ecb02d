"""Intervals carried through an expression that is monotone in one aggregate: its values at the ends of the interval.

Exact, and for any number of groups: nothing is drawn again. If f is monotone, a value of f(x) lies between f(low) and
f(high) whenever x lies between low and high, so the confidence stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.release.noisy_schema import aggregate_number, key_number

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

_NUMBERS = {
    exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128, exp.DType.FLOAT,
    exp.DType.DOUBLE, exp.DType.DECIMAL,
}  # fmt: skip
_CONSTANTS = (exp.Literal, exp.Neg, exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast, exp.DataType,
              exp.Identifier, exp.DataTypeParam)  # fmt: skip


def monotone_in(node: exp.Expr, table: str) -> str | None:
    """The aggregate `a…` of a noisy table in which an expression is monotone, its only noisy part; None for any other.

    Either direction will do, and it may change from group to group, as with a division by a key.
    """
    if isinstance(node, exp.Column):
        return node.name if node.table == table and aggregate_number(node.name) is not None else None
    if isinstance(node, exp.Paren | exp.Neg):
        return monotone_in(node.this, table)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        for side, other in ((node.this, node.expression), (node.expression, node.this)):
            if _is_constant(other, table):
                return monotone_in(side, table)
        return None
    if isinstance(node, exp.Div):
        return monotone_in(node.this, table) if _is_constant(node.expression, table) else None
    if isinstance(node, exp.Round | exp.Floor | exp.Ceil):
        places = node.args.get("decimals")
        return monotone_in(node.this, table) if places is None or _is_constant(places, table) else None
    if type(node) is exp.Cast and node.to.this in _NUMBERS:
        return monotone_in(node.this, table)
    if isinstance(node, exp.Anonymous) and node.name == "make_timestamp" and len(node.expressions) == 1:
        return monotone_in(node.expressions[0], table)
    if isinstance(node, exp.Greatest | exp.Least):
        parts = [node.this, *node.expressions]
        moving = [part for part in parts if not _is_constant(part, table)]
        return monotone_in(moving[0], table) if len(moving) == 1 else None
    return None


def monotone_intervals(
    items: Mapping[str, exp.Expr],
    table: str,
    keys_of: Callable[[list[int]], Mapping[str, pa.Array]],
    ends_of: Callable[[int], Interval],
    moments: Collection[str] = (),
) -> dict[str, Interval]:
    """The intervals of those columns that are monotone in one aggregate of their group.

    Args:
        items: the expressions of columns by name, over a noisy table.
        table: its name.
        keys_of: the columns of keys in the groups that are shown, by their numbers.
        ends_of: the interval of an aggregate in those groups, by its number.
        moments: the columns that hold dates or time stamps, whose ends are days since 1970-01-01.

    Returns:
        Low and high ends, float64 arrays (groups shown,), NaN where the column is NULL.
    """
    by_aggregate: dict[str, list[str]] = {}
    for name, item in items.items():
        aggregate = monotone_in(item, table)
        if aggregate is not None:
            by_aggregate.setdefault(aggregate, []).append(name)
    out: dict[str, Interval] = {}
    for aggregate, names in by_aggregate.items():
        number = aggregate_number(aggregate)
        assert number is not None  # `monotone_in` returned it
        ends = ends_of(number)
        listed = [days(items[name]) if name in moments else items[name] for name in names]
        found = [_at(end, aggregate, listed, table, keys_of) for end in ends]
        there = ~np.isnan(ends[0])
        for name, first, second in zip(names, *found, strict=True):
            low, high = _ordered(first, second)
            # An end that the expression cannot take, such as one too large for a type, may lie anywhere.
            open_ended = there & np.isnan(low)
            out[name] = np.where(open_ended, -np.inf, low), np.where(open_ended, np.inf, high)
    return out


def days(moment: exp.Expr) -> exp.Expr:
    """The days since 1970-01-01 of a date or a time stamp."""
    micros = exp.Anonymous(this="epoch_us", expressions=[exp.cast(moment.copy(), "TIMESTAMP")])
    return exp.Div(this=exp.cast(micros, "DOUBLE"), expression=exp.Literal.number("86400000000.0"))


def _ordered(first: Floats, second: Floats) -> Interval:
    """Low and high ends: an expression may fall where its aggregate rises."""
    return np.minimum(first, second), np.maximum(first, second)


def _is_constant(node: exp.Expr, table: str) -> bool:
    """Whether an expression is made of literals and keys alone."""
    for inner in node.walk():
        if isinstance(inner, exp.Column):
            if inner.table != table or key_number(inner.name) is None:
                return False
        elif not isinstance(inner, _CONSTANTS):
            return False
    return True


def _at(
    end: Floats,
    aggregate: str,
    items: list[exp.Expr],
    table: str,
    keys_of: Callable[[list[int]], Mapping[str, pa.Array]],
) -> list[Floats]:
    """The expressions in every group, with other values of their aggregate."""
    import pyarrow as pa

    data: dict[str, pa.Array] = {"__row": arrow.column(np.arange(len(end)))}
    names = {column.name for item in items for column in item.find_all(exp.Column)}
    wanted = {number for name in names if (number := key_number(name)) is not None}
    if wanted:
        data.update(keys_of(sorted(wanted)))
    data[aggregate] = arrow.column(end)
    shown = ", ".join(
        f"TRY(CAST({item.sql('duckdb')} AS DOUBLE)) AS e{index}" for index, item in enumerate(items)
    )
    with Sandbox({table: pa.table(data)}) as sandbox:
        result = sandbox.run(f"SELECT __row, {shown} FROM {table}")
    row = arrow.numbers(result.column("__row"))
    out = []
    for index in range(len(items)):
        values = np.full(len(end), np.nan)
        values[row] = arrow.numbers(result.column(f"e{index}"))
        out.append(values)
    return out
