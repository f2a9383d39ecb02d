"""The methods that `discreet.sql` calls on an engine, the errors that all word alike, and how one tries its lock."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from discreet.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.engines.schema import TableSchema

Choose: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.int64]]"
"""From the counts of groups to the positions of those that are shown."""
NO_TABLES: Mapping[str, pa.Table] = MappingProxyType({})
"""The default of `Engine.integers`: no public tables beside the query."""


def only_integers(result: pa.Table) -> pa.Table:
    """The result of an aggregate query, if it holds nothing but int64 without NULL.

    Raises:
        EngineError: it holds something else; the message is the same for everything else.
    """
    import pyarrow as pa

    if any(column.type != pa.int64() or column.null_count for column in result.itercolumns()):
        raise no_integers()
    return result


# Every engine says the same in the same words, for all data.


def no_integers() -> EngineError:
    """The error for a result that is not all integers."""
    return EngineError(
        "The engine returned something other than integers.",
        "This is a fault of discreet; please report it with the query.",
    )


def failed() -> EngineError:
    """The error for a query that did not finish. Raise it where no error of the driver is in the chain."""
    return EngineError(
        "The engine could not finish the query.",
        "Its words are withheld, as they may quote a value; check that the data is still in place.",
    )


def no_table(name: str) -> EngineError:
    """The error for a table that there is not."""
    return EngineError(f"There is no table {name}.", "Check the name.")


def see_no_clash(tables: Iterable[str], own: Iterable[str]) -> None:
    """See that no key list has the name of a table, in any case of its letters.

    Raises:
        EngineError: one has.
    """
    taken = set(map(str.lower, own))
    clash = next((name for name in tables if name.lower() in taken), None)
    if clash is not None:
        raise EngineError(f"The key list {clash} would hide a table.", "Give it another name.")


def in_batches(
    engine: Engine, sql: str, by: str, tables: Mapping[str, pa.Table] = NO_TABLES, rows: int = 1 << 16
) -> Iterator[pa.Table]:
    """Run one aggregate query and yield its integers some rows at a time, in the order of one column.

    An engine with a method `batches` sorts them and hands them over one by one; from another they come at once,
    and memory has to hold them.

    Args:
        engine: runs it.
        sql: one SELECT in the dialect of the engine.
        by: the column that decides the order.
        tables: as for `Engine.integers`.
        rows: at most so many in one piece.

    Raises:
        EngineError: as for `Engine.integers`, at any time before the last piece.
    """
    batches: Callable[..., Iterator[pa.Table]] | None = getattr(engine, "batches", None)
    if batches is not None:
        yield from batches(f"SELECT * FROM ({sql}) AS o ORDER BY {by}", tables, rows)
        return
    result = engine.integers(sql, tables).sort_by(by)
    for start in range(0, len(result), rows):
        yield result.slice(start, rows)


class Engine(Protocol):
    """Runs aggregate queries over private tables and returns nothing but integers.

    An engine may have more attributes, which are looked up by name:

    - `batches(sql, tables, rows)` runs a query like `integers` and yields its result in pieces; see `in_batches`.
    - `probe(sql, tables)` sees before the charge that a query could be run; see `sql.lower.probe`.
    - `unreadable(table)` is the cause and the fix where a table cannot be read for a reason that the engine knows.
    - `settled(state, start, step, left, tables)` repeats a statement until nothing is left to do, and counts the rows.
    - `lacks` holds the names of functions of the function table that it cannot compute; a question with one of them is
      refused before anything is charged.
    - `place` is a text that names the database without any credential. Under it the ledger is found again; it is None
      when the data lives in memory.
    - `slices` is the number of slices into which the units of a large table are best split. Each is asked by itself, so
      that memory stays bounded (for the dialect duckdb only).
    - `files` and `patterns` are the paths that the data is read from. No answer is written over them.
    - `csv_tables` holds the names, in lower case, of the tables whose types a policy may have to declare.

    Attributes:
        dialect: the SQL that `integers` understands: duckdb, postgres, spark or clickhouse.
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
                The message and the chain of the error hold no word of the engine, because that may quote
                a data value.
        """

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Choose) -> pa.Table:
        """Run one query of groups and return the keys of those that are chosen by their counts.

        Args:
            sql: one SELECT in the dialect of the engine, with any columns and, last, `n`, a count.
            tables: as for `integers`.
            choose: given the counts, an int64 array in any order, returns the positions of the groups wanted. It
                sees the counts only, is called once, and the keys of other groups never leave the engine.

        Returns:
            The columns but `n`, in the order of the positions.

        Raises:
            EngineError: as for `integers`.
        """

    def public(self, table: str, columns: Collection[str] | None = None) -> pa.Table:
        """Return the whole content of a table that the policy calls public.

        Args:
            table: its name.
            columns: only these, as the schema names them; of edges of a graph, which are private, those of their ends.

        Raises:
            EngineError: as for `integers`.
        """

    def version(self, table: str) -> str:
        """Return a short text that changes when the data of the table may have changed; reads no data."""

    def interrupt(self) -> None:
        """Stop the query that another thread is running, which then raises `EngineError`."""

    def close(self) -> None:
        """Release the data; further calls raise `EngineError`."""


@contextlib.contextmanager
def taken(lock: threading.Lock) -> Iterator[bool]:
    """A lock, for as long as the block lasts, and whether it was free; it is not waited for."""
    with contextlib.ExitStack() as stack:
        free = lock.acquire(blocking=False)
        if free:
            stack.push(lock)
        yield free
