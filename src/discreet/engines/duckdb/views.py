"""The views that queries see in place of tables: columns in logical types, without collation."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.engines.capabilities import Physical
from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.units import collations, identity_of
from discreet.engines.paths import with_fields
from discreet.engines.schema import ColumnSchema, TableSchema, Type
from discreet.errors import SourceError
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType


def make_view(connection: duckdb.DuckDBPyConnection, table: str, origin: Origin) -> TableSchema:
    """Make the view that queries see of a table, and return its schema."""
    return make_view_by(connection, table, origin)[0]


def make_view_by(
    connection: duckdb.DuckDBPyConnection, table: str, origin: Origin
) -> tuple[TableSchema, str]:
    """Make the view that queries see of a table, and return its schema and the SQL that made it."""
    import duckdb

    relation = origin.relation
    made = ""
    fields: dict[str, ColumnSchema] = {}
    try:
        source = connection.sql(f"FROM {relation}")
        stored = [(n, quote(n), kind) for n, kind in zip(source.columns, source.types, strict=True)]
        columns = with_fields(stored, _fields, _field)
        names, shown = [name for name, *_ in columns], []
        texts = [name for name, _, kind in stored if _physical(kind).type is Type.TEXT]
        collated = collations(connection, relation, texts) if origin.may_collate else {}
        for name, sql, kind, within in columns:
            identity, told = identity_of(name, kind, names, collated.get(name), sql)
            twin = name.lower() in origin.twins
            own = _column(name, kind, name in origin.required and not within)
            fields[name] = replace(own, identity=identity, twin=twin, within=within)
            shown.append(f"{_read(kind).format(sql)} AS {quote(name)}")
            shown += [told] if told else []
        made = f"CREATE OR REPLACE TEMP VIEW {quote(table)} AS SELECT {', '.join(shown)} FROM {relation}"
        connection.execute(made)
    except duckdb.Error:
        fields = {}
    if not fields:
        raise SourceError(
            f"The table {table} cannot be opened.",
            "Check that the file is whole, may be read, and has no two columns of one name.",
        )
    return MappingProxyType(fields), made


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]] | None:
    """The present columns of a view and their types; None when there are none."""
    import duckdb

    try:
        found = connection.sql(f"FROM temp.main.{table}")
        return list(zip(found.columns, map(str, found.types), strict=True))
    except duckdb.Error:
        return None


def _listed_as(kind: DuckDBPyType) -> str:
    """The name under which the table of types has one; JSON is stored as text but is none."""
    return "json" if str(kind) == "JSON" else str(kind.id)


def _physical(kind: DuckDBPyType) -> Physical:
    if kind.id in ("list", "array"):
        item = CAPABILITIES.listed(_listed_as(_children(kind)["child"]))
        return CAPABILITIES.physical(str(kind.id)) if item.type is Type.OTHER else item
    return CAPABILITIES.physical(_listed_as(kind))


def _read(kind: DuckDBPyType) -> str:
    """The SQL that makes the logical type of a stored column, {0}; a list with a value that has none is NULL."""
    return (
        f"TRY_CAST({{0}} AS {_LISTS[found]})"
        if (found := _physical(kind).type) in _LISTS
        else _physical(kind).read
    )


def _field(struct: str, name: str) -> str:
    return "struct_extract({}, '{}')".format(struct, name.replace("'", "''"))


def _fields(kind: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    return list(_children(kind).items()) if str(kind.id) == "struct" else []


def _children(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return dict(kind.children)  # type: ignore[arg-type]


def _column(name: str, kind: DuckDBPyType, not_null: bool) -> ColumnSchema:
    found = _physical(kind).type
    if found in _LISTS:
        return ColumnSchema(name, found)
    return CAPABILITIES.column(name, _listed_as(kind), not_null)


_LISTS = {
    Type.TEXTS: "VARCHAR[]", Type.INTEGERS: "BIGINT[]", Type.FLOATS: "DOUBLE[]", Type.BOOLEANS: "BOOLEAN[]",
    Type.DATES: "DATE[]", Type.TIMESTAMPS: "TIMESTAMP[]",
}  # fmt: skip
