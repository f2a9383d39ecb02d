"""The default engine: DuckDB over files, frames and databases."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet import arrow
from discreet.engines.capabilities import Physical
from discreet.engines.duckdb.beside import Beside
from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.connection import connect, for_few_rows, quote, seal
from discreet.engines.duckdb.prepared import Prepared
from discreet.engines.duckdb.shape import Shape, shape_of
from discreet.engines.duckdb.sources.attach import Origin, attach, attach_guest, is_connection
from discreet.engines.duckdb.sources.copies import Copies, unread
from discreet.engines.duckdb.sources.footers import misfit, readable
from discreet.engines.duckdb.units import collations, identity_of
from discreet.engines.engine import NO_TABLES, Choose, failed, no_table, only_integers, see_no_clash
from discreet.engines.folders import Folder
from discreet.engines.schema import ColumnSchema, TableSchema, Type
from discreet.engines.twins import see_no_twin_tables
from discreet.errors import EngineError, SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from duckdb.sqltypes import DuckDBPyType

MOST_SLICES = 64
"""Into how many slices the units are split at most: each reads the table once more."""
PROBED = 1000
"""How many shapes of queries an engine remembers as sound."""
FEW_ROWS = 10_000
"""Up to so many rows in all a query takes longer to plan than to run."""
ROW_BYTES = 300
"""The bytes that DuckDB needs for a row while it looks for the kept rows of each unit; measured, and rounded up."""


class DuckDBEngine:
    """Tables in DuckDB, seen through views whose columns have the logical types and no collation.

    Its connection reads the files that it was opened on and nothing else; its configuration is locked. Calls
    are taken one at a time, since DuckDB gives all cores to one query. What does not fit into memory is
    spilled into a folder that only this user can read, and that goes when the engine is closed.

    Example:
        >>> import pyarrow as pa
        >>> engine = DuckDBEngine.open({"visits": pa.table({"age": [31, 47, None]})})
        >>> engine.schema()["visits"]["age"].type
        <Type.INTEGER: 'INTEGER'>
        >>> engine.integers("SELECT count(age) AS n FROM visits").to_pydict()
        {'n': [2]}
    """

    dialect: str = CAPABILITIES.dialect

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, origins: Mapping[str, Origin], folder: str = ""
    ) -> None:
        self._copies: Final = Copies(folder, self._reread)
        self._connection: Final = connection
        self._beside: Final = Beside(connection)
        in_memory = bool(folder) and not any(
            one.files or one.paths or one.pattern for one in origins.values()
        )
        self._fixed: Final = bool(folder) and all(one.rows is not None for one in origins.values())
        self._prepared: Final = Prepared(connection, in_memory, bool(folder) and _few(origins.values()))
        self._origins: Final = dict(origins)
        self._lock: Final = threading.Lock()
        self._clear: weakref.finalize[..., DuckDBEngine] | None = None
        see_no_twin_tables(origins)
        self._opened: Final = {table.lower(): origin.version() for table, origin in origins.items()}
        self._schema: Final = MappingProxyType(
            {table: _make_view(connection, table, origin) for table, origin in origins.items()}
        )
        self.files: Final = tuple(dict.fromkeys(file for one in origins.values() for file in one.files))
        self.patterns: Final = tuple(dict.fromkeys(one.pattern for one in origins.values() if one.pattern))
        self.csv_tables: frozenset[str] = frozenset(
            table.lower() for table, one in origins.items() if one.csv
        )
        self._files: Final = {table.lower(): (quote(table), one.parquet) for table, one in origins.items()}
        self._shapes: Final = {name: _shape(connection, quoted) for name, (quoted, _) in self._files.items()}
        self._probed: dict[Shape, str] = {}
        self._versions: Final = {table.lower(): origin.version for table, origin in origins.items()}

    @classmethod
    def open(
        cls, sources: Mapping[str, object], types: Mapping[str, Mapping[str, Type] | None] | None = None
    ) -> DuckDBEngine:
        """Open one table for each name; `sources.open_source` says what a source may be.

        Args:
            sources: table name -> path, url, frame or connection.
            types: table name -> column -> type, for CSV files; None for a public one, whose types are looked up.

        Raises:
            SourceError: a source cannot be opened, or two of them cannot be opened together.
        """
        return cls.open_all([(name, source, (types or {}).get(name, {})) for name, source in sources.items()])

    @classmethod
    def open_all(
        cls, sources: Iterable[tuple[str | None, object, Mapping[str, Type] | None]]
    ) -> DuckDBEngine:
        """Open (name, source, types of a CSV file) each; a database without a name gives all its tables.

        Raises:
            SourceError: as for `open`.
        """
        listed = list(sources)
        if not listed:
            raise SourceError("There is no source.", "Give at least one table.")
        guests = {id(source): source for _, source, _ in listed if is_connection(source)}
        if guests:
            if len(guests) > 1 or not all(is_connection(source) for _, source, _ in listed):
                raise SourceError(
                    "A DuckDB connection cannot be opened together with another source.",
                    "Make the other tables visible inside that connection, and pass it alone.",
                )
            (guest,) = guests.values()
            return cls(*attach_guest(guest, [name for name, _, _ in listed]))
        folder = Folder("discreet-")
        connection = connect(temp_directory=str(folder.path))
        try:
            origins: dict[str, Origin] = {}
            for name, source, types in listed:
                for table, origin in attach(connection, name, source, types).items():
                    if table.lower() in map(str.lower, origins):
                        raise SourceError(f"Two tables are called {table}.", "Give each its own name.")
                    origins[table] = origin
            # The views are made behind the seal, so that one that would reach outside is refused here
            # and not after a charge.
            if _few(origins.values()):
                for_few_rows(connection)
            mended = str(folder.path / "mended")
            seal(connection, [path for origin in origins.values() for path in origin.paths], mended)
            engine = cls(connection, origins, mended)
        except BaseException:
            connection.close()
            folder.remove()
            raise
        engine._clear = weakref.finalize(engine, _clear, connection, folder, os.getpid())
        return engine

    @cached_property
    def slices(self) -> int:
        """Into how many slices the units are split, so that what is kept of each unit fits into memory.

        DuckDB holds the rows that are kept of every unit until the last row is read, and spills none of them. So a
        slice has as many rows as fit into half of the memory that it may use. Its estimate of the sizes of tables
        decides, which is metadata; nothing but the time and the memory of an answer hangs on it.
        """
        rows = 0
        with self._lock, contextlib.suppress(Exception):  # no estimate: one slice
            for table in self._schema:
                sql = f"EXPLAIN (FORMAT json) SELECT * FROM {quote(table)}"
                ((_, text),) = self._connection.execute(sql).fetchall()
                rows = max(rows, *map(int, re.findall(r'"Estimated Cardinality": "(\d+)"', text)))
            return min(MOST_SLICES, 1 + rows // _rows_at_once(self._connection))
        return 1

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table as it was at opening."""
        return self._schema

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: what leaves is a table of int64 without NULL, or an error that is the same whatever the data.

        Raises:
            EngineError: DuckDB failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        return only_integers(self._run(sql, tables, numbers=True))

    def batches(
        self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES, rows: int = 1 << 16
    ) -> Iterator[pa.Table]:
        """Run one aggregate query and yield its integers in pieces; see `engine.in_batches`.

        What does not fit into the memory of the database while it sorts is spilled as the class says. No other query
        runs until the last piece was taken or the iterator was closed.

        Raises:
            EngineError: as for `integers`.
        """
        see_no_clash(tables, self._versions)
        with self._lock:
            registered: list[str] = []
            reader = None
            self._beside.forget()
            try:
                reader, piece = self._started(sql, tables, rows, registered)
                while piece is not None:
                    yield only_integers(piece)
                    piece = _next(reader)
            finally:
                if reader is not None:
                    reader.close()  # DuckDB runs nothing else before
                for name in registered:
                    self._connection.unregister(name)

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Choose) -> pa.Table:
        """Run one query of groups and return the keys of the chosen ones; see `Engine.keys`.

        The groups are kept in a temporary table between the two looks at them, so that both see the same.

        Raises:
            EngineError: DuckDB failed or was interrupted.
        """
        import pyarrow as pa

        groups, wanted = "__discreet_groups", "__discreet_wanted"
        made = f"SELECT row_number() OVER () - 1 AS __at, * FROM ({sql}) AS g"
        with self._lock:
            try:
                counts = self._surely(made, tables, into=groups)
                if counts is None:
                    raise failed()
                at = np.asarray(choose(arrow.numbers(counts.column("n"))), np.int64)
                order = pa.table({"__at": arrow.column(at), "place": arrow.column(np.arange(len(at)))})
                joined = f"{groups} AS g JOIN {wanted} AS w USING (__at)"
                chosen = f"SELECT g.* EXCLUDE (__at, n) FROM {joined} ORDER BY w.place"
                keys = _quietly(self._connection, self._beside, chosen, {wanted: order})
                if keys is None:
                    raise failed()
                return keys
            finally:
                self._connection.execute(f"DROP TABLE IF EXISTS temp.main.{groups}")

    def public(self, table: str) -> pa.Table:
        """Return the whole content of a table that the policy calls public, in its logical types.

        Raises:
            EngineError: there is no such table, or DuckDB failed.
        """
        found = next((schema for name, schema in self._schema.items() if name.lower() == table.lower()), None)
        if found is None:
            raise no_table(table)
        return self._run(f"SELECT {', '.join(map(quote, found))} FROM temp.main.{quote(table)}", NO_TABLES)

    def version(self, table: str) -> str:
        """Return a text that changes when the data of the table may have changed; reads no data.

        Raises:
            EngineError: there is no such table.
        """
        if table.lower() not in self._versions:
            raise no_table(table)
        return self._versions[table.lower()]()

    def probe(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> bool:
        """Whether a query could be run, as far as that can be known without reading a row; see `query.probe`."""
        with self._lock:
            self._copies.drop({table: self._versions[table.lower()]() for table in self._schema})
        used = {name for name in self._files if name in sql.lower()}
        if not all(readable(self._files[name][1]) for name in used):
            return False
        state = repr(sorted((name, self._versions[name]()) for name in used))
        key = shape_of(sql, tables)
        with self._lock:
            whole = self._probed.get(key) == state and self._bound(used)
            if not whole:
                self._beside.forget()
                whole = self._fitting(used) and self._bound(used) and _binds(self._connection, sql, tables)
                if whole and len(self._probed) < PROBED:
                    self._probed[key] = state
        return whole

    def _bound(self, used: Collection[str]) -> bool:
        """Whether the views still show what they showed: a file may be another one, a table of the caller's gone."""
        return self._fixed or all(
            _shape(self._connection, self._files[name][0]) == self._shapes[name] for name in used
        )

    def _fitting(self, used: Collection[str]) -> bool:
        """Whether the files of each table have one schema; asked again only when one of them has changed."""
        for name in used:
            files, version = self._files[name][1], self._versions[name]()
            if len(files) > 1 and version != self._opened[name]:
                if misfit(self._connection, files) is not None:
                    return False
                self._opened[name] = version
        return True

    def interrupt(self) -> None:
        """Stop the query that another thread is running, which then raises `EngineError`."""
        self._connection.interrupt()

    def close(self) -> None:
        """Stop what is running and release the data; further queries raise `EngineError`."""
        self._connection.interrupt()
        with self._lock:
            self._connection.close()
            if self._clear is not None:
                self._clear()

    def _run(self, sql: str, tables: Mapping[str, pa.Table], numbers: bool = False) -> pa.Table:
        see_no_clash(tables, self._versions)
        with self._lock:
            result = self._surely(sql, tables, numbers=numbers)
        if result is None:
            raise failed()
        return result

    def _surely(
        self, sql: str, tables: Mapping[str, pa.Table], into: str = "", numbers: bool = False
    ) -> pa.Table | None:
        """Run one SELECT, once more where a value of a file could not be read; None when it fails."""
        why: list[type[Exception]] = []
        result = _quietly(
            self._connection, self._beside, sql, tables, into, self._prepared if numbers else None, why
        )
        if result is None and unread(why) and self._mend(sql):
            result = _quietly(
                self._connection, self._beside, sql, tables, into, self._prepared if numbers else None
            )
        return result

    def _started(
        self, sql: str, tables: Mapping[str, pa.Table], rows: int, registered: list[str]
    ) -> tuple[pa.RecordBatchReader, pa.Table | None]:
        """A reader and its first piece; by then every value was read."""
        why: list[type[Exception]] = []
        for again in (True, False):
            try:
                reader = _reader(self._connection, sql, tables, rows, registered, why)
                return reader, _next(reader, why)
            except EngineError:
                if not (again and unread(why) and self._mend(sql)):
                    raise
        raise failed()

    def _reread(self, table: str, relation: str) -> TableSchema:
        """Let the view of a table read another relation."""
        return _make_view(self._connection, table, replace(self._origins[table], relation=relation))

    def _mend(self, sql: str) -> bool:
        """Read copies of the files of a query that hold what DuckDB cannot read; whether there are such."""
        mended = False
        for table, schema in self._schema.items():
            files = self._files[table.lower()][1]
            if files and table.lower() in sql.lower():
                mended |= self._copies.take(table, files, self._versions[table.lower()](), schema)
        return mended


def _few(origins: Iterable[Origin]) -> bool:
    """Whether all tables lie in memory and have few rows in all."""
    rows = [one.rows for one in origins]
    return None not in rows and sum(filter(None, rows)) <= FEW_ROWS


def _rows_at_once(connection: duckdb.DuckDBPyConnection) -> int:
    """How many rows fit into half of the memory that DuckDB may use."""
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    size = float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)
    return max(1, int(size / 2 / ROW_BYTES))


def _quietly(
    connection: duckdb.DuckDBPyConnection,
    beside: Beside,
    sql: str,
    tables: Mapping[str, pa.Table],
    into: str = "",
    prepared: Prepared | None = None,
    why: list[type[Exception]] | None = None,
) -> pa.Table | None:
    """Run one SELECT; None when it fails. No exception gets out, so none is in the chain of another.

    With `into` its result stays inside, in a temporary table of this name, and only the column `n` is returned. With
    `prepared` only numbers of 64 bits are read, which takes a few milliseconds less. Of a failure, `why` gets the kind.
    """
    import duckdb

    try:
        beside.take(tables)
        if prepared is not None and (again := prepared.instead(sql, beside.changes)) is not None:
            return _numbers(connection.execute(again).fetchnumpy())
        (statement,) = connection.extract_statements(sql)
        if statement.type != duckdb.StatementType.SELECT:
            return None
        if into:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {into} AS {sql}")
            return connection.sql(f"SELECT n FROM temp.main.{into} ORDER BY __at").to_arrow_table()
        if prepared is not None:  # a relation would be planned twice
            return _numbers(connection.execute(statement).fetchnumpy())
        return connection.sql(statement).to_arrow_table()
    except Exception as error:
        if why is not None:
            why.append(type(error))
        return None
    finally:
        beside.leave(tables)


def _numbers(found: Mapping[str, Any]) -> pa.Table:
    """Columns of int64 as a table; a column of something else has no type in it, which `only_integers` refuses."""
    import pyarrow as pa

    def plain(values: Any) -> bool:  # one with a mask has NULL in it
        return type(values) is np.ndarray and values.dtype == np.int64

    length = min(map(len, found.values()), default=0)
    return pa.table({n: arrow.column(v) if plain(v) else pa.nulls(length) for n, v in found.items()})


def _reader(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    tables: Mapping[str, pa.Table],
    rows: int,
    registered: list[str],
    why: list[type[Exception]],
) -> pa.RecordBatchReader:
    """Start one SELECT; whoever calls unregisters the tables. What DuckDB says of a failure stays in here."""
    import duckdb

    reader = None
    try:
        for name, table in tables.items():
            connection.register(name, table)
            registered.append(name)
        (statement,) = connection.extract_statements(sql)
        if statement.type == duckdb.StatementType.SELECT:
            reader = connection.sql(statement).to_arrow_reader(rows)
    except Exception as error:
        why.append(type(error))
    if reader is None:
        raise failed()
    return reader


def _next(reader: pa.RecordBatchReader, why: list[type[Exception]] | None = None) -> pa.Table | None:
    """The next piece of a result; None at its end."""
    import pyarrow as pa

    piece, ended = None, False
    try:
        piece = pa.Table.from_batches([reader.read_next_batch()])
    except StopIteration:
        ended = True
    except Exception as error:
        ended = False
        if why is not None:
            why.append(type(error))
    if piece is None and not ended:
        raise failed()
    return piece


def _shape(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]] | None:
    """The columns of a view and their types, as they are now; None when there are none."""
    import duckdb

    try:
        found = connection.sql(f"FROM temp.main.{table}")
        return list(zip(found.columns, map(str, found.types), strict=True))
    except duckdb.Error:
        return None


def _binds(connection: duckdb.DuckDBPyConnection, sql: str, tables: Mapping[str, pa.Table]) -> bool:
    """Whether a SELECT can be planned, over tables without rows in place of those that stand beside it."""
    registered = []
    try:
        for name, table in tables.items():
            connection.register(name, table.slice(0, 0))
            registered.append(name)
        return bool(connection.sql(sql).columns)
    except Exception:
        return False
    finally:
        for name in registered:
            connection.unregister(name)


def _clear(connection: duckdb.DuckDBPyConnection, folder: Folder, process: int) -> None:
    if os.getpid() != process:
        return  # a forked child has neither the threads of the connection nor a right to the folder
    connection.close()
    folder.remove()


def _make_view(connection: duckdb.DuckDBPyConnection, table: str, origin: Origin) -> TableSchema:
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
            fields[name] = replace(_column(name, kind), identity=identity, twin=name.lower() in origin.twins)
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


def _listed_as(kind: DuckDBPyType) -> str:
    """The name under which the table of types has one; JSON is stored as text but is none."""
    return "json" if str(kind) == "JSON" else str(kind.id)


def _physical(kind: DuckDBPyType) -> Physical:
    return CAPABILITIES.physical(_listed_as(kind))


def _shown(name: str, kind: DuckDBPyType) -> str:
    return f"{_physical(kind).read.format(quote(name))} AS {quote(name)}"


def _column(name: str, kind: DuckDBPyType) -> ColumnSchema:
    return CAPABILITIES.column(name, _listed_as(kind))
