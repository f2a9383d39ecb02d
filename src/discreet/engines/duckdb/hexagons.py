"""The function of `engines.hexagons` for DuckDB: registered with a connection when a query first needs it."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.hexagons import NAME, cells

if TYPE_CHECKING:
    import duckdb


def provide(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Let a connection compute cells of H3 if a query does; any other query costs a look at its text.

    All connections to one database have the function as soon as one of them has it.
    """
    if NAME not in sql:
        return
    import duckdb
    from duckdb.sqltypes import BIGINT, DOUBLE

    with contextlib.suppress(duckdb.Error):  # it is there already
        connection.create_function(
            NAME, _of_columns, [DOUBLE, DOUBLE, BIGINT], BIGINT, type="arrow", null_handling="special"
        )  # type: ignore[call-overload]
        atexit.register(_forget, weakref.ref(connection))


def _forget(made: weakref.ref[duckdb.DuckDBPyConnection]) -> None:
    """Let go of the function before the interpreter tears down the modules that it belongs to."""
    connection = made()
    if connection is None:
        return
    with contextlib.suppress(Exception):
        connection.remove_function(NAME)


def _of_columns(lat: Any, lng: Any, resolution: Any) -> Any:  # DuckDB evaluates these words
    """From chunked arrays of Arrow to an array."""
    import pyarrow as pa

    north, east = (np.asarray(column.to_numpy(), np.float64) for column in (lat, lng))
    found, none = cells(north, east, np.asarray(resolution.fill_null(-1).to_numpy(), np.int64))
    return pa.array(found, pa.int64(), mask=none)
