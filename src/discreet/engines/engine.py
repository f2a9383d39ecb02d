"""What the query room asks of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.engines.schema import TableSchema

NO_TABLES: Mapping[str, pa.Table] = MappingProxyType({})
"""The default of `Engine.integers`: no public tables beside the query."""


class Engine(Protocol):
    """Runs aggregate queries over private tables and returns nothing but integers.

    Attributes:
        dialect: the sqlglot dialect that `integers` understands.
    """

    dialect: str

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table, read once at opening, from metadata only."""

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers.

        Args:
            sql: one SELECT in the dialect of the engine.
            tables: small public tables, such as key lists, visible under their names to this query only.

        Returns:
            A table whose columns are all int64 and hold no NULL.

        Raises:
            EngineError: the engine failed, was interrupted, or returned something else than integers.
                The message and the chain of the error hold nothing of what the engine said, because that
                may quote a data value.
        """

    def public(self, table: str) -> pa.Table:
        """Return the whole content of a table that the policy calls public.

        Raises:
            EngineError: as for `integers`.
        """

    def version(self, table: str) -> str:
        """Return a short text that changes when the data of the table may have changed; reads no data."""

    def interrupt(self) -> None:
        """Stop the query that another thread is running, which then raises `EngineError`."""

    def close(self) -> None:
        """Release the data; further calls raise `EngineError`."""
