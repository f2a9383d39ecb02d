"""Queries on PostgreSQL: the settings are ours for their length, and nothing stays of them on the connection."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any, cast

import psycopg
import pyarrow as pa
import pytest
from psycopg import pq, rows
from tests.servers import connect, postgres

from discreet.engines.postgres import engine
from discreet.engines.postgres.queries import (
    in_pieces,
    plans_quietly,
    run_quietly,
    run_together,
    told_quietly,
)

PER_GATHER, LEAST_SIZE = "max_parallel_workers_per_gather", "min_parallel_table_scan_size"
SHOWN = f"SELECT current_setting('{PER_GATHER}'), current_setting('{LEAST_SIZE}')"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (("2", "8MB"), ("4", "2MB")),
        (("0", "8MB"), ("0", "2MB")),
        (("7", "64MB"), ("7", "64MB")),
    ],
)
def test_more_workers_scan_where_nobody_has_set_how_many(
    own: tuple[str, str], expected: tuple[str, str]
) -> None:
    with connect(postgres()) as connection:
        for name, value in zip((PER_GATHER, LEAST_SIZE), own, strict=True):
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        found = run_quietly(connection, SHOWN, [])
        assert found is not None
        assert found[2] == [expected]
        assert connection.execute(SHOWN).fetchone() == own


VERSION = engine._VERSION.format(oid="'pg_catalog.pg_class'::pg_catalog.regclass")


@pytest.mark.parametrize("own", [True, False], ids=["commits by itself", "does not"])
@pytest.mark.parametrize(
    ("sql", "plans", "runs"),
    [
        ("SELECT 1 AS n UNION ALL SELECT 1", True, True),
        ("SELECT 1 / n FROM generate_series(0, 1) AS n", True, False),
        ("SELECT n FROM nowhere", False, False),
    ],
)
def test_a_connection_is_left_as_it_was(own: bool, sql: str, plans: bool, runs: bool) -> None:
    """Whether a statement runs or fails, is read to its end or not: no transaction, no cursor, no setting of ours."""
    with psycopg.connect(postgres(), autocommit=own) as connection:
        connection.row_factory = cast("Any", rows.dict_row)  # as callers may have set it
        seen = (
            "SELECT current_setting('search_path'), current_setting('transaction_read_only'), "
            "(SELECT count(*) FROM pg_cursors)"
        )

        def look() -> Any:
            assert connection.info.transaction_status == pq.TransactionStatus.IDLE
            with connection.cursor(row_factory=rows.tuple_row) as cursor:
                found = cursor.execute(seen).fetchone()
            connection.rollback()
            return found

        before = look()
        assert plans_quietly(connection, sql, []) == plans
        assert look() == before
        assert bool((run_quietly(connection, sql, []) or [0, 0, 0])[2]) == runs
        assert look() == before
        assert bool(told_quietly(connection, sql)) == runs
        assert look() == before
        with closing(cast("Generator[object]", in_pieces(connection, sql, [], 1))) as pieces:
            assert bool(next(pieces)) == runs
        assert look() == before
        together = run_together(
            connection, lambda text: (text, []), lambda run: pa.table({"n": [run(sql, [])]})
        )
        assert (together is not None) == runs
        assert look() == before


def test_no_setting_of_the_connection_changes_what_the_server_says_of_itself() -> None:
    """Nor a function of the same name that the search path finds first, nor an encoding in which texts are bytes."""
    with connect(postgres()) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS told")
        connection.execute(
            "CREATE OR REPLACE FUNCTION told.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql AS "
            "$$ SELECT '99:99:'::pg_snapshot $$"
        )
        first = told_quietly(connection, VERSION)
        connection.execute("SET search_path = told, pg_catalog")
        connection.execute("SET client_encoding = 'SQL_ASCII'")
        assert told_quietly(connection, VERSION) == first
        assert told_quietly(connection, VERSION.replace("pg_catalog.pg_current", "pg_current")) != first
        connection.execute("DROP SCHEMA told CASCADE")
    assert first is not None
    assert all(first)
