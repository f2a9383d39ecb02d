"""Queries that are asked again, such as with another epsilon, are planned by DuckDB once.

Only over tables in memory, which never change: of a file, a plan would keep what it knew of it. A plan reads the tables
that were registered when it was made, even when others have their names since. So all plans are dropped as soon as a
table that stands beside a query is registered or let go.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

MOST = 64
"""How many plans are kept."""
MOST_SEEN = 256
"""How many queries are remembered to have been asked once."""
LONGEST = 20_000
"""Characters of a query that is remembered."""


class Prepared:
    """The plans of one connection. Whoever calls holds the connection's lock.

    Args:
        connection: what runs them.
        usable: whether all of its tables lie in memory.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, usable: bool) -> None:
        self._connection: Final = connection
        self._usable: Final = usable
        self._seen: OrderedDict[str, bool] = OrderedDict()
        self._made: OrderedDict[str, str] = OrderedDict()
        self._number = 0
        self._changes = -1

    def instead(self, sql: str, changes: int) -> str | None:
        """The statement to run in place of a query that was asked before; None where the query itself is to be run.

        It is asked for with the tables in place that stand beside the query. A query that cannot be prepared fails
        as it is, or does not, so nothing of it is said here.

        Args:
            sql: the query.
            changes: how often a table beside a query was registered or let go, `Beside.changes`.
        """
        import duckdb

        if not self._usable or len(sql) > LONGEST:
            return None
        if changes != self._changes:
            self._drop()
            self._changes = changes
        if (name := self._made.get(sql)) is not None:
            self._made.move_to_end(sql)
            return f"EXECUTE {name}"
        if self._seen.get(sql) is None:
            self._seen[sql] = True
            while len(self._seen) > MOST_SEEN:
                self._seen.popitem(last=False)
            return None
        if not self._seen[sql]:
            return None
        self._seen[sql] = False  # until it is prepared
        with contextlib.suppress(Exception):
            (statement,) = self._connection.extract_statements(sql)
            if statement.type == duckdb.StatementType.SELECT:
                self._number += 1
                name = f"__discreet_{self._number}"
                self._connection.execute(f"PREPARE {name} AS {sql}")
                self._made[sql] = name
                self._seen.pop(sql, None)
                if len(self._made) > MOST:
                    _, old = self._made.popitem(last=False)
                    self._connection.execute(f"DEALLOCATE {old}")
                return f"EXECUTE {name}"
        return None

    def _drop(self) -> None:
        while self._made:
            sql, name = self._made.popitem(last=False)
            with contextlib.suppress(Exception):
                self._connection.execute(f"DEALLOCATE {name}")
            self._seen[sql] = True
