"""Queries that are asked again, with another epsilon or other literals, are planned by DuckDB once.

Only over tables in memory, which never change: of a file, a plan would keep the state that it knew. A plan reads the
tables that were registered when it was made, even when others have their names since. So all plans are dropped as soon
as a table that stands beside a query is registered or let go.

Literals that change from query to query are parameters of the plan, of the same types, and those that never changed
stay in it. That is done over few rows only, where a plan that knows each literal is worth no more.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from discreet.engines.duckdb.shape import LONGEST_REMEMBERED_QUERY, Literals, literals_of, with_parameters
from discreet.records import dataclass

if TYPE_CHECKING:
    import duckdb

MOST = 64
"""How many plans are kept."""
MOST_SEEN = 256
"""How many queries are remembered to have been asked once."""


@dataclass
class _Asked:
    """A query that was asked, by the text between its literals.

    Attributes:
        values: its literals of the last time.
        moving: the places of those that were not always the same.
        name: of its plan; empty where there is none.
        given: the places of the literals that are parameters of the plan.
        possible: whether it can be prepared, as far as is known.
    """

    values: tuple[str, ...]
    moving: frozenset[int] = frozenset()
    name: str = ""
    given: tuple[int, ...] = ()
    possible: bool = True

    def see(self, values: tuple[str, ...]) -> None:
        """Take note of the literals of another time."""
        changed = (index for index, value in enumerate(values) if value != self.values[index])
        self.moving |= frozenset(changed)
        self.values = values

    @property
    def ready(self) -> bool:
        """Whether the plan is one for these literals."""
        return bool(self.name) and self.moving <= frozenset(self.given)


class PreparedPlans:
    """The plans of one connection. Whoever calls holds the connection's lock.

    Args:
        connection: the one that runs them.
        usable: whether all of its tables lie in memory.
        few: whether they have few rows.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, usable: bool, few: bool = False) -> None:
        self._connection: Final = connection
        self._usable: Final = usable
        self._few: Final = few
        self._seen: OrderedDict[tuple[str, ...], _Asked] = OrderedDict()
        self._made: OrderedDict[tuple[str, ...], _Asked] = OrderedDict()
        self._number = 0
        self._changes = -1

    def instead(self, sql: str, changes: int) -> str | None:
        """The statement to run in place of a query that was asked before; None where the query itself is to be run.

        It is asked for with the tables in place that stand beside the query. A query that cannot be prepared
        may fail or succeed when it is run, so nothing of it is said here.

        Args:
            sql: the query.
            changes: how often a table beside a query was registered or let go, `SideTables.changes`.
        """
        if not self._usable or len(sql) > LONGEST_REMEMBERED_QUERY:
            return None
        if changes != self._changes:
            self._drop()
            self._changes = changes
        query = literals_of(sql) if self._few else Literals((sql,), (), ())
        pieces = query.pieces
        asked = self._seen.get(pieces)
        if asked is None:
            self._seen[pieces] = _Asked(query.values)
            while len(self._seen) > MOST_SEEN:
                self._let_go(self._seen.popitem(last=False)[0])
            return None
        self._seen.move_to_end(pieces)
        asked.see(query.values)
        if not asked.ready:
            self._prepare(sql, query, asked)
        if not asked.name:
            return None
        self._made.move_to_end(pieces)
        values = ", ".join(asked.values[index] for index in asked.given)
        return f"EXECUTE {asked.name}({values})" if values else f"EXECUTE {asked.name}"

    def _prepare(self, sql: str, query: Literals, asked: _Asked) -> None:
        import duckdb

        self._let_go(query.pieces)
        if not asked.possible:
            return
        asked.possible = False  # until it is prepared
        given = tuple(sorted(asked.moving))
        with contextlib.suppress(Exception):
            (statement,) = self._connection.extract_statements(sql)
            if statement.type == duckdb.StatementType.SELECT:
                self._number += 1
                name = f"__discreet_{self._number}"
                self._connection.execute(f"PREPARE {name} AS {with_parameters(query, given)}")
                asked.name, asked.given, asked.possible = name, given, True
                self._made[query.pieces] = asked
                if len(self._made) > MOST:
                    self._let_go(next(iter(self._made)))

    def _let_go(self, pieces: tuple[str, ...]) -> None:
        """Drop the plan of a query, if it has one."""
        asked = self._made.pop(pieces, None)
        if asked is not None:
            with contextlib.suppress(Exception):
                self._connection.execute(f"DEALLOCATE {asked.name}")
            asked.name = ""

    def _drop(self) -> None:
        for pieces in list(self._made):
            self._let_go(pieces)
