"""The columns of a public table in logical types, as expressions over private rows read them.

A public value is no secret, but whether a private row meets it is one: a product of two TINYINTs that overflows would
fail exactly when a chosen person is there. So public columns are widened before they are joined, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.schema import Type
from discreet.sql.algebra.keys import arrow_type

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


def widened(data: pa.Table) -> pa.Table:
    """The table with every readable column in the widest type of its kind; what cannot be read stays as it is.

    Example:
        >>> import pyarrow as pa
        >>> widened(pa.table({"weight": pa.array([100], pa.int8())})).schema.field("weight").type
        DataType(int64)
    """
    import pyarrow as pa

    columns: dict[str, pa.ChunkedArray] = {}
    for name, values in zip(data.column_names, data.itercolumns(), strict=True):
        kind = arrow_kind(values.type)
        columns[name] = values if kind is None else _cast(values, arrow_type(kind))
    return pa.table(columns) if columns else data


def _cast(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """The values in a wider type; a moment that microseconds cannot hold is NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(values.type) and values.type.unit in ("s", "ms"):
        factor = 1000 if values.type.unit == "ms" else 1_000_000
        whole = [None if v is None else v * factor for v in values.cast(pa.int64()).to_pylist()]
        held = [None if v is None or not -(2**63) < v < 2**63 else v for v in whole]
        return pa.chunked_array([pa.array(held, pa.int64()).cast(wanted)])
    return pc.cast(values, wanted, safe=False)
