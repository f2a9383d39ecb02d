"""One SELECT of DuckDB: run, read in pieces, or only planned. The words of a failure stay in here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arrow
from discreet.engines.duckdb.hexagons import provide
from discreet.engines.duckdb.prepared import PreparedPlans
from discreet.engines.duckdb.side_tables import SideTables
from discreet.engines.engine import failed

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def run_quietly(
    connection: duckdb.DuckDBPyConnection,
    beside: SideTables,
    sql: str,
    tables: Mapping[str, pa.Table],
    into: str = "",
    prepared: PreparedPlans | None = None,
    why: list[type[Exception]] | None = None,
) -> pa.Table | None:
    """Run one SELECT; None when it fails. No exception gets out, so none is in the chain of another.

    With `into` its result stays inside, in a temporary table of this name, and only the column `n` is returned. With
    `prepared` only numbers of 64 bits are read, which takes a few milliseconds less. Of a failure, `why` gets the kind.
    """
    import duckdb

    try:
        provide(connection, sql)
        beside.take(tables)
        if prepared is not None and (again := prepared.instead(sql, beside.changes)) is not None:
            return _as_table(connection.execute(again).fetchnumpy())
        (statement,) = connection.extract_statements(sql)
        if statement.type != duckdb.StatementType.SELECT:
            return None
        if into:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {into} AS {sql}")
            return connection.sql(f"SELECT n FROM temp.main.{into} ORDER BY __at").to_arrow_table()
        if prepared is not None:  # a relation would be planned twice
            return _as_table(connection.execute(statement).fetchnumpy())
        return connection.sql(statement).to_arrow_table()
    except Exception as error:
        if why is not None:
            why.append(type(error))
        return None
    finally:
        beside.leave(tables)


def interrupted(why: Collection[type[Exception]]) -> bool:
    """Whether a query was stopped from another thread."""
    import duckdb

    return duckdb.InterruptException in why


def _as_table(found: Mapping[str, Any]) -> pa.Table:
    """Columns of int64 as a table; a column of something else has no type in it, which `only_integers` refuses."""
    import pyarrow as pa

    def plain(values: Any) -> bool:  # one with a mask has NULL in it
        return type(values) is np.ndarray and values.dtype == np.int64

    length = min(map(len, found.values()), default=0)
    return pa.table({n: arrow.column(v) if plain(v) else pa.nulls(length) for n, v in found.items()})


def start_reader(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    tables: Mapping[str, pa.Table],
    rows: int,
    registered: list[str],
    why: list[type[Exception]],
) -> pa.RecordBatchReader:
    """Start one SELECT; whoever calls unregisters the tables. The words of DuckDB about a failure stay in here."""
    import duckdb

    reader = None
    try:
        provide(connection, sql)
        for name, table in tables.items():
            connection.register(name, table)
            registered.append(name)
        (statement,) = connection.extract_statements(sql)
        if statement.type == duckdb.StatementType.SELECT:
            reader = connection.sql(statement).to_arrow_reader(rows)
    except Exception as error:
        why.append(type(error))
    if reader is None:
        raise failed()
    return reader


def next_piece(reader: pa.RecordBatchReader, why: list[type[Exception]] | None = None) -> pa.Table | None:
    """The next piece of a result; None at its end."""
    import pyarrow as pa

    piece, ended = None, False
    try:
        piece = pa.Table.from_batches([reader.read_next_batch()])
    except StopIteration:
        ended = True
    except Exception as error:
        ended = False
        if why is not None:
            why.append(type(error))
    if piece is None and not ended:
        raise failed()
    return piece


def binds(connection: duckdb.DuckDBPyConnection, sql: str, tables: Mapping[str, pa.Table]) -> bool:
    """Whether a SELECT can be planned, over tables without rows in place of those that stand beside it."""
    registered = []
    try:
        provide(connection, sql)
        for name, table in tables.items():
            connection.register(name, table.slice(0, 0))
            registered.append(name)
        return bool(connection.sql(sql).columns)
    except Exception:
        return False
    finally:
        for name in registered:
            connection.unregister(name)
