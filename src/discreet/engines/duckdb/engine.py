"""The default engine: DuckDB over files, frames and databases."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet import arrow
from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.connection import connect, for_few_rows, make_total, no_bar, rows_at_once, seal
from discreet.engines.duckdb.kept_rows import KeptRows
from discreet.engines.duckdb.lanes import Lane, Lanes, cursors
from discreet.engines.duckdb.prepared import PreparedPlans
from discreet.engines.duckdb.probing import Probing
from discreet.engines.duckdb.queries import interrupted, next_piece, run_quietly, start_reader
from discreet.engines.duckdb.side_tables import SideTables
from discreet.engines.duckdb.small import Small, few
from discreet.engines.duckdb.sources.attach import attach
from discreet.engines.duckdb.sources.copies import Copies, unread
from discreet.engines.duckdb.sources.databases import attach_connection, is_connection
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.views import columns_of, make_view, make_view_by
from discreet.engines.engine import NO_TABLES, Choose, failed, no_table, only_integers, see_no_clash, taken
from discreet.engines.folders import Folder
from discreet.engines.schema import TableSchema, Type
from discreet.engines.twins import see_no_twin_tables
from discreet.errors import EngineError, SourceError
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MOST_SLICES = 64
"""Into how many slices the units are split at most: each reads the table once more."""


class DuckDBEngine:
    """Tables in DuckDB, seen through views whose columns have the logical types and no collation.

    Its connections read the files that it was opened on and nothing else; their configuration is locked. Queries are
    taken one at a time, since DuckDB gives all cores to one; over few rows some run at once (`lanes`), and probes wait
    for none (`probing`). Rows beyond memory are spilled into a folder that only this user can read, and that goes when
    the engine is closed.

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
        self,
        connection: duckdb.DuckDBPyConnection,
        origins: Mapping[str, Origin],
        aside: duckdb.DuckDBPyConnection,
        folder: str = "",
        further: Sequence[duckdb.DuckDBPyConnection] = (),
    ) -> None:
        self._copies: Final = Copies(folder, self._reread)
        self._connection: Final = connection
        self._beside: Final = SideTables(connection)
        in_memory = bool(folder) and not any(
            origin.files or origin.paths or origin.pattern for origin in origins.values()
        )
        self._prepared: Final = PreparedPlans(connection, in_memory, bool(folder) and few(origins.values()))
        self._origins: Final = dict(origins)
        self._lock: Final = threading.Lock()
        self._clear: weakref.finalize[..., DuckDBEngine] | None = None
        see_no_twin_tables(origins)
        opened = {table.lower(): origin.version() for table, origin in origins.items()}
        views = {table: make_view_by(connection, table, origin) for table, origin in origins.items()}
        self._schema: Final = MappingProxyType({table: schema for table, (schema, _) in views.items()})
        self.files: Final = tuple(dict.fromkeys(file for origin in origins.values() for file in origin.files))
        self.patterns: Final = tuple(
            dict.fromkeys(origin.pattern for origin in origins.values() if origin.pattern)
        )
        self.csv_tables: frozenset[str] = frozenset(
            table.lower() for table, origin in origins.items() if origin.csv
        )
        self._files: Final = {table.lower(): origin.parquet for table, origin in origins.items()}
        shapes = {table.lower(): columns_of(connection, quote(table)) for table in origins}
        unchanging = bool(folder) and all(origin.rows is not None for origin in origins.values())
        made = {table: sql for table, (_, sql) in views.items()}
        self._probing: Final = Probing(aside, origins, opened, made, shapes, unchanging)
        self._versions: Final = {table.lower(): origin.version for table, origin in origins.items()}
        kept = KeptRows(self._files)
        second = partial(Small, versions=self._versions, folder=os.path.dirname(folder), kept=kept)
        self._small: Final = None if in_memory or not folder else second(connection)
        own = further if self._small is not None or few(origins.values()) else ()
        lanes = [Lane(cursor, origins, self._schema, self._small and second(cursor)) for cursor in own]
        self._lanes: Final = Lanes(lanes, lambda: self._copies.none)

    @classmethod
    def open(
        cls, sources: Mapping[str, object], types: Mapping[str, Mapping[str, Type] | None] | None = None
    ) -> DuckDBEngine:
        """Open one table for each name; `sources.open_source` lists the kinds of sources.

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
            cursor, found = attach_connection(guest, [name for name, _, _ in listed])
            aside = cursor.cursor()
            make_total(aside)
            return cls(cursor, found, aside)
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
            if few(origins.values()):
                for_few_rows(connection)
            mended, further, aside = str(folder.path / "mended"), cursors(connection), connection.cursor()
            no_bar(aside)
            seal(connection, [path for origin in origins.values() for path in origin.paths], mended)
            engine = cls(connection, origins, aside, mended, further)
        except BaseException:
            connection.close()
            folder.remove()
            raise
        engine._clear = weakref.finalize(engine, _clear, connection, folder, os.getpid())
        return engine

    @cached_property
    def slices(self) -> int:
        """Into how many slices the units are split, so that the kept rows of each unit fit into memory.

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
            return min(MOST_SLICES, 1 + rows // rows_at_once(self._connection))
        return 1

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table at the time of opening."""
        return self._schema

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: a table of int64 without NULL leaves, or an error that is the same for all data.

        Raises:
            EngineError: DuckDB failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        return only_integers(self._run(sql, tables, numbers=True))

    def batches(
        self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES, rows: int = 1 << 16
    ) -> Iterator[pa.Table]:
        """Run one aggregate query and yield its integers in pieces; see `engine.in_batches`.

        Rows that do not fit into the memory of the database while it sorts are spilled as the class says. No other
        query runs until the last piece was taken or the iterator was closed.

        Raises:
            EngineError: as for `integers`.
        """
        see_no_clash(tables, self._versions)
        with self._lock:
            self._read_anew()
            registered: list[str] = []
            reader = None
            self._beside.forget()
            try:
                reader, piece = self._started(sql, tables, rows, registered)
                while piece is not None:
                    yield only_integers(piece)
                    piece = next_piece(reader)
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
            self._read_anew()
            try:
                counts = self._surely(made, tables, into=groups)
                if counts is None:
                    raise failed()
                indices = np.asarray(choose(arrow.numbers(counts.column("n"))), np.int64)
                order = pa.table(
                    {"__at": arrow.column(indices), "place": arrow.column(np.arange(len(indices)))}
                )
                joined = f"{groups} AS g JOIN {wanted} AS w USING (__at)"
                chosen = f"SELECT g.* EXCLUDE (__at, n) FROM {joined} ORDER BY w.place"
                keys = run_quietly(self._connection, self._beside, chosen, {wanted: order})
                if keys is None:
                    raise failed()
                return keys
            finally:
                self._connection.execute(f"DROP TABLE IF EXISTS temp.main.{groups}")

    def public(self, table: str, columns: Collection[str] | None = None) -> pa.Table:
        """Return the content of a table that the policy calls public, or some columns, in logical types.

        Raises:
            EngineError: there is no such table, or DuckDB failed.
        """
        found = next((schema for name, schema in self._schema.items() if name.lower() == table.lower()), None)
        if found is None:
            raise no_table(table)
        shown = [quote(n) for n, c in found.items() if not c.within and (columns is None or n in columns)]
        return self._run(f"SELECT {', '.join(shown)} FROM temp.main.{quote(table)}", NO_TABLES)

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
        return self._probing.whole(sql, tables, self._used(sql))

    def _used(self, sql: str) -> list[str]:
        """All tables that a query may read, in lower case."""
        return [name for name in self._files if quote(name)[1:-1] in sql.lower()]

    def interrupt(self) -> None:
        """Stop the query that another thread is running, which then raises `EngineError`."""
        self._connection.interrupt()
        self._probing.interrupt()
        self._lanes.interrupt()
        if self._small is not None:
            self._small.interrupt()

    def close(self) -> None:
        """Stop the running query and release the data; further queries raise `EngineError`."""
        self.interrupt()
        with self._lock:
            self._lanes.close()
            self._probing.close()
            self._connection.close()
            if self._small is not None:
                self._small.close()
            if self._clear is not None:
                self._clear()

    def _run(self, sql: str, tables: Mapping[str, pa.Table], numbers: bool = False) -> pa.Table:
        see_no_clash(tables, self._versions)
        if numbers:
            with taken(self._lock) as free:
                if free:
                    return self._here(sql, tables, numbers)
            if (beside := self._lanes.integers(sql, tables, self._used(sql))) is not None:
                return beside
        with self._lock:
            return self._here(sql, tables, numbers)

    def _here(self, sql: str, tables: Mapping[str, pa.Table], numbers: bool) -> pa.Table:
        """The result on the engine's own connection, whose lock is held."""
        self._read_anew()
        if (result := self._surely(sql, tables, numbers=numbers)) is None:
            raise failed()
        return result

    def _surely(
        self, sql: str, tables: Mapping[str, pa.Table], into: str = "", numbers: bool = False
    ) -> pa.Table | None:
        """Run one SELECT, once more where a value of a file could not be read; None when it fails."""
        why: list[type[Exception]] = []
        if numbers and self._small is not None:
            result = self._small.integers(sql, tables, self._used(sql), why)
            if result is not None or interrupted(why):
                return result
            why.clear()
        prepared = self._prepared if numbers else None
        result = run_quietly(self._connection, self._beside, sql, tables, into, prepared, why)
        if result is None and unread(why) and self._mend(sql):
            result = run_quietly(self._connection, self._beside, sql, tables, into, prepared)
        return result

    def _started(
        self, sql: str, tables: Mapping[str, pa.Table], rows: int, registered: list[str]
    ) -> tuple[pa.RecordBatchReader, pa.Table | None]:
        """A reader and its first piece; by then every value was read."""
        why: list[type[Exception]] = []
        for again in (True, False):
            try:
                reader = start_reader(self._connection, sql, tables, rows, registered, why)
                return reader, next_piece(reader, why)
            except EngineError:
                if not (again and unread(why) and self._mend(sql)):
                    raise
        raise failed()

    def _reread(self, table: str, relation: str) -> TableSchema:
        """Let the view of a table read another relation."""
        return make_view(self._connection, table, replace(self._origins[table], relation=relation))

    def _read_anew(self) -> None:
        """Read files themselves that have changed since they were copied; the lock is held."""
        if not self._copies.none:
            self._copies.drop({table: self._versions[table.lower()]() for table in self._schema})

    def _mend(self, sql: str) -> bool:
        """Read copies of the files of a query that hold values DuckDB cannot read; whether there are any."""
        mended = False
        for table, schema in self._schema.items():
            files = self._files[table.lower()]
            if files and table.lower() in sql.lower():
                mended |= self._copies.take(table, files, self._versions[table.lower()](), schema)
        return mended


def _clear(connection: duckdb.DuckDBPyConnection, folder: Folder, process: int) -> None:
    if os.getpid() != process:
        return  # a forked child has neither the threads of the connection nor a right to the folder
    connection.close()
    folder.remove()
