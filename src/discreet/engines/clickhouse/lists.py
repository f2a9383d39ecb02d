"""Small tables beside a query, such as lists of keys, as a SELECT over constants: nothing is created on the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.engines.clickhouse.tables import literal
from discreet.quoting import quote_for_clickhouse as quote

if TYPE_CHECKING:
    import pyarrow as pa


def listed(table: pa.Table) -> str:
    """A small table as a SELECT."""
    if not table.num_columns:
        return "SELECT 1 AS one"
    columns = [_column(table.column(index)) for index in range(table.num_columns)]
    if not table.num_rows:
        shown = ", ".join(
            f"{column} AS {quote(name)}"
            for name, (column, _) in zip(table.column_names, columns, strict=True)
        )
        return f"SELECT {shown} FROM (SELECT arrayJoin([NULL]) AS v) WHERE FALSE"
    arrays = ", ".join(array for _, array in columns)
    shown = ", ".join(
        f"tupleElement(v, {index}) AS {quote(name)}" for index, name in enumerate(table.column_names, 1)
    )
    return f"SELECT {shown} FROM (SELECT arrayJoin(arrayZip({arrays})) AS v)"


def _column(column: pa.ChunkedArray) -> tuple[str, str]:
    """A column of one NULL, and a column as an array, in SQL."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_date(kind):
        column, name = column.cast(pa.date32()).cast(pa.int32()), "Int32"
    elif pa.types.is_timestamp(kind):
        column, name = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), "Int64"
    elif pa.types.is_boolean(kind):
        name = "Bool"
    elif pa.types.is_integer(kind):
        name = "Int64"
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        column, name = column.cast(pa.float64()), "Float64"
    else:
        column, name = column.cast(pa.string()), "String"
    null = f"CAST(NULL AS Nullable({name}))"
    values = column.to_pylist()
    if name == "Float64":  # JSON has no infinity
        texts = json.dumps([None if value is None else repr(value + 0.0) for value in values])  # one zero
        array = f"JSONExtract({literal(texts)}, 'Array(Nullable(String))')"
        return null, f"arrayMap(x -> CAST(x AS Nullable(Float64)), {array})"
    dumped = literal(json.dumps(values, ensure_ascii=False))
    return null, f"JSONExtract({dumped}, 'Array(Nullable({name}))')"
