"""Values between PostgreSQL and Arrow: integers and keys out, small tables in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet import far
from discreet.engines.engine import no_integers
from discreet.engines.schema import Type
from discreet.quoting import quote

if TYPE_CHECKING:
    import pyarrow as pa


def _arrow(name: str) -> Any:
    def kind() -> Any:
        import pyarrow as pa

        return pa.timestamp("us") if name == "timestamp" else getattr(pa, name)()

    return kind


OIDS = {
    Type.INTEGER: 20, Type.FLOAT: 701, Type.BOOLEAN: 16, Type.TEXT: 25, Type.DATE: 1082, Type.TIMESTAMP: 1114,
}  # fmt: skip


ARROW = {
    Type.INTEGER: _arrow("int64"), Type.FLOAT: _arrow("float64"), Type.BOOLEAN: _arrow("bool_"),
    Type.TEXT: _arrow("string"), Type.DATE: _arrow("date32"), Type.TIMESTAMP: _arrow("timestamp"),
}  # fmt: skip


def integers_of(names: list[str], types: list[int], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as a table, if they are nothing but BIGINT without NULL."""
    import numpy as np
    import pyarrow as pa

    bad = any(oid != 20 for oid in types) or any(value is None for row in rows for value in row)
    if bad:
        raise no_integers()
    block = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    return pa.table({name: pa.array(block[:, index]) for index, name in enumerate(names)})


def read_safely(column: str, oid: int) -> str:
    """A date or time stamp that Python can hold, or NULL."""
    if oid not in (OIDS[Type.DATE], OIDS[Type.TIMESTAMP]):
        return column
    ends = "DATE '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
    return f"CASE WHEN {column} BETWEEN {ends} THEN {column} END"


def read_exactly(column: str, oid: int) -> str:
    """A date or time stamp as days or microseconds since 1970, so that none is too far for Python; else the column."""
    if oid == OIDS[Type.DATE]:
        ends, count = far.INFINITE_DAY, f"{column} - DATE '1970-01-01'"
    elif oid == OIDS[Type.TIMESTAMP]:
        ends = far.INFINITE_MOMENT
        count = f"CAST(LEAST(trunc(extract(epoch FROM {column}) * 1000000), {ends - 1}) AS bigint)"
    else:
        return column
    return f"CASE WHEN {column} = 'infinity' THEN {ends} WHEN {column} = '-infinity' THEN -{ends} ELSE {count} END"


def as_arrow(keys: list[tuple[str, int]], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows of keys, read by `read_exactly`, as a table."""
    import pyarrow as pa

    kinds = {oid: ARROW[kind]() for kind, oid in OIDS.items()}
    days = {OIDS[Type.DATE]: pa.int32(), OIDS[Type.TIMESTAMP]: pa.int64()}
    columns = {}
    for index, (name, oid) in enumerate(keys):
        kind = kinds.get(oid, pa.string())
        columns[name] = pa.array([row[index] for row in rows], type=days.get(oid, kind)).view(kind)
    return pa.table(columns)


def as_arrays(table: pa.Table) -> tuple[str, list[Any]]:
    """A small table as a SELECT over arrays, which are parameters."""
    import pyarrow as pa

    columns, arrays = [], []
    for name, field in zip(table.column_names, table.schema, strict=True):
        column = table.column(name)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        kind = _kind_of(column.type)
        columns.append((name, kind))
        values = far.values(column)
        if any(isinstance(value, far.FarDate) for value in values):
            values = [
                value.sql() if isinstance(value, far.FarDate) else value and str(value) for value in values
            ]
        arrays.append(_literal(values) if kind in ("text", "bigint") else values)
    listed = ", ".join(f"\0ARRAY::{kind}[]" for _, kind in columns)
    named = ", ".join(f"c{index}" for index in range(len(columns)))
    shown = ", ".join(
        f'c{index} COLLATE "C" AS {quote(name)}' if kind == "text" else f"c{index} AS {quote(name)}"
        for index, (name, kind) in enumerate(columns)
    )
    return f"SELECT {shown} FROM unnest({listed}) AS u({named})", arrays


def _literal(values: list[Any]) -> str:
    """Texts or integers as PostgreSQL writes an array; psycopg takes as long for each as we take for all.

    Example:
        >>> _literal(["a, b", None, ""]), _literal([1, -2])
        ('{"a, b",NULL,""}', '{"1","-2"}')
    """
    quoted = (
        "NULL" if value is None else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        for value in values
    )
    return "{" + ",".join(quoted) + "}"


def _kind_of(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "bigint"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "float8"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_date(kind):
        return "date"
    return "timestamp" if pa.types.is_timestamp(kind) else "text"
