"""The default engine: DuckDB over files, frames and databases."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from discreet.engines import attach as attaching
from discreet.engines.connection import connect, make_total, quote, seal
from discreet.engines.engine import NO_TABLES
from discreet.engines.schema import ColumnSchema, TableSchema, Type
from discreet.errors import EngineError, SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_INTEGERS = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
}
# The types that are not what queries see: how they are turned into it. TRY_CAST, since seconds may overflow.
_CAST = {
    "FLOAT": "DOUBLE",
    "UBIGINT": "DOUBLE",
    "HUGEINT": "DOUBLE",
    "UHUGEINT": "DOUBLE",
    "DECIMAL": "DOUBLE",
    "ENUM": "VARCHAR",
    "UUID": "VARCHAR",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
}
_LOGICAL = {
    "DOUBLE": Type.FLOAT,
    "BOOLEAN": Type.BOOLEAN,
    "VARCHAR": Type.TEXT,
    "DATE": Type.DATE,
    "TIMESTAMP": Type.TIMESTAMP,
}


class DuckDBEngine:
    """Tables in DuckDB, seen through views whose columns have the logical types and nothing else.

    Calls are serialised by a lock: DuckDB uses all cores for one query as it is.

    Example:
        >>> import pyarrow as pa
        >>> engine = DuckDBEngine.open({"visits": pa.table({"age": [31, 47, None]})})
        >>> engine.schema()["visits"]["age"].type
        <Type.INTEGER: 'INTEGER'>
        >>> engine.integers("SELECT count(age) AS n FROM visits").to_pydict()
        {'n': [2]}
    """

    dialect: str = "duckdb"

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, origins: Mapping[str, attaching.Origin]
    ) -> None:
        self._connection = connection
        self._origins: Final = dict(origins)
        self._lock = threading.Lock()
        self._schema = MappingProxyType(
            {table: _view(connection, table, origin.relation) for table, origin in origins.items()}
        )

    @classmethod
    def open(
        cls, sources: Mapping[str, object], types: Mapping[str, Mapping[str, Type]] | None = None
    ) -> DuckDBEngine:
        """Open one table for each name; see `sources.open_source` for what a source may be.

        Args:
            sources: table name -> path, url, frame or connection.
            types: table name -> column -> type, for CSV files.

        Raises:
            SourceError: a source cannot be opened, or two of them cannot be opened together.
        """
        return cls._open(dict(sources), types or {})

    @classmethod
    def _open(
        cls, sources: Mapping[str | None, object], types: Mapping[str | None, Mapping[str, Type]]
    ) -> DuckDBEngine:
        if not sources:
            raise SourceError("There is no source.", "Give at least one table.")
        guests = {id(source): source for source in sources.values() if _is_connection(source)}
        if guests:
            return cls._guest(sources, guests)
        connection = connect()
        try:
            origins: dict[str, attaching.Origin] = {}
            for name, source in sources.items():
                for table, origin in attaching.attach(connection, name, source, types.get(name)).items():
                    if table.lower() in (known.lower() for known in origins):
                        raise SourceError(f"Two sources are called {table}.", "Give each its own name.")
                    origins[table] = origin
            engine = cls(connection, origins)
            seal(connection, [path for origin in origins.values() for path in origin.paths])
        except BaseException:
            connection.close()
            raise
        return engine

    @classmethod
    def _guest(cls, sources: Mapping[str | None, object], guests: Mapping[int, object]) -> DuckDBEngine:
        """Open tables of somebody else's connection, through a cursor of it."""
        if len(guests) > 1 or len(sources) != sum(_is_connection(source) for source in sources.values()):
            raise SourceError(
                "A DuckDB connection cannot be opened together with another source.",
                "Make the other tables visible inside that connection, and pass it alone.",
            )
        connection = next(iter(guests.values())).cursor()  # type: ignore[attr-defined]
        make_total(connection)
        row = connection.execute("SELECT current_database()").fetchone()
        version = attaching.frozen_version()
        origins: dict[str, attaching.Origin] = {}
        for name in sources:
            origins |= attaching.tables_of(connection, row[0], name, name, version)
        return cls(connection, origins)

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table as it was at opening."""
        return self._schema

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query; see `Engine.integers`.

        Raises:
            EngineError: DuckDB failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        result = self._run(sql, tables)
        import pyarrow as pa

        if result is None or any(
            column.type != pa.int64() or column.null_count for column in result.itercolumns()
        ):
            raise EngineError(
                "The engine returned something else than integers.",
                "This is a fault of discreet; please report it.",
            )
        return result

    def public(self, table: str) -> pa.Table:
        """Return the whole content of a table that the policy calls public.

        Raises:
            EngineError: there is no such table, or DuckDB failed.
        """
        return self._run(f"SELECT * FROM {quote(table)}", NO_TABLES)

    def version(self, table: str) -> str:
        """Return a text that changes when the data of the table may have changed; reads no data.

        Raises:
            EngineError: there is no such table.
        """
        for name, origin in self._origins.items():
            if name.lower() == table.lower():
                return origin.version()
        raise EngineError(f"There is no table {table}.", "Check the name.")

    def interrupt(self) -> None:
        """Stop the query that another thread is running, which then raises `EngineError`."""
        self._connection.interrupt()

    def close(self) -> None:
        """Release the data; further calls raise `EngineError`."""
        self._connection.close()

    def _run(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        known = {name.lower() for name in self._origins}
        assert not known & {name.lower() for name in tables}, "a key list may not hide a table"
        with self._lock:
            failed = False
            registered = []
            try:
                for name, table in tables.items():
                    self._connection.register(name, table)
                    registered.append(name)
                statements = self._connection.extract_statements(sql)
                assert len(statements) == 1
                return self._connection.sql(sql).to_arrow_table()
            except Exception:
                failed = True
            finally:
                for name in registered:
                    self._connection.unregister(name)
        # Raised outside of the handler, so that not even the chain of the error quotes the engine.
        assert failed
        raise EngineError(
            "The engine could not finish the query.",
            "What it said is withheld, since it may quote a value; check that the data is still in place.",
        )


def _is_connection(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyConnection"


def _view(connection: duckdb.DuckDBPyConnection, table: str, relation: str) -> TableSchema:
    """Make the view of a table and return its schema."""
    import duckdb

    failed = False
    try:
        source = connection.sql(f"FROM {relation}")
        names, kinds = source.columns, [re.sub(r"\(.*\)$", "", str(kind)) for kind in source.types]
        columns = [
            f"TRY_CAST({quote(name)} AS {_CAST[kind]}) AS {quote(name)}" if kind in _CAST else quote(name)
            for name, kind in zip(names, kinds, strict=True)
        ]
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {quote(table)} AS SELECT {', '.join(columns)} FROM {relation}"
        )
    except duckdb.Error:
        failed = True
    if failed:
        raise SourceError(
            f"The table {table} cannot be opened.", "Check that the file is whole and may be read."
        )
    return MappingProxyType({name: _column(name, kind) for name, kind in zip(names, kinds, strict=True)})


def _column(name: str, kind: str) -> ColumnSchema:
    if kind in _INTEGERS:
        lo, hi = _INTEGERS[kind]
        return ColumnSchema(name, Type.INTEGER, lo, hi)
    return ColumnSchema(name, _LOGICAL.get(_CAST.get(kind, kind), Type.OTHER))
