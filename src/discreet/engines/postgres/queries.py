"""Queries of PostgreSQL in transactions that only read, under known settings; the words of a failure stay here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.engines.duckdb.connection import literal
from discreet.engines.postgres.tables import IN_UTF8

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

Run: TypeAlias = "Callable[[str, list[Any]], list[tuple[Any, ...]] | None]"

# Read with extra names only, never by the search path: a function of that name in a schema of the caller's database
# could otherwise stand in the place of one of PostgreSQL's own.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp", "TimeZone": "UTC", "DateStyle": "ISO, YMD", "IntervalStyle": "postgres",
    "standard_conforming_strings": "on", "extra_float_digits": "1", "jit": "off", "client_min_messages": "error",
    "transform_null_equals": "off", "backslash_quote": "safe_encoding", "escape_string_warning": "off",
    # By default a row from a worker is thought to cost as much as ten scanned, and no worker would sort rows of units.
    "parallel_tuple_cost": "0.03",
}  # fmt: skip
# A row is clamped, put on a grid and summed for about half as long again as a plain GROUP BY takes, and by default a
# scan of 100 MB gets three workers of which two may start. Who has set another number keeps it.
_WORKERS = {"max_parallel_workers_per_gather": ("2", "4"), "min_parallel_table_scan_size": ("8MB", "2MB")}


def _unless_set(name: str, usual: str, ours: str) -> str:
    """SQL of our value of a setting where the server has its usual one, else of the server's."""
    found = f"pg_catalog.current_setting({literal(name)})"
    return f"CASE WHEN {found} OPERATOR(pg_catalog.=) {literal(usual)} THEN {literal(ours)} ELSE {found} END"


_VALUES = {name: literal(value) for name, value in _SETTINGS.items()} | {
    name: _unless_set(name, *values) for name, values in _WORKERS.items()
}
_SET = "SELECT " + ", ".join(
    f"pg_catalog.set_config({literal(name)}, {value}, true)" for name, value in _VALUES.items()
)
_READ_ONLY = "SET TRANSACTION READ ONLY"
_TOGETHER = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


def run_quietly(
    connection: psycopg.Connection[Any], sql: str, values: list[Any]
) -> tuple[list[str], list[int], list[tuple[Any, ...]]] | None:
    """Run one SELECT; None when it fails. No exception gets out, so none is in the chain of another."""
    from psycopg import rows

    try:
        with connection.transaction(), connection.cursor(row_factory=rows.tuple_row) as cursor:
            _settle(connection, _READ_ONLY)
            cursor.execute(sql, values, binary=False)
            described = cursor.description or []
            return [c.name for c in described], [c.type_code for c in described], cursor.fetchall()
    except Exception:
        return None


def plans_quietly(connection: psycopg.Connection[Any], sql: str, values: list[Any]) -> bool:
    """Whether the server plans one SELECT and is ready to run it; no row is read, and no exception gets out.

    EXPLAIN would also write the plan down, each column with all that it is computed from below: a text that doubles at
    each level of sub-queries, even where the plan does not.
    """
    from psycopg import rows

    try:
        with connection.transaction():
            _settle(connection, _READ_ONLY)
            with connection.cursor("discreet_probe", row_factory=rows.tuple_row) as unread:
                unread.execute(sql, values, binary=False)
                return True
    except Exception:
        return False


def in_pieces(
    connection: psycopg.Connection[Any], sql: str, values: list[Any], size: int
) -> Iterator[tuple[list[str], list[int], list[tuple[Any, ...]]] | None]:
    """Run one SELECT and yield its rows in pieces; None when it fails. As for `run_quietly`, no exception gets out."""
    from psycopg import rows

    try:
        with connection.transaction():
            _settle(connection, _READ_ONLY)
            with connection.cursor("discreet_pieces", row_factory=rows.tuple_row) as large:
                large.execute(sql, values, binary=False)
                described = large.description or []
                names, types = [c.name for c in described], [c.type_code for c in described]
                while found := large.fetchmany(size):
                    yield names, types, found
    except Exception:
        failed = True
    else:
        failed = False
    if failed:
        yield None


def run_together(
    connection: psycopg.Connection[Any],
    text: Callable[[str], tuple[str, list[Any]]],
    ask: Callable[[Run], pa.Table | None],
) -> pa.Table | None:
    """Several queries over one state of the data; None when one fails."""
    from psycopg import rows

    def run(sql: str, more: list[Any]) -> list[tuple[Any, ...]] | None:
        written, values = text(sql)
        return cursor.execute(written, [*values, *more]).fetchall()

    try:
        with connection.transaction(), connection.cursor(row_factory=rows.tuple_row) as cursor:
            _settle(connection, _TOGETHER)
            return ask(run)
    except Exception:
        return None


def _settle(connection: psycopg.Connection[Any], kind: str) -> None:
    """Set all that holds for this transaction, in one message to the server.

    By a cursor of its own, since one remembers how it read its first answer; and never prepared, which takes one
    command only.
    """
    connection.execute(f"{kind}; {IN_UTF8}; {_SET}", prepare=False)
