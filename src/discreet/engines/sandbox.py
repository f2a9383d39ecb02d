"""An in-memory DuckDB for arithmetic above noisy tables: it can reach no file, network or setting."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from discreet.engines.connection import connect, seal
from discreet.errors import PostProcessingError

if TYPE_CHECKING:
    import pyarrow as pa

ALLOWED_TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest", "repeat", "repeat_row"})
"""The table functions that the query room may let through; every other one is refused."""

FORBIDDEN_FUNCTIONS: frozenset[str] = frozenset()


class Sandbox:
    """Runs SQL over the tables that it was given, and over nothing else."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._connection = connect(memory_limit="2GB", temp_directory="")
        seal(self._connection)
        for name, table in tables.items():
            self._connection.register(name, table)

    def run(self, sql: str, timeout: float = 60.0) -> pa.Table:
        """Run one query and return its result.

        Args:
            sql: one SELECT in DuckDB's dialect.
            timeout: seconds after which it is stopped.

        Raises:
            PostProcessingError: the query failed, was no single SELECT, took too much time or memory.
        """
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._connection.interrupt()

        timer = threading.Timer(timeout, stop)
        timer.daemon = True
        timer.start()
        said = ""
        try:
            return self._connection.sql(sql).to_arrow_table()
        except Exception as error:
            said = str(error).partition("\n")[0]
        finally:
            timer.cancel()
        if late.is_set():
            raise PostProcessingError(f"The query took more than {timeout:g} seconds.", "Make it simpler.")
        raise PostProcessingError(f"DuckDB refused it: {said}", "Change the part above the aggregates.")

    def close(self) -> None:
        """Release the tables."""
        self._connection.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sandbox(tables: Mapping[str, pa.Table]) -> Sandbox:
    """Make a sandbox over noisy and public tables.

    Example:
        >>> import pyarrow as pa
        >>> with sandbox({"noisy": pa.table({"n": [3, 4]})}) as box:
        ...     box.run("SELECT sum(n) AS n FROM noisy").to_pydict()
        {'n': [Decimal('7')]}
    """
    return Sandbox(tables)
