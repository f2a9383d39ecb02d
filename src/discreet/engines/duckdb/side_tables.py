"""The small tables that stand beside a query, such as lists of keys: they stay registered while they are the same.

To register a table costs as much as to plan a small query, and the next question often has the same keys.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MOST_ROWS = 1000
"""Larger tables are not kept: to compare them would take long, and to keep them room."""
MOST = 64
"""How many are kept."""


class SideTables:
    """The tables that are registered with one connection. Whoever calls holds the connection's lock.

    Attributes:
        changes: how often a table was registered or let go; while it is the same, every name means the same table.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection: Final = connection
        self._kept: dict[str, pa.Table] = {}
        self.changes = 0

    def take(self, tables: Mapping[str, pa.Table]) -> None:
        """Let the next query see these tables, and no others that were kept."""
        self._only(tables)
        for name, table in tables.items():
            kept = self._kept.get(name)
            if kept is not None and _same(kept, table):
                continue
            self.changes += 1
            self._kept.pop(name, None)
            self._connection.register(name, table)
            if table.num_rows <= MOST_ROWS and len(self._kept) < MOST:
                self._kept[name] = table

    def leave(self, tables: Mapping[str, pa.Table]) -> None:
        """Let go of those that are not kept."""
        for name in tables:
            if name not in self._kept:
                self.changes += 1
                with contextlib.suppress(Exception):
                    self._connection.unregister(name)

    def forget(self) -> None:
        """Let go of all tables: others are going to have their names, or none is to be seen."""
        self.changes += 1
        self._only(())

    def _only(self, names: Collection[str]) -> None:
        for name in [name for name in self._kept if name not in names]:
            self.changes += 1
            del self._kept[name]
            self._connection.unregister(name)


def _same(kept: pa.Table, table: pa.Table) -> bool:
    # With their types and metadata: 1 and 1.0 are not the same key.
    return kept is table or (kept.schema.equals(table.schema, True) and kept.equals(table))
