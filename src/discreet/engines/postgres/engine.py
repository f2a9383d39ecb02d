"""PostgreSQL: the data stays in its server, integers come back.

The connection is read-only. Nothing is created on the server, not even a temporary table: what queries see of a
table, and the key lists beside it, stand in front of each query as WITH. Needs PostgreSQL 14 or newer in UTF-8.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from discreet import far
from discreet.engines.duckdb.connection import literal, quote
from discreet.engines.engine import NO_TABLES, Choose, failed, no_integers, no_table, see_no_clash
from discreet.engines.postgres.capabilities import CAPABILITIES
from discreet.engines.postgres.line import Line
from discreet.engines.postgres.tables import Table, base, connect, find, fragment, in_utf8
from discreet.engines.schema import TableSchema, Type
from discreet.errors import EngineError, SourceError

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

_Run: TypeAlias = "Callable[[str, list[Any]], list[tuple[Any, ...]] | None]"
# Read with extra names only, never by the search path: a function of that name in a schema of the caller's database
# could otherwise stand in the place of one of PostgreSQL's own.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp", "TimeZone": "UTC", "DateStyle": "ISO, YMD", "IntervalStyle": "postgres",
    "standard_conforming_strings": "on", "extra_float_digits": "1", "jit": "off", "client_min_messages": "error",
    "transform_null_equals": "off", "backslash_quote": "safe_encoding", "escape_string_warning": "off",
}  # fmt: skip
_SET = "SELECT " + ", ".join(
    f"pg_catalog.set_config({literal(name)}, {literal(value)}, true)" for name, value in _SETTINGS.items()
)


class PostgresEngine:
    """Tables of one PostgreSQL database.

    Calls are taken one at a time. A query that is interrupted is cancelled on the server as well. A connection that was
    opened from a url and is dropped is opened again.
    """

    dialect: str = CAPABILITIES.dialect

    def __init__(
        self, connection: psycopg.Connection[Any], tables: Mapping[str, Table], url: str | None
    ) -> None:
        self._line: Final = Line(connection, url)
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
            tables: dict[str, Table] = {}
            for name, source in listed:
                tables.update(find(connection, name, fragment(source)))
        except BaseException:
            if own:
                connection.close()
            raise
        return cls(connection, tables, first.partition("#")[0] if own and isinstance(first, str) else None)

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table as it was at opening."""
        return MappingProxyType({name: table.schema for name, table in self._tables.items()})

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: what leaves is a table of int64 without NULL, or an error that is the same whatever the data.

        Raises:
            EngineError: PostgreSQL failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        return _integers(*self._run(sql, tables))

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
            for piece in _pieces(self._connection, text, values, rows):
                if piece is None:
                    raise failed()
                yield _integers(*piece)

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

        def ask(run: _Run) -> pa.Table | None:
            counts = run(f"SELECT g.{count} FROM ({sql}) AS g ORDER BY {order}", [])
            if counts is None or any(row[0] is None for row in counts):
                return None
            chosen = choose(np.array([row[0] for row in counts], dtype=np.int64)).tolist()
            shown = ", ".join(_exactly(f"r.{quote(name)}", oid) for name, oid in keys)
            numbered = f"SELECT g.*, row_number() OVER (ORDER BY {order}) - 1 AS __row FROM ({sql}) AS g"
            rows = run(
                f"SELECT r.__row, {shown} FROM ({numbered}) AS r WHERE r.__row = ANY(\0ARRAY)", [chosen]
            )
            if rows is None:
                return None
            found = {row[0]: row[1:] for row in rows}
            return _as_arrow(keys, [found[at] for at in chosen])

        with self._lock:
            ready = not self._closed and self._line.again()
            result = _together(self._connection, partial(self._text, tables), ask) if ready else None
        if result is None:
            raise failed()
        return result

    def public(self, table: str) -> pa.Table:
        """Return the whole content of a table that the policy calls public, in its logical types.

        Raises:
            EngineError: there is no such table, or PostgreSQL failed.
        """
        import pyarrow as pa

        found = self._table(table)
        shown = {c.name: _ARROW[c.type] for c in found.schema.values() if c.type is not Type.OTHER}
        listed = ", ".join(_safely(quote(name), _OIDS.get(found.schema[name].type, 0)) for name in shown)
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
        sql = (
            "SELECT (pg_control_system()).system_identifier::text || ' ' || pg_current_snapshot()::text || ' ' || "
            f"coalesce(pg_relation_filenode({found.oid}::oid)::text, '')"
        )
        # Not everybody may ask which server this is; what is known of its place will do then.
        try:
            _, _, rows = self._run(sql, NO_TABLES)
        except EngineError:
            _, _, rows = self._run("SELECT pg_current_snapshot()::text", NO_TABLES)
        return hashlib.sha256(f"{self.place} {found.oid} {rows[0][0]}".encode()).hexdigest()

    def probe(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> bool:
        """Whether a query could be run, as far as that can be known without reading a row; see `query.probe`."""
        text, values = self._text(tables, sql)
        with self._lock:
            return not self._closed and _quietly(self._connection, f"EXPLAIN {text}", values) is not None

    def interrupt(self) -> None:
        """Cancel the query that another thread is running, on the server; it then raises `EngineError`."""
        self._connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """Stop what is running and release the connection; further queries raise `EngineError`."""
        if self._closed:
            return
        self._closed = True
        if self._lock.locked():
            self.interrupt()
        with self._lock:
            self._line.close()

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        return self._line.connection

    def _table(self, name: str) -> Table:
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
            ready = not self._closed and self._line.again()
            result = _quietly(self._connection, text, values) if ready else None
            if result is None and ready and self._line.dropped and not self._closed and self._line.again():
                # Often it shows only now that the connection was dropped. Nothing left the engine, so ask again.
                result = _quietly(self._connection, text, values)
        if result is None:
            raise failed()
        return result

    def _text(self, tables: Mapping[str, pa.Table], sql: str) -> tuple[str, list[Any]]:
        """A query with what it sees of its tables in front."""
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
            view, arrays = _listed(table)
            views.append(f"{quote(name)} AS MATERIALIZED ({view})")
            values += arrays
        text = (
            (f"WITH {', '.join(views)} {sql}" if views else sql).replace("%", "%%").replace("\0ARRAY", "%s")
        )
        return text, values


def _integers(names: list[str], types: list[int], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as a table, if they are nothing but BIGINT without NULL."""
    import numpy as np
    import pyarrow as pa

    bad = any(oid != 20 for oid in types) or any(value is None for row in rows for value in row)
    if bad:
        raise no_integers()
    block = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    return pa.table({name: pa.array(block[:, at]) for at, name in enumerate(names)})


def _safely(column: str, oid: int) -> str:
    """A date or time stamp that Python can hold, or NULL."""
    if oid not in (_OIDS[Type.DATE], _OIDS[Type.TIMESTAMP]):
        return column
    ends = "DATE '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
    return f"CASE WHEN {column} BETWEEN {ends} THEN {column} END"


def _exactly(column: str, oid: int) -> str:
    """A date or time stamp as days or microseconds since 1970, so that none is too far for Python; else the column."""
    if oid == _OIDS[Type.DATE]:
        ends, count = far.INFINITE_DAY, f"{column} - DATE '1970-01-01'"
    elif oid == _OIDS[Type.TIMESTAMP]:
        ends = far.INFINITE_MOMENT
        count = f"CAST(LEAST(trunc(extract(epoch FROM {column}) * 1000000), {ends - 1}) AS bigint)"
    else:
        return column
    return f"CASE WHEN {column} = 'infinity' THEN {ends} WHEN {column} = '-infinity' THEN -{ends} ELSE {count} END"


def _as_arrow(keys: list[tuple[str, int]], rows: list[tuple[Any, ...]]) -> pa.Table:
    import pyarrow as pa

    kinds = {oid: _ARROW[kind]() for kind, oid in _OIDS.items()}
    days = {_OIDS[Type.DATE]: pa.int32(), _OIDS[Type.TIMESTAMP]: pa.int64()}
    columns = {}
    for at, (name, oid) in enumerate(keys):
        kind = kinds.get(oid, pa.string())
        columns[name] = pa.array([row[at] for row in rows], type=days.get(oid, kind)).view(kind)
    return pa.table(columns)


def _together(
    connection: psycopg.Connection[Any],
    text: Callable[[str], tuple[str, list[Any]]],
    ask: Callable[[_Run], pa.Table | None],
) -> pa.Table | None:
    """Several queries over one state of the data; None when one fails."""
    from psycopg import rows

    def run(sql: str, more: list[Any]) -> list[tuple[Any, ...]] | None:
        written, values = text(sql)
        return cursor.execute(written, [*values, *more]).fetchall()

    try:
        with connection.transaction(), connection.cursor(row_factory=rows.tuple_row) as cursor:
            in_utf8(connection)
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute(_SET)
            return ask(run)
    except Exception:
        return None


def _quietly(
    connection: psycopg.Connection[Any], sql: str, values: list[Any]
) -> tuple[list[str], list[int], list[tuple[Any, ...]]] | None:
    """Run one SELECT; None when it fails. No exception gets out, so none is in the chain of another."""
    from psycopg import rows

    try:
        with connection.transaction(), connection.cursor(row_factory=rows.tuple_row) as cursor:
            in_utf8(connection)
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(_SET)
            cursor.execute(sql, values, binary=False)
            described = cursor.description or []
            return [c.name for c in described], [c.type_code for c in described], cursor.fetchall()
    except Exception:
        return None


def _pieces(
    connection: psycopg.Connection[Any], sql: str, values: list[Any], size: int
) -> Iterator[tuple[list[str], list[int], list[tuple[Any, ...]]] | None]:
    """Run one SELECT and yield its rows in pieces; None when it fails. As for `_quietly`, no exception gets out."""
    from psycopg import rows

    try:
        with connection.transaction():
            in_utf8(connection)
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute(_SET)
            with connection.cursor("discreet_pieces", row_factory=rows.tuple_row) as large:
                large.execute(sql, values, binary=False)
                described = large.description or []
                names, types = [c.name for c in described], [c.type_code for c in described]
                while found := large.fetchmany(size):
                    yield names, types, found
    except Exception:
        failed = True
    else:
        failed = False
    if failed:
        yield None


def _listed(table: pa.Table) -> tuple[str, list[Any]]:
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
        if any(isinstance(value, far.Far) for value in values):
            values = [value.sql() if isinstance(value, far.Far) else value and str(value) for value in values]
        arrays.append(values)
    listed = ", ".join(f"\0ARRAY::{kind}[]" for _, kind in columns)
    named = ", ".join(f"c{at}" for at in range(len(columns)))
    shown = ", ".join(
        f'c{at} COLLATE "C" AS {quote(name)}' if kind == "text" else f"c{at} AS {quote(name)}"
        for at, (name, kind) in enumerate(columns)
    )
    return f"SELECT {shown} FROM unnest({listed}) AS u({named})", arrays


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


def _arrow(name: str) -> Any:
    def kind() -> Any:
        import pyarrow as pa

        return pa.timestamp("us") if name == "timestamp" else getattr(pa, name)()

    return kind


_OIDS = {
    Type.INTEGER: 20, Type.FLOAT: 701, Type.BOOLEAN: 16, Type.TEXT: 25, Type.DATE: 1082, Type.TIMESTAMP: 1114,
}  # fmt: skip
_ARROW = {
    Type.INTEGER: _arrow("int64"), Type.FLOAT: _arrow("float64"), Type.BOOLEAN: _arrow("bool_"),
    Type.TEXT: _arrow("string"), Type.DATE: _arrow("date32"), Type.TIMESTAMP: _arrow("timestamp"),
}  # fmt: skip
