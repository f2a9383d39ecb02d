"""Tables of ClickHouse: their columns, found without reading a row, and the views that queries see of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.engines.clickhouse.capabilities import CAPABILITIES
from discreet.engines.identity import Identity, hidden
from discreet.engines.schema import TableSchema
from discreet.engines.twins import see_no_twin_tables
from discreet.errors import SourceError
from discreet.quoting import quote_for_clickhouse as quote
from discreet.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

_AROUND = re.compile(r"^(?:Nullable|LowCardinality)\((.*)\)$", re.DOTALL)


@dataclass(frozen=True)
class ClickHouseTable:
    """A table as queries see it.

    Attributes:
        view: the SELECT in its place.
        schema: its columns.
        database: where it is.
        name: as the database has it.
    """

    view: str
    schema: TableSchema
    database: str
    name: str


def literal(text: str) -> str:
    r"""A text.

    Example:
        >>> print(literal("it's"))
        'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def bare(kind: str) -> str:
    """The name of a type without the types around it and without its parameters.

    Example:
        >>> bare("LowCardinality(Nullable(FixedString(3)))"), bare("DateTime64(6, 'UTC')"), bare("IntervalDay")
        ('FixedString', 'DateTime64', 'Interval')
    """
    while (found := _AROUND.match(kind)) is not None:
        kind = found[1]
    name = kind.partition("(")[0]
    return "Interval" if name.startswith("Interval") else name


def find(ask: Callable[[str], pa.Table], name: str | None, wanted: str | None) -> dict[str, ClickHouseTable]:
    """The tables that are asked for, by the name that queries use.

    Args:
        ask: runs a query over metadata.
        name: that queries use; None for all tables of the current database.
        wanted: `table` or `database.table`.

    Raises:
        SourceError: there is no such table.
    """
    database, _, table = (wanted or name or "").rpartition(".")
    where = f"database = {literal(database)}" if database else "database = currentDatabase()"
    rows = ask(
        f"SELECT database, table, name, type FROM system.columns WHERE {where} ORDER BY table, position"
    ).to_pylist()
    names = {row["table"] for row in rows}
    if table:
        alike = sorted(known for known in names if known.lower() == table.lower())
        if table not in names and len(alike) > 1:
            raise SourceError(f"{table} may mean {' or '.join(alike)}.",
                              "Write the one that is meant in the exact letters of the database.")  # fmt: skip
        names = {table} if table in names else set(alike)
    else:
        names = {known for known in names if not known.startswith(".inner")}
    if not names:
        raise SourceError("ClickHouse has no such table that this user may read.",
                          "Check the name, and the database, which may stand before it.")  # fmt: skip
    see_no_twin_tables(names)
    found = {}
    for stored in sorted(names):
        columns = {row["name"]: row["type"] for row in rows if row["table"] == stored}
        space = next(row["database"] for row in rows if row["table"] == stored)
        key = name if table and name and (wanted or "." not in name) else stored
        found[key] = _table(space, stored, columns)
    return found


def _table(database: str, name: str, columns: Mapping[str, str]) -> ClickHouseTable:
    shown, fields = [], {}
    for column, kind in columns.items():
        listed = bare(kind)
        known = CAPABILITIES.physical(listed)
        shown.append(f"{known.read.format(quote(column))} AS {quote(column)}")
        identity, own = identity_of(column, kind, columns)
        not_null = "Nullable(" not in kind  # of a type without NULL
        fields[column] = replace(CAPABILITIES.column(column, listed, not_null), identity=identity)
        shown += [own] if own else []
    view = f"SELECT {', '.join(shown)} FROM {quote(database)}.{quote(name)}"
    return ClickHouseTable(view, MappingProxyType(fields), database, name)


def identity_of(name: str, kind: str, names: Iterable[str]) -> tuple[Identity | None, str]:
    """How a column tells units apart, and the item of the view that does it; empty when the column itself does.

    Args:
        name: of the column.
        kind: its stored type.
        names: of all columns of the table.
    """
    listed, own = bare(kind), hidden(name, names)
    if CAPABILITIES.physical(listed).stored:
        inner = kind
        while (found := _AROUND.match(inner)) is not None:
            inner = found[1]
        return Identity(own, inner), f"{quote(name)} AS {quote(own)}"
    if listed in ("Float32", "Float64"):
        number = f"CASE WHEN {quote(name)} = {quote(name)} THEN CAST({quote(name)} AS Float64) + 0 END"
        return Identity(own, "FLOAT"), f"{number} AS {quote(own)}"
    return None, ""
