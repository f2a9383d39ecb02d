"""The views that queries see in place of tables: columns in logical types, without collation."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.engines.capabilities import Physical
from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.connection import quote
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.units import collations, identity_of
from discreet.engines.schema import ColumnSchema, TableSchema, Type
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType


def make_view(connection: duckdb.DuckDBPyConnection, table: str, origin: Origin) -> TableSchema:
    """Make the view that queries see of a table, and return its schema."""
    import duckdb

    relation = origin.relation
    columns: dict[str, DuckDBPyType] = {}
    fields: dict[str, ColumnSchema] = {}
    try:
        source = connection.sql(f"FROM {relation}")
        columns = dict(zip(source.columns, source.types, strict=True))
        texts = [name for name, kind in columns.items() if _physical(kind).type is Type.TEXT]
        collated = collations(connection, relation, texts)
        shown = [_shown(name, kind) for name, kind in columns.items()]
        for name, kind in columns.items():
            identity, sql = identity_of(name, kind, columns, collated.get(name))
            own = _column(name, kind, name in origin.required)
            fields[name] = replace(own, identity=identity, twin=name.lower() in origin.twins)
            shown += [sql] if sql else []
        made = f"SELECT {', '.join(shown)} FROM {relation}"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {quote(table)} AS {made}")
    except duckdb.Error:
        fields = {}
    if not fields:
        raise SourceError(
            f"The table {table} cannot be opened.",
            "Check that the file is whole, may be read, and has no two columns of one name.",
        )
    return MappingProxyType(fields)


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
    return CAPABILITIES.physical(_listed_as(kind))


def _shown(name: str, kind: DuckDBPyType) -> str:
    return f"{_physical(kind).read.format(quote(name))} AS {quote(name)}"


def _column(name: str, kind: DuckDBPyType, not_null: bool) -> ColumnSchema:
    return CAPABILITIES.column(name, _listed_as(kind), not_null)
