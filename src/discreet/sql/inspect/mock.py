"""Invented tables that a policy fits: no value in them is real, and every question can be tried on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.schema import ColumnSchema, TableSchema, Type, arrow_type
from discreet.policy import Policy
from discreet.sql.algebra.catalog import Catalog, PrivateColumn, PrivateTable
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MISSING = 0.02
"""The share of NULL in a column that is not the unit: real columns have some."""
PLAIN: Mapping[Type, tuple[int, int]] = {
    Type.INTEGER: (0, 99),
    Type.FLOAT: (0, 100),
    Type.DATE: (18_262, 18_627),  # the year 2020, in days
    Type.TIMESTAMP: (18_262 * 86_400_000_000, 18_628 * 86_400_000_000 - 1),
}
"""The range that is drawn from where the policy declares no bounds."""
WORDS = tuple(f"text {number}" for number in range(1, 10))


def invent(
    policy: Policy, schemas: Mapping[str, TableSchema], catalog: Catalog, rows: int
) -> dict[str, pa.Table]:
    """Invent the tables of a policy; public ones are taken unchanged.

    Privacy: reads the policy, the schema and public tables only, so it costs nothing.

    Args:
        policy: the declarations.
        schemas: of the real tables: names and types.
        catalog: made from both.
        rows: how many rows each private table gets.

    Returns:
        Arrow tables by name, with the columns and types of the schemas.

    Example:
        >>> policy = Policy.for_table("t", privacy_unit="who", max_rows=2, bounds={"age": (0, 120)}, budget=1)
        >>> schemas = {"t": {n: ColumnSchema(n, Type.INTEGER) for n in ("who", "age")}}
        >>> table = invent(policy, schemas, Catalog.build(policy, schemas, {}), rows=100)["t"]
        >>> table.num_rows, table.column_names, table.num_rows > len(table["who"].unique())
        (100, ['who', 'age'], True)
    """
    rng = np.random.default_rng()
    tables: dict[str, pa.Table] = {}
    for name, declared in policy.tables.items():
        if declared.public:
            tables[name] = catalog.public[name.lower()]
            continue
        own = catalog.private[name.lower()]
        tables[name] = _table(own, schemas[own.source or name], rows, rng)
    return tables


def _table(table: PrivateTable, schema: TableSchema, rows: int, rng: np.random.Generator) -> pa.Table:
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    keys = _keys(table, rows, rng)
    for column in schema.values():
        own = table.columns.get(column.name.lower())
        if own is None or own.name != column.name:
            continue  # a twin, which no query can name
        if table.own_unit == column.name.lower():
            columns[column.name] = _units(own, column, _whose(rows, table.max_rows, rng))
        elif column.name.lower() in keys:
            columns[column.name] = _units(own, column, keys[column.name.lower()])
        else:
            columns[column.name] = _values(own, column, rows, rng)
    return pa.table(columns)


def _whose(rows: int, max_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The number of the unit of each row, from 1: a few rows each, about max_rows, and some more than that."""
    counts = np.minimum(rng.integers(1, 2 * max_rows, rows, endpoint=True), rows)
    units = int(np.searchsorted(np.cumsum(counts), rows)) + 1  # as many as have all rows
    return np.repeat(np.arange(1, units + 1), counts[:units])[:rows].astype(np.int64)


def _keys(table: PrivateTable, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    """The numbers of the keys on the paths to the unit: a row for each in its own table, and some in the others."""
    out: dict[str, NDArray[np.int64]] = {}
    for link in table.links:
        own = link.key[0] == table.name.lower()
        each = 1 if table.step is None else max(1, table.max_rows // table.step.parent.max_rows)
        numbers = np.arange(1, rows + 1, dtype=np.int64) if own else _whose(rows, each, rng)
        out |= dict.fromkeys(link.columns, numbers)
    return out


def _units(own: PrivateColumn, column: ColumnSchema, whose: NDArray[np.int64]) -> pa.Array:
    """The same names in every table, so that units can be joined."""
    import pyarrow as pa

    domain = own.scan.span.domain
    if domain:
        return pa.array(list(domain), physical(column)).take(pa.array(whose % len(domain)))
    if own.type is Type.TEXT:
        return pa.array([f"unit {index}" for index in whose], physical(column))
    if own.type is Type.FLOAT:
        return pa.array(whose.astype(np.float64))
    lo, hi = (int(end) for end in _range(own, column, Fraction(1), Fraction(2**31 - 1)))
    return _whole(lo + whose % (hi - lo + 1), column, None)


def _values(own: PrivateColumn, column: ColumnSchema, rows: int, rng: np.random.Generator) -> pa.Array:
    """Values drawn evenly, some of them missing."""
    import pyarrow as pa

    missing = rng.random(rows) < MISSING
    if own.type is Type.OTHER:
        return pa.nulls(rows, physical(column))
    if own.type.item is not None:
        return _lists(own, column, rows, rng)
    choices = own.scan.span.domain or (WORDS if own.type is Type.TEXT else None)
    if choices is not None:
        index = pa.array(rng.integers(0, len(choices), rows), mask=missing)
        return pa.array(list(choices), physical(column)).take(index)
    least, most = PLAIN[own.type]
    lo, hi = _range(own, column, Fraction(least), Fraction(most))
    if own.type is Type.FLOAT:
        share = rng.random(rows)
        return pa.array(float(lo) * (1 - share) + float(hi) * share, mask=missing)
    return _whole(rng.integers(int(lo), int(hi), rows, endpoint=True), column, missing)


def _lists(own: PrivateColumn, column: ColumnSchema, rows: int, rng: np.random.Generator) -> pa.Array:
    """Lists of up to as many items as count; some of them are longer."""
    import pyarrow as pa

    assert own.type.item is not None
    most = 3 if own.scan.span.hi is None else int(own.scan.span.hi)
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, rows, endpoint=True))])
    item = replace(own, type=own.type.item, scan=Column("", own.type.item, own.scan.span.items or Span()))
    values = _values(item, replace(column, type=own.type.item), int(ends[-1]), rng)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def _range(own: PrivateColumn, column: ColumnSchema, lo: Fraction, hi: Fraction) -> tuple[Fraction, Fraction]:
    """The bounds of the policy, or those given; within the range of the type."""
    span = own.scan.span
    if span.lo is not None and span.hi is not None and not (span.lo == column.lo and span.hi == column.hi):
        lo, hi = span.lo, span.hi
    if own.type is Type.FLOAT:
        return lo, hi
    least = Fraction(-(2**63) if column.lo is None else column.lo)
    most = Fraction(2**63 - 1 if column.hi is None else column.hi)
    return min(max(lo, least), most), max(min(hi, most), least)


def _whole(numbers: NDArray[np.int64], column: ColumnSchema, missing: NDArray[np.bool_] | None) -> pa.Array:
    """Integers as a column of integers, of days or of microseconds."""
    import pyarrow as pa

    kind = physical(column)
    array = pa.array(numbers, pa.int64(), mask=missing)
    return array.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else array.cast(kind)


def physical(column: ColumnSchema) -> pa.DataType:
    """The Arrow type that an engine reads back as the same column: an integer has its range, too."""
    import pyarrow as pa

    if column.type is Type.INTEGER:
        unsigned = {2**8 - 1: pa.uint8(), 2**16 - 1: pa.uint16(), 2**32 - 1: pa.uint32()}
        signed = {2**7 - 1: pa.int8(), 2**15 - 1: pa.int16(), 2**31 - 1: pa.int32()}
        return (unsigned if column.lo == 0 else signed).get(column.hi or 0, pa.int64())
    if column.type.item is not None:
        return pa.list_(physical(replace(column, type=column.type.item)))
    return pa.binary() if column.type is Type.OTHER else arrow_type(column.type)
