"""Looks before the charge whether DuckDB could run a query, beside any query that runs.

Privacy: it has a connection of its own, with views of its own. On the connection of the queries it would wait for the
query of somebody else, and whoever asked would see when that one ended.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.engines.duckdb.queries import binds
from discreet.engines.duckdb.shape import QueryShape, shape_of
from discreet.engines.duckdb.sources.footers import misfit, readable
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.views import columns_of
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PROBED = 1000
"""How many shapes of queries an engine remembers as sound."""


class Probing:
    """The connection on which queries are looked at. It may be asked from several threads.

    Args:
        connection: a cursor of the engine's.
        origins: of the tables.
        opened: by table in lower case, the version that was seen before the views were made.
        views: by table, the SQL that makes the view of the engine; the same makes the one of this connection.
        shapes: by table in lower case, its columns at the opening, as `columns_of` gives them.
        unchanging: whether all tables lie in memory and never change.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        origins: Mapping[str, Origin],
        opened: Mapping[str, str],
        views: Mapping[str, str],
        shapes: Mapping[str, list[tuple[str, str]] | None],
        unchanging: bool,
    ) -> None:
        self._connection: Final = connection
        self._lock: Final = threading.Lock()
        self._tables: Final = {table.lower(): (table, origin) for table, origin in origins.items()}
        self._views: Final = views
        self._shapes: Final = shapes
        self._unchanging: Final = unchanging
        self._opened: Final = dict(opened)
        self._made: Final[set[str]] = set()
        self._probed: Final[dict[QueryShape, str]] = {}

    def whole(self, sql: str, tables: Mapping[str, pa.Table], used: Collection[str]) -> bool:
        """Whether a query could be run; no row is read.

        Args:
            sql: the query.
            tables: stand beside it.
            used: all tables that it may read, in lower case.
        """
        if not all(readable(self._files(name)) for name in used):
            return False
        state = repr(sorted((name, self._tables[name][1].version()) for name in used))
        key = shape_of(sql, tables)
        stored = [] if self._unchanging else [name for name in used if not self._files(name)]
        if not stored and self._probed.get(key) == state:
            return True
        with self._lock:
            whole = self._probed.get(key) == state and self._bound(stored)
            if not whole:
                whole = self._fitting(used) and self._bound(used) and binds(self._connection, sql, tables)
                if whole and len(self._probed) < PROBED:
                    self._probed[key] = state
        return whole

    def interrupt(self) -> None:
        """Stop its planning."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of the connection; no query can be run then."""
        with self._lock:
            self._connection.close()

    def _files(self, name: str) -> Sequence[str]:
        return self._tables[name][1].parquet

    def _bound(self, used: Iterable[str]) -> bool:
        """Whether the views still show the same columns: a file may be another one, a table of the caller's gone."""
        return all(map(self._same, used))

    def _same(self, name: str) -> bool:
        made = name in self._made
        if made and self._unchanging:
            return True
        same = (made or self._make(name)) and columns_of(self._connection, quote(name)) == self._shapes[name]
        # DuckDB holds a view to the columns that it was made with; these are not those of the opening.
        (self._made.add if same else self._made.discard)(name)
        return same

    def _make(self, name: str) -> bool:
        """Make the view of a table; whether it could be made."""
        table, origin = self._tables[name]
        try:
            if origin.rows is not None and origin.keep:
                self._connection.register(origin.relation, origin.keep[0])
            self._connection.execute(self._views[table])
        except Exception:
            return False
        return True

    def _fitting(self, used: Collection[str]) -> bool:
        """Whether the files of each table have one schema; asked again only when one of them has changed."""
        for name in used:
            _, origin = self._tables[name]
            files, version = origin.parquet, origin.version()
            if len(files) > 1 and version != self._opened[name]:
                if misfit(self._connection, files) is not None:
                    return False
                self._opened[name] = version
        return True
