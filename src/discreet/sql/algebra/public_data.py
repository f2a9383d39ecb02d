"""The rows of a public table for a join: in the types that expressions have, each value spelled in one way.

Whether a column is unique there decides how many partners a row can find, and so how often it counts. The engine
decides which values are equal; so values that it would hold equal are made identical before anything is compared: both
zeros are one, NaN is NULL as everywhere, numbers and time stamps have the width that the engine is given.

A public value is no secret, but whether a private row meets it is one: a product of two TINYINTs that overflows would
fail exactly when a chosen person is there. So public columns are widened before they are joined, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet import far
from discreet.engines.duckdb.sources.total import in_microseconds
from discreet.engines.schema import Type, arrow_type
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span, number, of_values

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_kind(kind: pa.DataType) -> Type | None:
    """The logical type of an Arrow type; None when expressions cannot read it."""
    import pyarrow as pa

    tests = (
        (pa.types.is_boolean, Type.BOOLEAN), (pa.types.is_uint64, Type.FLOAT), (pa.types.is_integer, Type.INTEGER),
        (pa.types.is_floating, Type.FLOAT), (pa.types.is_string, Type.TEXT), (pa.types.is_large_string, Type.TEXT),
        (pa.types.is_date, Type.DATE), (pa.types.is_timestamp, Type.TIMESTAMP),
    )  # fmt: skip
    return next((found for test, found in tests if test(kind)), None)


def spelled(data: pa.Table) -> pa.Table:
    """The same rows, in which values are identical where an engine holds them equal."""
    import pyarrow as pa

    columns = [_plain_column(column) for column in data.itercolumns()]
    return pa.Table.from_arrays(columns, names=data.column_names)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = arrow_kind(column.type)
    if kind is None:
        return column
    wide = _cast(column, arrow_type(kind))
    if kind is not Type.FLOAT:
        return wide
    known = pc.if_else(pc.is_nan(wide), pa.scalar(None, pa.float64()), wide)
    return pc.if_else(pc.equal(known, 0.0), pa.scalar(0.0), known)


def _cast(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """The values in a wider type; a moment that microseconds cannot hold is NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(values.type) and values.type.unit in ("s", "ms"):
        return in_microseconds(values).cast(wanted)
    return pc.cast(values, wanted, safe=False)


FEW = 10_000
"""A public column with no more values than this has a domain, so it can be grouped by."""


def public_column(internal: str, values: pa.ChunkedArray) -> Column | None:
    """A column of a public table, with the span of its values; None when its type cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arrow_kind(values.type)
    if kind is None:
        return None
    if far.is_far(values):  # a date that Python cannot hold: nothing is known of its span
        return Column(internal, kind, Span(nullable=True))
    distinct = values.unique() if not pa.types.is_floating(values.type) else None
    domain = None
    span = Span(nullable=True)
    if distinct is not None and len(distinct) <= FEW:
        domain = tuple(v for v in distinct.to_pylist() if v is not None)
        span = of_values(domain)
    elif kind in (Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP) and len(values):
        ends = pc.min_max(values).as_py()
        lo, hi = (None if ends[k] is None else number(ends[k]) for k in ("min", "max"))
        span = Span(lo, hi, True)
    return Column(internal, kind, span)
