"""Queries over small tables of files and databases, which DuckDB plans once, and which read the tables each time.

Over few rows a query takes many times longer to plan than to run, and DuckDB plans a query over a file or a stored
table each time. It keeps the plan of a query over an object of Python. So a second database has an object in place of
each table. The rows are read for each query through the view of the table, handed over by the object, and let go of.
Names and types of columns are kept, and the plans; the rows of files that have not changed for a while, too
(`kept_rows`).
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.duckdb.connection import connect, for_few_rows, seal
from discreet.engines.duckdb.kept_rows import KeptRows, State
from discreet.engines.duckdb.prepared import PreparedPlans
from discreet.engines.duckdb.queries import run_quietly
from discreet.engines.duckdb.shape import LONGEST_REMEMBERED_QUERY, literals_of
from discreet.engines.duckdb.side_tables import SideTables
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.views import columns_of
from discreet.quoting import quote
from discreet.records import dataclass, field

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

FEW_ROWS = 10_000
"""Up to so many rows in all a query takes longer to plan than to run."""
FEW_BYTES = 1 << 24
"""The most that a table may take in memory while a query reads it."""
SHORT = 400
"""Characters; a shorter query over one table takes longer to read its rows than to plan. Measured."""
MOST_ASKED = 256
"""How many queries are remembered to have been asked once: one that is never asked again needs no database."""
MOST_READ_BY = 64
"""How many ways to read a table are kept: one for each set of columns that is asked for."""
PIECE = 2048
"""Rows that are read at a time; a table that turns out to be large is let go of then."""


def few(origins: Iterable[Origin]) -> bool:
    """Whether all tables lie in memory and have few rows in all."""
    rows = [origin.rows for origin in origins]
    return None not in rows and sum(filter(None, rows)) <= FEW_ROWS


class _QueryRows:
    """Stands for a table; it has the rows of the query that is at work."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema: Final = schema
        self._none: Final = schema.empty_table()
        self.now: pa.Table = self._none

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.now.__arrow_c_stream__(requested_schema)

    def whole(self, read: pa.Table) -> pa.Table:
        """These rows with all columns of the table; those that were not read are NULL."""
        import pyarrow as pa

        found = dict(zip(read.column_names, read.columns, strict=True))
        none = {
            field.name: pa.nulls(read.num_rows, field.type)
            for field in self.schema
            if field.name not in found
        }
        return pa.table({field.name: found.get(field.name, none.get(field.name)) for field in self.schema})

    def take(self, rows: pa.Table) -> None:
        """Have these rows, of which there are all columns."""
        self.now = rows

    def leave(self) -> None:
        """Let go of them."""
        self.now = self._none


@dataclass
class _Table:
    """A table at some version of its data.

    Attributes:
        version: of the data, or the state of its files, which tells more.
        rows: stands for it; None where it is not small, or its columns would be others there.
        few: whether it was read at this version, and is small. A limit takes as long as all the rest of reading it.
        read_by: the ways to read it, by their SQL. Each runs anew whenever it is read; only its names and types are
            kept, which else are looked up each time.
    """

    version: str | State
    rows: _QueryRows | None
    few: bool = False
    read_by: dict[str, duckdb.DuckDBPyRelation] = field(default_factory=dict)

    def relation(self, connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyRelation:
        """The way to read it that some SQL is."""
        if sql not in self.read_by:
            if len(self.read_by) >= MOST_READ_BY:
                self.read_by.clear()
            self.read_by[sql] = connection.sql(sql)
        return self.read_by[sql]


@dataclass
class Small:
    """The second database. Whoever calls holds the engine's lock.

    Args:
        connection: of the engine, with the views.
        versions: by table, in lower case, the way to the version of its data.
        folder: where rows are spilled.
        kept: the rows that stay in memory.
    """

    connection: duckdb.DuckDBPyConnection
    versions: Mapping[str, Callable[[], str]]
    folder: str
    kept: KeptRows = field(default_factory=lambda: KeptRows({}))
    _known: dict[str, _Table] = field(default_factory=dict)
    _second: tuple[duckdb.DuckDBPyConnection, SideTables, PreparedPlans] | None = None
    _changes: int = 0
    _asked: set[tuple[str, ...]] = field(default_factory=set)

    def integers(
        self, sql: str, tables: Mapping[str, pa.Table], names: Iterable[str], why: list[type[Exception]]
    ) -> pa.Table | None:
        """The result of a query, as `run_quietly` gives it; None where it is to be run on the tables themselves.

        Args:
            sql: the query.
            tables: stand beside it.
            names: of all tables that it may read, in lower case.
            why: gets the kind of a failure.
        """
        beside: list[_QueryRows] = []
        left = FEW_ROWS
        if not self._worth(sql, tables):
            return None
        try:
            for name in names:
                state = self.kept.state(name)
                rows = self._at(name, state)
                read = None if rows is None else self._rows(name, state, rows, sql, left)
                if rows is None or read is None:
                    return None
                left -= read.num_rows
                rows.take(read)
                beside.append(rows)
            connection, side, prepared = self._database()
            side.changes += self._changes
            self._changes = 0
            return run_quietly(connection, side, sql, tables, prepared=prepared, why=why)
        except Exception as error:
            why.append(type(error))
            return None
        finally:
            for rows in beside:
                rows.leave()

    def _worth(self, sql: str, tables: Mapping[str, pa.Table]) -> bool:
        """Whether a query is one that takes long to plan, and was asked before, maybe with other literals."""
        if len(sql) > LONGEST_REMEMBERED_QUERY or (len(sql) < SHORT and not tables):
            return False
        pieces = literals_of(sql).pieces
        if pieces in self._asked:
            return True
        if len(self._asked) >= MOST_ASKED:
            self._asked.clear()
        self._asked.add(pieces)
        return False

    def interrupt(self) -> None:
        """Stop the query that runs."""
        if self._second is not None:
            self._second[0].interrupt()

    def close(self) -> None:
        """Let go of the database."""
        if self._second is not None:
            self._second[0].close()

    def _database(self) -> tuple[duckdb.DuckDBPyConnection, SideTables, PreparedPlans]:
        if self._second is None:
            made = connect(temp_directory=self.folder)
            for_few_rows(made)
            seal(made)
            self._second = made, SideTables(made), PreparedPlans(made, usable=True, few=True)
        return self._second

    def _at(self, name: str, state: State | None) -> _QueryRows | None:
        """The object that stands for a table at the present version of its data, or in this state of its files."""
        version, known = state or self.versions[name](), self._known.get(name)
        if known is None or known.version != version:
            known = self._known[name] = _Table(version, self._stand_in(name, known.rows if known else None))
        return known.rows

    def _stand_in(self, name: str, before: _QueryRows | None) -> _QueryRows | None:
        schema = self.connection.sql(f"FROM temp.main.{quote(name)} LIMIT 0").to_arrow_table().schema
        if before is not None and before.schema.equals(schema, True):
            return before
        second = self._database()[0]
        rows, store = _QueryRows(schema), f"rows_{secrets.token_hex(8)}"
        with contextlib.suppress(Exception):  # of a type that does not come through
            second.register(store, rows)
            second.execute(f"CREATE OR REPLACE TEMP VIEW {quote(name)} AS FROM {store}")
            self._changes += 1
            if columns_of(second, quote(name)) == columns_of(self.connection, quote(name)):
                return rows
        return None

    def _rows(
        self, name: str, state: State | None, beside: _QueryRows, sql: str, most: int
    ) -> pa.Table | None:
        """The rows of a table; NULL in the columns that a query cannot read, and None where they are not few."""
        names, text = beside.schema.names, sql.lower()
        used = [column for column in names if quote(column)[1:-1].lower() in text] or names[:1]
        rows = self.kept.find(name, state, used)
        if rows is not None and rows.num_rows <= most and rows.schema.equals(beside.schema):
            return rows
        settled = self.kept.settled(name, state)  # now: while it is read it may be written
        read = self._read(name, used, most)
        if read is None:
            return None
        rows = beside.whole(read)
        if settled:
            self.kept.keep(name, state, used, rows)
        return rows

    def _read(self, name: str, used: Sequence[str], most: int) -> pa.Table | None:
        """The rows of a table in some columns; None where they are not few."""
        import pyarrow as pa

        known = self._known[name]
        limit = "" if known.few else f" LIMIT {FEW_ROWS + 1}"
        text = f"SELECT {', '.join(map(quote, used))} FROM temp.main.{quote(name)}{limit}"
        reader = known.relation(self.connection, text).to_arrow_reader(PIECE)
        rows, size, pieces = 0, 0, []
        try:
            for piece in reader:
                rows, size = rows + piece.num_rows, size + piece.nbytes
                if rows > most or size > FEW_BYTES:
                    known.rows = None  # until it changes
                    return None
                pieces.append(piece)
            known.few = True
            return pa.Table.from_batches(pieces, reader.schema)
        finally:
            reader.close()  # DuckDB runs nothing else before
