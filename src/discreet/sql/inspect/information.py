"""Facts that analysts may know of tables before they ask: the content of information_schema, from the policy alone.

Names and types of columns, and the declarations of the policy about them, are public; they stand in every refusal and
explanation, too. No row is read, and no number here is one of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet import arrow
from discreet.engines.schema import Type
from discreet.policy import Policy
from discreet.policy.path import unit_words
from discreet.sql.algebra.catalog import Catalog, PrivateColumn, PrivateTable
from discreet.sql.expressions.key_range import range_of_keys
from discreet.sql.inspect.column_rules import rule
from discreet.sql.inspect.wording import end
from discreet.sql.syntax.looking import COLUMNS, INFORMATION, TABLES
from discreet.sql.syntax.names.quoted import column_name

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    Type.INTEGER: "BIGINT", Type.FLOAT: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP", Type.OTHER: "OTHER",
    Type.INTEGERS: "BIGINT[]", Type.FLOATS: "DOUBLE[]", Type.BOOLEANS: "BOOLEAN[]", Type.TEXTS: "VARCHAR[]",
    Type.DATES: "DATE[]", Type.TIMESTAMPS: "TIMESTAMP[]",
}  # fmt: skip
_SUMS = "SUM, AVG, MEDIAN"
_ANY = "COUNT, WHERE"


def with_information(catalog: Catalog, policy: Policy) -> Catalog:
    """The catalog with the two tables of information_schema among its public ones.

    Example:
        >>> from discreet.engines.schema import ColumnSchema
        >>> policy = Policy.for_table("t", privacy_unit="who", max_rows=2, bounds={"age": (0, 120)}, budget=1)
        >>> schema = {n: ColumnSchema(n, Type.INTEGER) for n in ("who", "age")}
        >>> catalog = with_information(Catalog.build(policy, {"t": schema}, {}), policy)
        >>> catalog.public["information_schema.columns"].column("declared").to_pylist()
        ['privacy unit', 'clamped to 0 … 120']
    """
    return replace(catalog, public={**_contents(catalog, policy), **catalog.public})


def described_tables(catalog: Catalog, policy: Policy) -> dict[str, pa.Table]:
    """The public tables whose contents are data of somebody, and not made of the policy."""
    own = {name.lower() for name in policy.tables}
    return {n: t for n, t in catalog.public.items() if n in own or n not in INFORMATION}


def _contents(catalog: Catalog, policy: Policy) -> dict[str, pa.Table]:
    import pyarrow as pa

    text, whole = pa.string(), pa.int64()
    tables, columns = [], []
    for name, declared in policy.tables.items():
        private = catalog.private.get(name.lower())
        listed = list(_private(private, policy)) if private else list(_public(catalog.public[name.lower()]))
        unit = None if declared.public else unit_words(declared)
        kind = "public" if declared.public else "private"
        tables.append(("main", name, "BASE TABLE", kind, unit, declared.max_rows, len(listed)))
        columns += [("main", name, index + 1, *row) for index, row in enumerate(listed)]
    kinds = [("table_schema", text), ("table_name", text), ("table_type", text), ("kind", text),
             ("privacy_unit", text), ("max_rows", whole), ("columns", whole)]  # fmt: skip
    columns_kinds = [("table_schema", text), ("table_name", text), ("ordinal_position", whole),
                     ("column_name", text), ("data_type", text), ("is_nullable", text), ("lower_bound", text),
                     ("upper_bound", text), ("keys", whole), ("declared", text), ("answers", text)]  # fmt: skip
    return {TABLES: _table(tables, kinds), COLUMNS: _table(columns, columns_kinds)}


def _table(rows: list[tuple[Any, ...]], kinds: list[tuple[str, pa.DataType]]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    return pa.table(
        [arrow.listed(c, kind) for c, (_, kind) in zip(columns, kinds, strict=True)],
        [name for name, _ in kinds],
    )


def _private(table: PrivateTable, policy: Policy) -> Iterator[tuple[Any, ...]]:
    for column in table.columns.values():
        span, kind = column.scan.span.items or column.scan.span, column.type.item or column.type
        lower, upper = None, None
        if span.bounded and span.domain is None and kind not in (Type.BOOLEAN, Type.TEXT):
            assert span.lo is not None
            assert span.hi is not None
            lower, upper = end(span.lo, kind), end(span.hi, kind)
        keys = None if span.domain is None or kind is Type.BOOLEAN else len(span.domain)
        unit = column.name.lower() == table.own_unit
        declared = "privacy unit" if unit else rule(table, column, policy)
        declared = f"{_key(table, column)}; {declared}" if _key(table, column) else declared
        yield (
            column.name,
            TYPES[column.type],
            "YES" if span.nullable else "NO",
            lower,
            upper,
            keys,
            declared,
            _answers(column, unit),
        )


def _key(table: PrivateTable, column: PrivateColumn) -> str:
    """The key on the path to the unit that a column holds, in words; empty when it holds none."""
    steps = () if table.step is None else table.step.columns
    return ", ".join(
        f"key of {table.step.parent.name}" for own, _ in steps if table.step and own == column.name
    )


def _answers(column: PrivateColumn, unit: bool) -> str:
    """Which parts of a question the column can stand in unchanged."""
    span, kind, name = column.scan.span, column.type, column_name(column.name)
    if unit:
        return f"COUNT(DISTINCT {name}), joins, GROUP BY in a sub-query"
    if kind is Type.OTHER:
        return f"COUNT({name}), IS NULL"
    if kind.item is not None:
        return f"len, list_contains, UNNEST{'' if span.hi is not None else f' of {name}[1:n]'}"
    found = [_ANY]
    if span.domain is not None or (span.bounded and kind in (Type.INTEGER, Type.DATE, Type.BOOLEAN)):
        found.append("GROUP BY")
    elif span.bounded and kind is Type.TIMESTAMP:
        found.append(f"GROUP BY of parts, such as year({name})")
    if kind is Type.BOOLEAN or (span.bounded and kind in (Type.INTEGER, Type.FLOAT)):
        found.append(_SUMS)
    elif kind in (Type.INTEGER, Type.FLOAT):
        found.append(f"{_SUMS} of clamp({name}, {range_of_keys(span) or 'lo, hi'})")
    return ", ".join(found)


def _public(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for field in table.schema:
        yield field.name, _named(field.type), "YES", None, None, None, "public", "anything"


def _named(kind: pa.DataType) -> str:
    import pyarrow as pa

    types = pa.types
    for test, name in ((types.is_boolean, "BOOLEAN"), (types.is_integer, "BIGINT"), (types.is_floating, "DOUBLE"),
                       (types.is_decimal, "DOUBLE"), (types.is_string, "VARCHAR"), (types.is_large_string, "VARCHAR"),
                       (types.is_date, "DATE"), (types.is_timestamp, "TIMESTAMP")):  # fmt: skip
        if test(kind):
            return name
    return str(kind).upper()
