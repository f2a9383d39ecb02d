"""Grouping sets as plain groupings give the rows that DuckDB gives."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.syntax import grouping_sets
from discreet.sql.syntax.grouping_sets import MOST_SETS, expand


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i % 2 AS a, i % 3 AS b, i % 5 AS c, i AS v FROM range(60) AS r(i)"
    )
    return connection


def expanded(sql: str) -> str:
    node = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(node, exp.Select)
    return expand(node, sql).sql("duckdb")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b)",
        "SELECT a, b, SUM(v) AS s FROM t WHERE v > 7 GROUP BY CUBE (a, b)",
        "SELECT a, b, c, COUNT(*) AS n FROM t GROUP BY a, GROUPING SETS ((b), (c), ())",
        "SELECT a, b, GROUPING(a) AS ga, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b) HAVING COUNT(*) > 5",
        "SELECT a, b, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((a, b), (a), ()) ORDER BY n DESC, a, b LIMIT 4",
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a",
        "SELECT v // 9 AS g, v, COUNT(*) AS n FROM t GROUP BY ROLLUP (g, v)",
        "SELECT v // 9 + 1 AS g, v, COUNT(*) AS n FROM t GROUP BY ROLLUP (v // 9, v)",
        "SELECT a, b, SUM(SUM(v)) OVER (ORDER BY a, b) AS r FROM t GROUP BY CUBE (a, b)",
        "SELECT a, RANK() OVER (PARTITION BY GROUPING(b) ORDER BY SUM(v) DESC) AS r FROM t GROUP BY ROLLUP (a, b)",
        "SELECT a, b, SUM(v) FROM t GROUP BY ROLLUP (a, b) QUALIFY row_number() OVER (ORDER BY SUM(v) DESC, a, b) < 4",
        "SELECT DISTINCT COUNT(*) AS n FROM t GROUP BY CUBE (a, b)",
        "SELECT a, b, SUM(v) AS s FROM t GROUP BY ROLLUP (a, b) ORDER BY GROUPING(a), b NULLS LAST, a LIMIT 5",
        "SELECT b, GROUPING_ID(a, b) AS g FROM t GROUP BY CUBE (a, b) ORDER BY SUM(v) + 1, a, b LIMIT 6",
        "SELECT a, COUNT(*) * 100 / SUM(COUNT(*)) OVER () AS p FROM t GROUP BY GROUPING SETS ((a), (b), ())",
        "SELECT -v % 3 AS v, SUM(b) AS s FROM t GROUP BY ROLLUP (v) QUALIFY row_number() OVER (ORDER BY v) < 3",
        "SELECT -v AS v, SUM(b) AS s FROM t GROUP BY ROLLUP (v) ORDER BY -v LIMIT 2",
        "SELECT -v AS v, SUM(b) AS s FROM t GROUP BY ROLLUP (v) ORDER BY v LIMIT 2",
        # A key that GROUPING spells in another way.
        "SELECT a AS k, GROUPING(k) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (k)",
        "SELECT a + 1 AS k, GROUPING(k) AS g, COUNT(*) AS n FROM t GROUP BY CUBE (k, b) HAVING GROUPING(B) = 1",
        "SELECT a, GROUPING(t.a, b) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, t.b) HAVING GROUPING(A) = 0",
        "SELECT t.a, SUM(v) AS s, RANK() OVER (ORDER BY GROUPING(a)) AS r FROM t GROUP BY ROLLUP (t.a)",
        'SELECT a AS "É", b AS "é", GROUPING("É") AS g, GROUPING("é") AS h, SUM(v) FROM t GROUP BY ROLLUP ("É", "é")',
    ],
)
def test_the_rows_are_those_of_duckdb(table: duckdb.DuckDBPyConnection, sql: str) -> None:
    after = expanded(sql)
    assert not any(word in after for word in ("ROLLUP", "CUBE", "GROUPING SETS"))
    assert sorted(table.sql(after).fetchall(), key=str) == sorted(table.sql(sql).fetchall(), key=str)


def test_a_window_within_each_set_is_found(
    table: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a window stays where its SELECT is, in each of the sets."""
    monkeypatch.setattr(grouping_sets, "has_window", lambda item: False)
    sql = "SELECT a, b, SUM(SUM(v)) OVER (ORDER BY a, b) AS r FROM t GROUP BY CUBE (a, b)"
    assert sorted(table.sql(expanded(sql)).fetchall(), key=str) != sorted(table.sql(sql).fetchall(), key=str)


def test_grouping_of_no_key_is_refused() -> None:
    """DuckDB refuses it, too; 0 would say that it is grouped by."""
    with pytest.raises(QueryRefused, match="b is no key of this GROUP BY") as refused:
        expanded("SELECT a, GROUPING(b) AS g, COUNT(*) AS n FROM t GROUP BY ROLLUP (a)")
    assert refused.value.fix == "Write GROUPING of keys, as they stand there."


def test_too_many_sets_are_refused() -> None:
    keys = ", ".join(f"v % {n} AS k{n}" for n in range(2, 9))
    sql = f"SELECT {keys}, COUNT(*) AS n FROM t GROUP BY CUBE ({', '.join(f'k{n}' for n in range(2, 9))})"
    with pytest.raises(QueryRefused, match=f"128 grouping sets; at most {MOST_SETS}"):
        expanded(sql)


@pytest.mark.parametrize("said", [
    f"CUBE ({', '.join(f'v % {n}' for n in range(2, 80))})", ", ".join(["ROLLUP (a, b)"] * 70),
    f"GROUPING SETS ({', '.join(['CUBE (a, b, c)'] * 3)}), {', '.join(['CUBE (a, b, c)'] * 40)}",
])  # fmt: skip
def test_very_many_sets_are_refused_before_they_are_made(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(grouping_sets, "_sets")
    with pytest.raises(QueryRefused, match="millions of grouping sets"):
        expanded(f"SELECT COUNT(*) AS n FROM t GROUP BY {said}")


@pytest.mark.parametrize(
    "said", ["CUBE (a, b, c)", "ROLLUP (a, (b, c))", "GROUPING SETS (a, ROLLUP (b, c), CUBE (a, b), ())"]
)
def test_sets_are_counted_as_they_are_made(said: str) -> None:
    group = sqlglot.parse_one(f"SELECT 1 FROM t GROUP BY {said}", read="duckdb").args["group"]
    for several in [*group.expressions, *(group.args.get("cube") or []), *(group.args.get("rollup") or []),
                    *(group.args.get("grouping_sets") or [])]:  # fmt: skip
        assert grouping_sets._number_of_sets(several) == len(grouping_sets._sets(several, ""))
