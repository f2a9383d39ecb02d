"""Queries of PostgreSQL in transactions that only read, under known settings; the words of a failure stay here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
        with _settled(connection, _READ_ONLY), connection.cursor(row_factory=rows.tuple_row) as cursor:
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
    try:
        with _settled(connection, _READ_ONLY):
            connection.execute(f"DECLARE discreet_probe NO SCROLL CURSOR FOR {sql}", values, binary=False)
            return True
    except Exception:
        return False


def told_quietly(connection: psycopg.Connection[Any], sql: str) -> list[str | None] | None:
    """The row of a SELECT in which the server speaks of itself, as texts; None when it fails.

    It is asked under the settings that are found, in one message: so each name in it must be written with its schema,
    no literal may stand in it, and the answers must be ASCII in every setting.
    """
    try:
        result = connection.execute(sql, prepare=False, binary=False).pgresult
        connection.commit()  # of one that was passed and does not do it by itself
        assert result is not None
        found = [result.get_value(0, index) for index in range(result.nfields)]
        return [None if value is None else value.decode("ascii") for value in found]
    except Exception:
        with suppress(Exception):
            connection.rollback()
        return None


def in_pieces(
    connection: psycopg.Connection[Any], sql: str, values: list[Any], size: int
) -> Iterator[tuple[list[str], list[int], list[tuple[Any, ...]]] | None]:
    """Run one SELECT and yield its rows in pieces; None when it fails. As for `run_quietly`, no exception gets out."""
    from psycopg import rows

    try:
        with (
            _settled(connection, _READ_ONLY),
            connection.cursor("discreet_pieces", row_factory=rows.tuple_row) as large,
        ):
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
        with _settled(connection, _TOGETHER), connection.cursor(row_factory=rows.tuple_row) as cursor:
            return ask(run)
    except Exception:
        return None


@contextmanager
def _settled(connection: psycopg.Connection[Any], kind: str) -> Iterator[None]:
    """A transaction and all that holds in it, which begins in one message to the server.

    By a cursor of its own, since one remembers how it read its first answer; and never prepared, which takes one
    command only. A connection that was passed and does not commit by itself has begun before that message.
    """
    begin = "BEGIN; " if connection.autocommit else ""
    try:
        connection.execute(f"{begin}{kind}; {IN_UTF8}; {_SET}", prepare=False)
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
