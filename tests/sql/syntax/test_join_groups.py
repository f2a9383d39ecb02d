"""Joins in parentheses mean the same when they are written one after the other."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from discreet.sql.syntax.join_groups import TIED, one_after_the_other


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for at, name in enumerate("abc"):
        connection.execute(
            f"CREATE TABLE {name} AS SELECT i % {3 + at} AS x, i AS {name} FROM range(12) AS r(i)"
        )
    return connection


def unnested(sql: str) -> str:
    query = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(query, exp.Select)
    one_after_the_other(query)
    return query.sql("duckdb")


@pytest.mark.parametrize(
    "joins",
    [
        "a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x",
        "(a JOIN b ON a.x = b.x) JOIN c ON b.x = c.x",
        "(a LEFT JOIN b ON a.x = b.x) JOIN c ON a.x = c.x",
        "((a JOIN b ON a.x = b.x)) JOIN (c) ON b.x = c.x",
        "a JOIN (b CROSS JOIN c) ON a.x = b.x AND a.x = c.x",
        "a JOIN (b JOIN (c) ON b.x = c.x AND c > 3) ON a.x = b.x WHERE a > 2",
        "a, (b JOIN c USING (x)) WHERE a.x = b.x",
        "a, (b LEFT JOIN c ON b.b = c.c + 9) WHERE a.x = b.x",
        "a, (b LEFT JOIN c ON b.b = c.c + 9) JOIN a AS d ON d.a = b.b WHERE a.x = b.x",
        "a JOIN (b JOIN c USING (x)) ON a.x = b.x",
        "a JOIN (b FULL JOIN c ON b.b = c.c + 9) ON a.x = c.x",
    ],
)
def test_the_rows_are_the_same(tables: duckdb.DuckDBPyConnection, joins: str) -> None:
    sql = f"SELECT a.a, b.b, c.c FROM {joins}"
    after = unnested(sql)
    assert "JOIN (" not in after
    assert sorted(tables.sql(after).fetchall(), key=str) == sorted(tables.sql(sql).fetchall(), key=str)


@pytest.mark.parametrize(
    "joins",
    [
        "a LEFT JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x",
        "a JOIN (b JOIN c USING (x)) ON a.x = b.x JOIN b AS d ON d.x = c.x",
        "a JOIN b ON a.x = b.x",
    ],
)
def test_outer_joins_and_plain_ones_stay(joins: str) -> None:
    sql = f"SELECT a FROM {joins}"
    assert unnested(sql) == sqlglot.parse_one(sql, read="duckdb").sql("duckdb")


def test_a_source_that_stood_behind_join_stands_behind_no_comma() -> None:
    query = sqlglot.parse_one(
        "SELECT 1 FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x, c AS d", read="duckdb"
    )
    assert isinstance(query, exp.Select)
    one_after_the_other(query)
    assert [bool(join.meta.get(TIED)) for join in query.args["joins"]] == [True, True, False]
