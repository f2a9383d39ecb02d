"""PostgreSQL: the data stays in its server, integers come back.

The connection is read-only. Nothing is created on the server, not even a temporary table: the views of
tables, and the key lists beside them, stand in front of each query as WITH. Needs PostgreSQL 14 or newer in UTF-8.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from discreet.engines.capabilities import Spelling
from discreet.engines.engine import NO_TABLES, Choose, failed, no_table, see_no_clash, taken
from discreet.engines.postgres.capabilities import CAPABILITIES
from discreet.engines.postgres.line import ReopenedConnection, SecondConnection
from discreet.engines.postgres.queries import (
    Run,
    in_pieces,
    plans_quietly,
    run_quietly,
    run_together,
    told_quietly,
)
from discreet.engines.postgres.tables import PostgresTable, base, connect, find, fragment
from discreet.engines.postgres.values import (
    ARROW,
    OIDS,
    as_arrays,
    as_arrow,
    integers_of,
    read_exactly,
    read_safely,
)
from discreet.engines.schema import TableSchema, Type
from discreet.errors import SourceError
from discreet.quoting import quote

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

R = TypeVar("R")

_SNAPSHOT = "pg_catalog.pg_current_snapshot()::pg_catalog.text"
_VERSION = (
    f"SELECT (pg_catalog.pg_control_system()).system_identifier::pg_catalog.text, {_SNAPSHOT}, "
    "pg_catalog.pg_relation_filenode({oid}::pg_catalog.oid)::pg_catalog.text"
)


class PostgresEngine:
    """Tables of one PostgreSQL database.

    Queries are taken one at a time. A query that is interrupted is cancelled on the server as well. A connection that
    was opened from a url and is dropped is opened again.

    Privacy: while a query runs, versions and probes are asked on a second connection to the same url, so that none of
    them ends when the query of another analyst does. There is none beside a connection that was passed, whose role and
    settings are its own: there they wait.
    """

    dialect: str = CAPABILITIES.dialect
    spelling: Spelling = CAPABILITIES.spelling
    lacks: frozenset[str] = CAPABILITIES.lacks

    def __init__(
        self, connection: psycopg.Connection[Any], tables: Mapping[str, PostgresTable], url: str | None
    ) -> None:
        self._line: Final = ReopenedConnection(connection, url)
        self._second: Final = SecondConnection(self._line)
        self._tables: Final = dict(tables)
        self._lock: Final = threading.Lock()
        self._closed = False
        self.place: str | None = self._line.place
        self._token: Final = hashlib.sha256(
            repr((id(self), connection.info.backend_pid)).encode()
        ).hexdigest()

    @classmethod
    def open_all(cls, sources: Iterable[tuple[str | None, object]]) -> PostgresEngine:
        """Open (name, source) each: a url, perhaps with `#table` or `#schema.table`, or an open connection.

        All sources must be of one database. A url without a table gives all tables that may be read, those of the
        schema public first. Credentials may be left to the environment (PGPASSWORD, a password file, …).

        Raises:
            SourceError: the server cannot be reached, is too old, is not in UTF-8, or has no such table; or psycopg
                is not installed. The message never holds a password.
        """
        listed = list(sources)
        bases = {base(source) for _, source in listed}
        if len(bases) != 1:
            raise SourceError("Tables of several PostgreSQL databases cannot be opened together.",
                              "Use one database, or copy the tables into one.")  # fmt: skip
        first = listed[0][1]
        connection, own = connect(first)
        try:
            tables: dict[str, PostgresTable] = {}
            for name, source in listed:
                tables.update(find(connection, name, fragment(source)))
        except BaseException:
            if own:
                connection.close()
            raise
        return cls(connection, tables, first.partition("#")[0] if own and isinstance(first, str) else None)

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table at the time of opening."""
        return MappingProxyType({name: table.schema for name, table in self._tables.items()})

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: a table of int64 without NULL leaves, or an error that is the same for all data.

        Raises:
            EngineError: PostgreSQL failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        return integers_of(*self._run(sql, tables))

    def batches(
        self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES, rows: int = 1 << 16
    ) -> Iterator[pa.Table]:
        """Run one aggregate query and yield its integers in pieces; see `engine.in_batches`.

        They are read through a cursor of the server. No other query runs until the last piece was taken or the iterator
        was closed.

        Raises:
            EngineError: as for `integers`.
        """
        text, values = self._text(tables, sql)
        with self._lock:
            if self._closed or not self._line.again():
                raise failed()
            for piece in in_pieces(self._connection, text, values, rows):
                if piece is None:
                    raise failed()
                yield integers_of(*piece)

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Choose) -> pa.Table:
        """Run one query of groups and return the keys of those that are chosen by their counts; see `Engine.keys`.

        Privacy: the counts are read first; of the keys, only those that are chosen leave the server.

        Raises:
            EngineError: PostgreSQL failed or was interrupted.
        """
        import numpy as np

        names, types, _ = self._run(f"SELECT * FROM ({sql}) AS g LIMIT 0", tables)
        keys = list(zip(names, types, strict=True))[:-1]
        order = ", ".join(f"g.{quote(name)}" for name, _ in keys)
        count = quote(names[-1])

        def ask(run: Run) -> pa.Table | None:
            counts = run(f"SELECT g.{count} FROM ({sql}) AS g ORDER BY {order}", [])
            if counts is None or any(row[0] is None for row in counts):
                return None
            chosen = choose(np.array([row[0] for row in counts], dtype=np.int64)).tolist()
            shown = ", ".join(read_exactly(f"r.{quote(name)}", oid) for name, oid in keys)
            numbered = f"SELECT g.*, row_number() OVER (ORDER BY {order}) - 1 AS __row FROM ({sql}) AS g"
            rows = run(
                f"SELECT r.__row, {shown} FROM ({numbered}) AS r WHERE r.__row = ANY(\0ARRAY)", [chosen]
            )
            if rows is None:
                return None
            found = {row[0]: row[1:] for row in rows}
            return as_arrow(keys, [found[number] for number in chosen])

        with self._lock:
            ready = not self._closed and self._line.again()
            result = run_together(self._connection, partial(self._text, tables), ask) if ready else None
        if result is None:
            raise failed()
        return result

    def public(self, table: str, columns: Collection[str] | None = None) -> pa.Table:
        """Return the content of a table that the policy calls public, or some columns, in logical types.

        Raises:
            EngineError: there is no such table, or PostgreSQL failed.
        """
        import pyarrow as pa

        found = self._table(table)
        shown = {
            c.name: ARROW[c.type]
            for c in found.schema.values()
            if c.type is not Type.OTHER and not c.within and (columns is None or c.name in columns)
        }
        listed = ", ".join(read_safely(quote(name), OIDS.get(found.schema[name].type, 0)) for name in shown)
        _, _, rows = self._run(f"SELECT {listed} FROM {quote(table)}", NO_TABLES)
        lists = zip(*rows, strict=True) if rows else ((),) * len(shown)
        return pa.table(
            {
                name: pa.array(list(values), type=kind())
                for (name, kind), values in zip(shown.items(), lists, strict=True)
            }
        )

    def version(self, table: str) -> str:
        """Return a text that changes when anything was written to the server; reads no data.

        A foreign table lies elsewhere: its version is never the same in two sessions.

        Raises:
            EngineError: there is no such table, or PostgreSQL failed.
        """
        found = self._table(table)
        if found.foreign:
            return self._token
        told = self._about(partial(told_quietly, sql=_VERSION.format(oid=found.oid)))
        if told is None:
            # Not everybody may ask which server this is; the known name of its place will do then.
            told = self._about(partial(told_quietly, sql=f"SELECT {_SNAPSHOT}"))
        if told is None:
            raise failed()
        known = " ".join(part or "" for part in told)
        return hashlib.sha256(f"{self.place} {found.oid} {known}".encode()).hexdigest()

    def probe(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> bool:
        """Whether a query could be run, as far as that can be known without reading a row; see `query.probe`."""
        text, values = self._text(tables, sql)
        return bool(self._about(lambda connection: plans_quietly(connection, text, values) or None))

    def interrupt(self) -> None:
        """Cancel the query that another thread is running, on the server; it then raises `EngineError`."""
        self._connection.cancel_safe(timeout=5)
        self._second.cancel()

    def close(self) -> None:
        """Stop the running query and release the connection; further queries raise `EngineError`."""
        if self._closed:
            return
        self._closed = True
        if self._lock.locked():
            self._connection.cancel_safe(timeout=5)
        self._second.close()
        with self._lock:
            self._line.close()

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        return self._line.connection

    def _table(self, name: str) -> PostgresTable:
        alike = [key for key in self._tables if key.lower() == name.lower()]
        if name in self._tables:
            return self._tables[name]
        if len(alike) != 1:
            raise no_table(name)
        return self._tables[alike[0]]

    def _run(
        self, sql: str, tables: Mapping[str, pa.Table]
    ) -> tuple[list[str], list[int], list[tuple[Any, ...]]]:
        text, values = self._text(tables, sql)
        with self._lock:
            result = self._first(partial(run_quietly, sql=text, values=values))
        if result is None:
            raise failed()
        return result

    def _first(self, ask: Callable[[psycopg.Connection[Any]], R | None]) -> R | None:
        """Ask on the connection of the queries, whose lock is held; None where that fails."""
        ready = not self._closed and self._line.again()
        result = ask(self._connection) if ready else None
        if result is None and ready and self._line.dropped and not self._closed and self._line.again():
            # Often it shows only now that the connection was dropped. Nothing left the engine, so ask again.
            result = ask(self._connection)
        return result

    def _about(self, ask: Callable[[psycopg.Connection[Any]], R | None]) -> R | None:
        """Ask about the tables, and wait for no query that runs but where there is no second connection.

        The first one is asked where it is free: so it is found before a charge that it was dropped for good.
        """
        with taken(self._lock) as free:
            if free:
                return self._first(ask)
        for _ in range(2):  # once more where it shows only now that the connection was dropped
            with self._second.taken() as connection:
                if connection is None:
                    break
                result = ask(connection)
                if result is not None or not connection.closed:
                    return result
        with self._lock:
            return self._first(ask)

    def _text(self, tables: Mapping[str, pa.Table], sql: str) -> tuple[str, list[Any]]:
        """A query with the views of its tables in front."""
        see_no_clash(tables, self._tables)
        views = []
        for name, table in self._tables.items():
            # DuckDB passes over the case of names; here a table is called as the query calls it.
            found = set(re.findall(re.escape(quote(name)), sql, re.IGNORECASE))
            # A twin, whose name differs by case alone, is called by its own name.
            found -= {quote(other) for other in self._tables if other != name}
            views += [f"{called} AS NOT MATERIALIZED ({table.view})" for called in sorted(found)]
        values: list[Any] = []
        for name, table in tables.items():
            # Not MATERIALIZED: a table that is read once is joined by workers side by side.
            view, arrays = as_arrays(table)
            views.append(f"{quote(name)} AS ({view})")
            values += arrays
        text = (
            (f"WITH {', '.join(views)} {sql}" if views else sql).replace("%", "%%").replace("\0ARRAY", "%s")
        )
        return text, values
