"""The rows of a public table as they are joined: in the types that expressions have, each value spelled in one way.

Whether a column is unique there decides how many partners a row can find, and so how often it counts. The engine
decides which values are equal; so values that it would hold equal are made identical before anything is compared: both
zeros are one, NaN is NULL as everywhere, numbers and time stamps have the width that the engine is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.policy.naming import twins

if TYPE_CHECKING:
    import pyarrow as pa


def alike(data: pa.Table) -> list[str]:
    """The first columns that differ by case alone, which does not count in a query; empty when there are none."""
    return twins(data.column_names)


def spelled(data: pa.Table) -> pa.Table:
    """The same rows, in which values are identical where an engine holds them equal."""
    import pyarrow as pa

    columns = [_one(column) for column in data.itercolumns()]
    return pa.Table.from_arrays(columns, names=data.column_names)


def _one(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _one(column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        wide = column.cast(pa.float64())
        known = pc.if_else(pc.is_nan(wide), pa.scalar(None, pa.float64()), wide)
        return pc.if_else(pc.equal(known, 0.0), pa.scalar(0.0), known)
    if pa.types.is_uint64(kind):
        held = pc.if_else(pc.less_equal(column, pa.scalar(2**63 - 1, kind)), column, pa.scalar(None, kind))
        return held.cast(pa.int64())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
    if pa.types.is_date64(kind):
        return column.cast(pa.date32(), safe=False)
    if pa.types.is_large_string(kind):
        return column.cast(pa.string())
    return column


def unique(data: pa.Table, fields: list[str]) -> bool:
    """Whether no two rows of a table that was `spelled` are equal in some columns."""
    return len(data.select(fields).group_by(fields).aggregate([])) == len(data)
