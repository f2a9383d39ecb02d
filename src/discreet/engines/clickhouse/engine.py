"""ClickHouse: one aggregate query runs where the data is, integers come back.

Nothing is created on the server: the views of tables, and the key lists beside them, stand in front of each query as
WITH. Dates are seen as days and time stamps as microseconds since 1970, in every type that ClickHouse stores them in.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet import arrow
from discreet.engines.capabilities import Spelling
from discreet.engines.clickhouse.capabilities import CAPABILITIES
from discreet.engines.clickhouse.line import ClickHouseConnection, dial
from discreet.engines.clickhouse.lists import listed
from discreet.engines.clickhouse.settings import CLAUSE
from discreet.engines.clickhouse.tables import ClickHouseTable, find, literal
from discreet.engines.engine import NO_TABLES, Choose, failed, no_table, only_integers, see_no_clash
from discreet.engines.schema import TableSchema, Type
from discreet.errors import SourceError
from discreet.quoting import quote_for_clickhouse as quote

if TYPE_CHECKING:
    import pyarrow as pa

_OF_PARTS = "SELECT name, toString(modification_time) AS at FROM system.parts WHERE active"


class ClickHouseEngine:
    """Tables of one ClickHouse. Queries are taken one at a time.

    Privacy: on a server that was opened from a url, versions and probes wait for no query, so that none of them ends
    when that of another analyst does. On an open client and on the embedded ClickHouse they wait.
    """

    dialect: str = CAPABILITIES.dialect
    spelling: Spelling = CAPABILITIES.spelling
    lacks: frozenset[str] = CAPABILITIES.lacks

    def __init__(self, line: ClickHouseConnection, tables: Mapping[str, ClickHouseTable]) -> None:
        self._line: Final = line
        self._tables: Final = dict(tables)
        self._lock: Final = threading.Lock()
        self._closed = False
        self._token: Final = secrets.token_hex(16)
        self.place: str | None = line.place

    @classmethod
    def open_all(cls, sources: Iterable[tuple[str | None, object]]) -> ClickHouseEngine:
        """Open (name, source) each: `clickhouse://host/database#table`, `clickhouse:folder#table`, or an open client.

        A url with // names a server, by HTTP; one without, a folder of the embedded ClickHouse. An open client
        is one of clickhouse-connect, or a session of chdb. Without a table all of the current database are there.

        Raises:
            SourceError: there is no way to it, it is too old, its user may not choose settings, or there is no such
                table.
        """
        given = list(sources)
        bases = {_base(source) for _, source in given}
        if len(bases) != 1:
            raise SourceError("Tables of several ClickHouse sources cannot be opened together.", "Use one.")
        line = dial(given[0][1])
        try:
            if _quietly(line, "SELECT toInt64(1) AS one") is None:
                raise SourceError(
                    "This ClickHouse does not take the settings that decide the meaning of a query.",
                    "Use version 26 or newer, and a user who may change settings: one with readonly = 2, not 1.",
                )
            tables: dict[str, ClickHouseTable] = {}
            for name, source in given:
                fragment = source.partition("#")[2] if isinstance(source, str) else ""
                tables.update(find(lambda sql: _surely(line, sql), name, fragment or None))
        except BaseException:
            line.close()
            raise
        return cls(line, tables)

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table at the time of opening."""
        return MappingProxyType({name: table.schema for name, table in self._tables.items()})

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: a table of int64 without NULL leaves, or an error that is the same for all data.

        Raises:
            EngineError: ClickHouse failed or was interrupted, or the result is not all Int64 without NULL.
        """
        return only_integers(self._run(sql, tables))

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Choose) -> pa.Table:
        """Run one query of groups and return the keys of those that are chosen by their counts; see `Engine.keys`.

        Privacy: the counts are read first, beside a hash of each group that is keyed for this call alone; of the keys,
        only those that are chosen leave the server.

        Raises:
            EngineError: ClickHouse failed or was interrupted, or the data changed between the two looks at it.
        """
        import pyarrow as pa

        *names, _ = self._run(f"SELECT * FROM ({sql}) AS g LIMIT 0", tables).column_names
        shown = ", ".join(f"[g.{quote(name)}]" for name in names)
        first, second = (
            f"reinterpretAsInt64(sipHash64Keyed((toUInt64({secrets.randbits(64)}), toUInt64({secrets.randbits(64)})), "
            f"{shown}))"
            for _ in range(2)
        )
        counts = self._run(f"SELECT {first} AS a, {second} AS b, g.n AS n FROM ({sql}) AS g", tables)
        chosen = np.asarray(choose(arrow.numbers(counts.column("n"))), np.int64)
        wanted = counts.take(pa.array(chosen)).select(["a", "b"]).to_pylist()
        pairs = pa.table({name: pa.array([row[name] for row in wanted], pa.int64()) for name in ("a", "b")})
        among = f"({first}, {second}) IN (SELECT a, b FROM __wanted)"
        asked = f"SELECT {first} AS a_, {second} AS b_, g.* FROM ({sql}) AS g WHERE {among}"
        found = self._run(asked, {**tables, "__wanted": pairs})
        place_of = {
            (row["a_"], row["b_"]): place for place, row in enumerate(found.select(["a_", "b_"]).to_pylist())
        }
        places = [place_of.get((row["a"], row["b"])) for row in wanted]
        if None in places:
            raise failed()
        return found.select(names).take(pa.array(places, pa.int64()))

    def public(self, table: str, columns: Collection[str] | None = None) -> pa.Table:
        """Return the content of a table that the policy calls public, or some columns, in logical types.

        Raises:
            EngineError: there is no such table, or ClickHouse failed.
        """
        name = self._named(table)
        schema = self._tables[name].schema
        shown = [
            column
            for column, known in schema.items()
            if known.type is not Type.OTHER and (columns is None or column in columns)
        ]
        found = self._run(f"SELECT {', '.join(map(quote, shown))} FROM {quote(name)}", NO_TABLES)
        return _logical(found, [schema[column].type for column in shown])

    def version(self, table: str) -> str:
        """Return a text that changes when the data of the table may have changed; reads no data.

        Of a table of the MergeTree family these are its parts; of another, the text is new with every session.

        Raises:
            EngineError: there is no such table.
        """
        known = self._tables[self._named(table)]
        where = f"database = {literal(known.database)} AND table = {literal(known.name)}"
        parts = self._about(f"{_OF_PARTS} AND {where} ORDER BY name")
        if parts is None or not parts.num_rows:
            return self._token
        state = repr((self.place or self._token, known.database, known.name, parts.to_pylist()))
        return hashlib.sha256(state.encode()).hexdigest()

    def probe(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> bool:
        """Whether a query could be run, as far as that can be known without reading a row; see `query.probe`."""
        # EXPLAIN PLAN would write the names of its columns, each with all columns in it: twice as long at each level.
        text = f"EXPLAIN PIPELINE {self._text(sql, tables)}"
        return self._about(text) is not None

    def unreadable(self, table: str) -> tuple[str, str] | None:
        """The cause and the fix where a table cannot be read for a reason that is known; no row is read."""
        text = f"EXPLAIN PIPELINE {self._text(f'SELECT * FROM {quote(table)}', NO_TABLES)}{CLAUSE}"
        view = False
        with contextlib.nullcontext() if self._line.several else self._lock:
            try:
                self._line.ask(text, aside=True)
            except Exception as error:
                view = "join_use_nulls" in str(error)
        if not view:
            return None
        return (
            f"The view {table} gives NULL for rows without a partner in its outer join, in columns that have none.",
            "Make it again with SETTINGS join_use_nulls = 1 at its end, and open it again; nothing was charged.",
        )

    def interrupt(self) -> None:
        """Cancel the query that another thread is running, on a server; it then raises `EngineError`."""
        self._line.interrupt()

    def close(self) -> None:
        """Stop the running query and release the connection; further queries raise `EngineError`."""
        if self._closed:
            return
        self._closed = True
        if self._lock.locked():
            self.interrupt()
        with self._lock:
            self._line.close()

    def _named(self, table: str) -> str:
        alike = [name for name in self._tables if name.lower() == table.lower()]
        if table in self._tables:
            return table
        if len(alike) != 1:
            raise no_table(table)
        return alike[0]

    def _run(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        text = self._text(sql, tables)
        with self._lock:
            result = None if self._closed else _quietly(self._line, text)
        if result is None:
            raise failed()
        return result

    def _about(self, sql: str) -> pa.Table | None:
        """Ask about the tables, beside any query that runs where that is possible; None when it fails."""
        with contextlib.nullcontext() if self._line.several else self._lock:
            return None if self._closed else _quietly(self._line, sql, aside=True)

    def _text(self, sql: str, tables: Mapping[str, pa.Table]) -> str:
        """A query with the views of its tables in front."""
        see_no_clash(tables, self._tables)
        views = []
        for name, table in self._tables.items():
            called = set(re.findall(re.escape(quote(name)), sql, re.IGNORECASE))
            views += [f"{view} AS ({table.view})" for view in sorted(called)]
        views += [f"{quote(name)} AS ({listed(table)})" for name, table in tables.items()]
        before = f"WITH {', '.join(views)} " if views else ""
        # In brackets nothing but a SELECT is one.
        return f"{before}SELECT * FROM ({sql}) AS o"


def _base(source: object) -> object:
    """The ClickHouse of a source: two sources of one ClickHouse have the same."""
    return source.partition("#")[0] if isinstance(source, str) else id(source)


def _surely(line: ClickHouseConnection, sql: str) -> pa.Table:
    result = _quietly(line, sql)
    if result is None:
        raise failed()
    return result


def _quietly(line: ClickHouseConnection, sql: str, aside: bool = False) -> pa.Table | None:
    """Run one SELECT; None when it fails. No exception gets out, so none is in the chain of another."""
    try:
        return line.ask(sql + CLAUSE, aside)
    except Exception:
        return None


def _logical(found: pa.Table, kinds: list[Type]) -> pa.Table:
    """Days and microseconds as dates and time stamps."""
    import pyarrow as pa

    casts: dict[Type, Any] = {Type.DATE: pa.date32(), Type.TIMESTAMP: pa.timestamp("us")}
    columns = [
        column.cast(casts[kind]) if kind in casts else column
        for column, kind in zip(found.itercolumns(), kinds, strict=True)
    ]
    return pa.table(dict(zip(found.column_names, columns, strict=True)))
