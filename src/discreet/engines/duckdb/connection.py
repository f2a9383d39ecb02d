"""DuckDB connections with one meaning for every query, and closed to everything outside.

Two kinds are made here: the engine's own, which may read the files it was opened on and nothing else, and
the bare one of `sandbox`, which may read nothing. Both ignore the caller's Python variables, load no
extension and have their configuration locked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.imports import loading

if TYPE_CHECKING:
    import duckdb

INTERRUPTED = "Query interrupted"
"""The words of DuckDB's client for Ctrl-C."""

# With these no arithmetic raises: x / 0 is infinite or NaN, x // 0 and x % 0 are NULL, ln(-1) is NaN.
TOTAL = {
    "ieee_floating_point_ops": "true",
    "error_on_division_by_zero": "false",
    "integer_division": "false",
    "TimeZone": "UTC",
    "Calendar": "gregorian",
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASC",
    "scalar_subquery_error_on_multiple_rows": "true",
    "regex_match_operator_semantics": "partial",
}

ROW_BYTES = 300
"""The bytes that DuckDB needs for a row while it looks for the kept rows of each unit; measured, and rounded up."""

_LATER = ("TimeZone", "Calendar")
"""Options that DuckDB does not know before it is open."""

_CLOSED = {
    "python_enable_replacements": "false",  # else a name in a query could mean a variable of the caller
    "python_scan_all_frames": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
}


def literal(text: str) -> str:
    """Write a string literal.

    Example:
        >>> literal("O'Hara")
        "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def connect(**settings: str) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB with total arithmetic, no extensions and no view of the caller's variables.

    Files are still open to it: call `seal` once everything that it may read is attached.
    """
    with loading():
        import duckdb

    total = {name: value for name, value in TOTAL.items() if name not in _LATER}
    connection = duckdb.connect(
        ":memory:", config={**_CLOSED, **total, "preserve_insertion_order": "false", **settings}
    )
    connection.execute("; ".join(f"SET GLOBAL {name} = {literal(TOTAL[name])}" for name in _LATER))
    no_bar(connection)
    return connection


def for_few_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a database of small tables plan less: there a query takes longer to plan than to run.

    One thread is enough for it. And only where no filter is pushed into a scan does DuckDB keep the plan of a prepared
    query whose literals are parameters; else it plans it anew for each of their values.
    """
    connection.execute("SET disabled_optimizers = 'filter_pushdown'")
    connection.execute("SET threads = 1")


def make_total(connection: duckdb.DuckDBPyConnection) -> None:
    """Set, for this connection of somebody else's database alone, the options that decide the meaning of a query."""
    for name, value in TOTAL.items():
        connection.execute(f"SET SESSION {name} = {literal(value)}")
    no_bar(connection)


def no_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Switch DuckDB's own progress bar off where there is one.

    In Jupyter without ipywidgets DuckDB has none, and refuses every word about it.
    """
    import duckdb

    try:
        connection.execute("SET enable_progress_bar = false")
    except duckdb.Error:
        ((on,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
        if on:
            raise


def seal(connection: duckdb.DuckDBPyConnection, paths: Sequence[str] = (), folder: str = "") -> None:
    """Close the connection to every file but `paths` and those in one folder, and to the network; lock its settings."""
    if folder:
        connection.execute(f"SET allowed_directories = [{literal(folder)}]")
    if paths:
        connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


@contextmanager
def interruptible() -> Iterator[None]:
    """Call DuckDB so that Ctrl-C is a KeyboardInterrupt, which its client tells as a RuntimeError of its own.

    Raises:
        KeyboardInterrupt: whoever waits pressed Ctrl-C.
    """
    try:
        yield
        return
    except RuntimeError as error:
        if str(error) != INTERRUPTED:
            raise
    raise KeyboardInterrupt


def rows_at_once(connection: duckdb.DuckDBPyConnection) -> int:
    """How many rows fit into half of the memory that DuckDB may use."""
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    size = float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)
    return max(1, int(size / 2 / ROW_BYTES))
