"""Tables of databases of DuckDB: in a file, or behind an open connection of the caller."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.connection import literal, make_total
from discreet.engines.duckdb.sources.origin import Origin, file_version, frozen_version
from discreet.engines.duckdb.sources.regular import see_no_pipe
from discreet.errors import SourceError
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb


def attach_database(
    connection: duckdb.DuckDBPyConnection, path: str, inner: str | None, name: str | None
) -> dict[str, Origin]:
    """Attach the table `inner` of a database file under `name`, or all its tables."""
    import duckdb

    for file in (path, f"{path}.wal"):
        see_no_pipe(file)
    if not os.path.isfile(path):
        raise SourceError(f"There is no file {path}.", "Check the path.")
    alias = f"source_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    try:
        # Not IF NOT EXISTS: with it DuckDB waits for ever where a connection that had this file open was closed,
        # another one has it open, and this one lies at the same place in memory.
        if not connection.execute("FROM duckdb_databases() WHERE database_name = ?", [alias]).fetchone():
            connection.execute(f"ATTACH {literal(path)} AS {alias} (TYPE duckdb, READ_ONLY)")
        opened = True
    except duckdb.Error:
        opened = False
    if not opened:
        raise SourceError(
            f"DuckDB cannot open {path} for reading.",
            "Check that it is a DuckDB file; close other connections to it, or pass the open connection.",
        )
    files = (path, f"{path}.wal")
    found = _tables(connection, alias, inner, name, partial(file_version, files))
    return {table: replace(origin, files=files) for table, origin in found.items()}


def is_connection(source: object) -> bool:
    """Tell whether a source is an open DuckDB connection, without importing DuckDB."""
    return type(source).__name__ == "DuckDBPyConnection"


def attach_connection(
    guest: object, names: Sequence[str | None]
) -> tuple[duckdb.DuckDBPyConnection, dict[str, Origin]]:
    """Attach the named tables, or all, of somebody else's open connection, through a cursor of it.

    Settings that decide the meaning of a query are set for the cursor alone; nothing of the caller's
    database changes. It is not closed to files as a connection of our own would be. The caller's temporary
    tables, registered frames and uncommitted changes are not visible.

    Raises:
        SourceError: there is no such table.
    """
    import duckdb

    assert isinstance(guest, duckdb.DuckDBPyConnection)
    try:
        cursor = guest.cursor()
        ((collation,),) = cursor.execute("SELECT current_setting('default_collation')").fetchall()
        make_total(cursor)
        (row,) = cursor.execute("SELECT current_database()").fetchall()
    except duckdb.Error:
        row = None
    if row is None:
        raise SourceError(
            "The DuckDB connection cannot be used.",
            "Pass one that is open and whose configuration is not locked.",
        )
    if str(collation).lower() not in CAPABILITIES.by_code_point:
        raise SourceError(
            f"The DuckDB connection compares texts by the collation {collation}, so that different texts may be equal.",
            "Write SET default_collation = '' first.",
        )
    version = frozen_version()
    origins: dict[str, Origin] = {}
    for name in names:
        origins |= _tables(cursor, row[0], name, name, version)
    return cursor, origins


def _tables(
    connection: duckdb.DuckDBPyConnection,
    database: str,
    inner: str | None,
    name: str | None,
    version: Callable[[], str],
) -> dict[str, Origin]:
    """Return the tables and views of a database, or only `inner`, under `name`.

    All are those of the schema main, or of the others where it is empty; `inner` may be `schema.table`.
    """
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? "
        "AND table_schema NOT IN ('information_schema', 'pg_catalog') "
        "ORDER BY table_schema <> 'main', table_schema, table_name",
        [database],
    ).fetchall()
    main = [row for row in rows if row[0] == "main"]
    found = (main or rows) if inner is None else _named(rows, inner)
    if not found:
        if inner is None:
            raise SourceError("The database has no table.", "Check the path, or make a table in it first.")
        raise SourceError(
            f"The database has no table {inner}.",
            "Check the name of the table; schema.table names its schema.",
        )
    origins: dict[str, Origin] = {}
    for schema, table in found:
        relation = f"{quote(database)}.{quote(schema)}.{quote(table)}"
        if table.lower() not in map(str.lower, origins):
            origins[table] = Origin(
                relation, version, required=_required(connection, database, schema, table)
            )
    if inner is not None and name is not None:
        (origin,) = origins.values()
        return {found[0][1] if name == inner and name != found[0][1] and "." in name else name: origin}
    return origins


def _named(rows: Sequence[tuple[str, str]], wanted: str) -> list[tuple[str, str]]:
    """The one table that a name means: spelled exactly if there is one, else in any case; main comes first."""
    for fold in (str, str.lower):
        whole = [row for row in rows if fold(row[1]) == fold(wanted)]
        space, _, table = wanted.rpartition(".")
        parts = (
            [row for row in rows if fold(row[0]) == fold(space) and fold(row[1]) == fold(table)]
            if space
            else []
        )
        found = [*whole, *parts]
        main = [row for row in found if row[0] == "main"]
        if len(main or found) > 1:
            meant = " or ".join(".".join(row) for row in found)
            raise SourceError(
                f"{wanted} may mean {meant}.",
                "Write the one that is meant in the exact letters of the database.",
            )
        if found:
            return main or found
    return []


def _required(
    connection: duckdb.DuckDBPyConnection, database: str, schema: str, table: str
) -> frozenset[str]:
    """The columns of a table that DuckDB declares NOT NULL, which it enforces; a view has none."""
    found = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ? "
        "AND NOT is_nullable",
        [database, schema, table],
    )
    return frozenset(str(name) for (name,) in found.fetchall())
