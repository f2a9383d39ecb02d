"""Further connections to one DuckDB, so that queries over few rows need not wait for one another.

A large query has all cores, and the next one waits for it. One over few rows runs on a single thread, and is over after
a millisecond: while another is at work, it takes a lane. Each lane sees the same tables, through views of its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.engines.duckdb.connection import no_bar
from discreet.engines.duckdb.prepared import PreparedPlans
from discreet.engines.duckdb.queries import interrupted, run_quietly
from discreet.engines.duckdb.side_tables import SideTables
from discreet.engines.duckdb.small import Small
from discreet.engines.duckdb.sources.origin import Origin
from discreet.engines.duckdb.views import make_view
from discreet.engines.engine import failed, taken
from discreet.engines.schema import TableSchema

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LANES = 3
"""How many there are at most beside the engine's own connection, and no more than there are processors beside one: each
plans its queries for itself, and on two processors three took a tenth more of them than one."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cursors(connection: duckdb.DuckDBPyConnection) -> list[duckdb.DuckDBPyConnection]:
    """The connections of the lanes; before the configuration is locked."""
    made = [connection.cursor() for _ in range(min(LANES, max(1, processors() - 1)))]
    for cursor in made:
        no_bar(cursor)
    return made


class Lane:
    """One further connection. Whoever uses it holds its lock.

    Args:
        connection: a cursor of the engine's.
        origins: of the tables.
        schema: of the tables, as the engine found it.
        small: over tables of files, with a database of its own; None over tables in memory.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        origins: Mapping[str, Origin],
        schema: Mapping[str, TableSchema],
        small: Small | None,
    ) -> None:
        self.lock: Final = threading.Lock()
        self._connection: Final = connection
        self._origins: Final = origins
        self._schema: Final = schema
        self._small: Final = small
        self._beside: Final = SideTables(connection)
        self._prepared: Final = PreparedPlans(connection, small is None, few=True)
        self._sees: bool | None = None

    def integers(
        self, sql: str, tables: Mapping[str, pa.Table], names: Sequence[str], why: list[type[Exception]]
    ) -> pa.Table | None:
        """The result of a query, as `run_quietly` gives it; None where the engine's own connection is to run it."""
        if self._sees is None:
            self._sees = self._views()
        if not self._sees:
            return None
        if self._small is not None:
            return self._small.integers(sql, tables, names, why)
        return run_quietly(self._connection, self._beside, sql, tables, prepared=self._prepared, why=why)

    def interrupt(self) -> None:
        """Stop the query that runs."""
        self._connection.interrupt()
        if self._small is not None:
            self._small.interrupt()

    def close(self) -> None:
        """Let go of the connections."""
        with self.lock:
            self._sees = False
            if self._small is not None:
                self._small.close()
            self._connection.close()

    def _views(self) -> bool:
        """Make the views of all tables, and see that they are those of the engine."""
        with contextlib.suppress(Exception):  # then the lane is not used
            for name, origin in self._origins.items():
                if origin.rows is not None and origin.keep:
                    self._connection.register(origin.relation, origin.keep[0])
                if make_view(self._connection, name, origin) != self._schema[name]:
                    return False
            return True
        return False


class Lanes:
    """The lanes of one engine.

    Args:
        lanes: all of them.
        usable: whether the views of the engine still read the tables themselves.
    """

    def __init__(self, lanes: Sequence[Lane], usable: Callable[[], bool]) -> None:
        self._lanes: Final = lanes
        self._usable: Final = usable

    def integers(self, sql: str, tables: Mapping[str, pa.Table], names: Sequence[str]) -> pa.Table | None:
        """The result of a query on a lane that is free; None where there is none, or it is not for a lane.

        Raises:
            EngineError: it was interrupted there.
        """
        if not self._usable():
            return None
        why: list[type[Exception]] = []
        for lane in self._lanes:
            with taken(lane.lock) as free:
                if free:
                    found = lane.integers(sql, tables, names, why)
                    if found is None and interrupted(why):
                        raise failed()
                    return found
        return None

    def interrupt(self) -> None:
        """Stop all queries that run."""
        for lane in self._lanes:
            lane.interrupt()

    def close(self) -> None:
        """Let go of all connections."""
        for lane in self._lanes:
            lane.close()
