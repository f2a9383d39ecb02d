"""A sub-query that only picks is merged into the statement around it: the same rows, and the same intervals."""

from __future__ import annotations

from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

import discreet as dp
from discreet.sql.intervals import closed_form, seeds
from discreet.sql.syntax.parse import MAX_DEPTH, parse
from discreet.sql.syntax.post_processing import merged_subqueries
from discreet.sql.syntax.post_processing.merged_subqueries import merged

INNER = "(SELECT r.k AS city, r.a AS n, r.a + r.b AS s, -r.b AS Low FROM r WHERE r.b > 2 OR r.k = 'a')"
MERGED = [
    f"SELECT * FROM {INNER} WHERE city = 'b'",
    f"SELECT * FROM {INNER} AS u WHERE u.n < 3 OR u.s > 8",
    f"SELECT u.*, s * 2 AS double FROM {INNER} AS u",
    f"SELECT s * 2 AS x, 3 - s AS y, -s AS z, s / n AS q, (n > 1) = (s > 9) AS b FROM {INNER} AS u",
    f"SELECT n, Low, city FROM {INNER} ORDER BY n DESC NULLS LAST, city, 2 LIMIT 5 OFFSET 1",
    f"SELECT s AS city FROM {INNER} ORDER BY city, n",
    f"SELECT city AS c FROM {INNER} AS u ORDER BY u.n, c",
    f"SELECT n AS k, s AS a FROM {INNER} WHERE n IN (1, 2, 3) AND s IS NOT NULL ORDER BY a, k",
    f"SELECT CASE WHEN n > 2 THEN s ELSE low END AS v FROM {INNER} WHERE n BETWEEN 1 AND 4 ORDER BY ALL",
    f"WITH c AS {INNER} SELECT * FROM c WHERE n > 2",
    f"WITH c AS {INNER}, d AS (SELECT c.n AS m, c.city AS k FROM c) SELECT m + 1 AS v FROM d AS e WHERE e.k <> 'a'",
    f"WITH other AS (SELECT 1 AS one), C AS {INNER} SELECT c.n FROM c",
    f"WITH c AS {INNER}, d AS (SELECT city AS k, n, s FROM c WHERE n > 1), e AS (SELECT k, n + s AS v FROM d) "
    "SELECT * FROM e WHERE v > 3 ORDER BY v, k",
    f"WITH c AS {INNER}, x AS (SELECT c.n FROM c), d AS (SELECT n, Low FROM c) SELECT * FROM d WHERE n < 5",
    f"WITH c AS {INNER} SELECT u.n FROM (SELECT n, s FROM c WHERE s > 3) AS u WHERE n < 5",
    "WITH c AS (SELECT r.a AS n FROM r), d AS (SELECT n FROM c), t AS (SELECT 1 AS n) SELECT d.n FROM d",
    f"SELECT z.v + 1 AS w FROM (SELECT u.s AS v FROM (SELECT * FROM {INNER}) AS u WHERE u.n > 1) AS z",
    "SELECT one, two AS t, n + 1 AS m FROM (SELECT r.a AS n, 100 AS one, '2' AS two FROM r) WHERE n < 4",
    "SELECT n + 1 AS v, NOT b AS c, b = TRUE AS d, z FROM (SELECT 1.5 AS z, r.a AS n, r.b > 2 AS b FROM r)",
    f"SELECT ROUND(COALESCE(s, 0) / 3, 1) AS v, CAST(n AS DOUBLE) AS d, n // 2 AS h, n % 2 AS p FROM {INNER}",
    "SELECT v - 1 AS w, -t AS t FROM (SELECT r.a + r.b AS v, r.a - 1 AS t, r.b AS b FROM r) WHERE b >= 2 OR t <= 3",
    f"SELECT n FROM {INNER} WHERE POWER(n, 2) > 4 AND n IS DISTINCT FROM 5 OR s IS NOT DISTINCT FROM 3",
    f"SELECT FLOOR(SQRT(n)) AS v, CEIL(EXP(n)) AS c, LN(n + 1) AS l, TRY_CAST(city AS INT) AS t FROM {INNER}",
    f"SELECT GREATEST(n, s) AS g, LEAST(n, 3) AS l, NULLIF(n, 2) AS z, IF(n > 1, s, 0) AS i FROM {INNER}",
    "SELECT n FROM (SELECT r.a AS n, CASE WHEN r.b > 1 THEN 1 ELSE r.a END AS w FROM r) WHERE w >= 1",
    "SELECT n - w AS v FROM (SELECT r.a AS n, COALESCE(r.a, 100) AS w FROM r) WHERE w + 1 > 2",
    "SELECT n FROM (SELECT r.a AS n, IF(r.b > 1, NULL, r.a) AS i, NULLIF(r.a, 2) AS z FROM r) WHERE i > 1 OR z < 4",
    "SELECT g FROM (SELECT GREATEST(r.a, 3) AS g, LEAST(r.b, 2) AS l, ABS(r.a) AS a FROM r) WHERE g - l + a > 3",
    "SELECT CAST(d AS DECIMAL(9, 2)) * 3 AS v, ABS(d) * 2 AS w FROM (SELECT CAST(r.a AS DECIMAL(9, 3)) AS d FROM r)",
    "SELECT ROUND(d, 1) * 2 AS v, d / 2 AS w FROM (SELECT ROUND(r.a / 3, 2) AS d FROM r)",
]
KEPT = [
    f"SELECT SUM(n) AS v FROM {INNER}",
    f"SELECT mad(n) AS v FROM {INNER}",
    f"SELECT kurtosis_pop(n) AS v FROM {INNER}",
    f"SELECT DISTINCT n FROM {INNER}",
    f"SELECT n, SUM(n) OVER () AS v FROM {INNER}",
    f"SELECT n + 1 FROM {INNER}",
    f"SELECT low FROM {INNER}",
    f"SELECT n + 1 AS m, m + 1 AS v FROM {INNER}",
    f"SELECT n + 1 AS m FROM {INNER} WHERE m > 3",
    f"SELECT n AS m FROM {INNER} ORDER BY n + s",
    f"SELECT n AS m FROM {INNER} ORDER BY s",
    f"SELECT * EXCLUDE (n) FROM {INNER}",
    f"SELECT * REPLACE (n + 1 AS n) FROM {INNER}",
    f"SELECT COLUMNS('n') FROM {INNER}",
    f"SELECT n FROM {INNER} WHERE n > (SELECT AVG(r.a) FROM r)",
    f"SELECT n FROM {INNER} AS u(c, n, s, low)",
    f"SELECT u.n FROM {INNER} AS u, r",
    f"SELECT u.n FROM {INNER} AS u JOIN r ON r.a = u.n",
    f"SELECT city, COUNT(*) AS v FROM {INNER} GROUP BY city",
    f"SELECT n FROM {INNER} QUALIFY ROW_NUMBER() OVER (ORDER BY n, city, s, low) < 3",
    f"WITH c AS {INNER} SELECT c.n FROM c, c AS d",
    f"WITH c AS {INNER} SELECT n FROM c WHERE EXISTS (FROM c)",
    f"WITH c(x, y, z, w) AS {INNER} SELECT x FROM c",
    "WITH r AS (SELECT r.a AS n FROM r) SELECT n FROM r",
    "WITH c AS (SELECT r.a AS n FROM r), r AS (SELECT 1 AS a) SELECT n FROM c",
    "WITH c AS (SELECT r.a AS n FROM r), d AS (SELECT n FROM c), r AS (SELECT 1 AS a) SELECT n FROM d",
    "WITH c AS (SELECT r.a AS n FROM r), r AS (SELECT 1 AS a), d AS (SELECT n FROM c) SELECT n FROM d",
    "WITH RECURSIVE c AS (SELECT r.a AS n FROM r), d AS (SELECT n FROM c) SELECT n FROM d",
    "SELECT CAST(n AS TINYINT) + one AS v FROM (SELECT r.a AS n, 100 AS one FROM r)",
    "SELECT CAST(n AS TINYINT) + one AS v FROM (SELECT r.a AS n, (-100) AS one FROM r)",
    "SELECT COALESCE(CAST(n AS TINYINT), one) AS v FROM (SELECT r.a AS n, COALESCE(1, 2) AS one FROM r)",
    "SELECT n FROM (SELECT r.a AS n, '2' AS two FROM r) WHERE n < CAST(two AS INT)",
    "SELECT n FROM (SELECT r.a AS n, CASE WHEN r.b > 1 THEN 1 ELSE 2 END AS w FROM r) WHERE CAST(n AS TINYINT) < w",
    "SELECT n FROM (SELECT r.a AS n, IF(r.b > 1, 1, 2) AS w FROM r) WHERE CAST(n AS TINYINT) < w",
    "SELECT n FROM (SELECT r.a AS n, NULLIF(1, r.b) AS w FROM r) WHERE CAST(n AS TINYINT) < w",
    "SELECT n FROM (SELECT r.a AS n, GREATEST(1, 2) AS w FROM r) WHERE CAST(n AS TINYINT) < w",
    "SELECT n FROM (SELECT r.a AS n, NULL AS w FROM r) WHERE w IS NULL",
    "SELECT n FROM (SELECT r.a AS n, 1 AS one FROM r) WHERE one",
    "SELECT n, '3' = yes AS v FROM (SELECT r.a AS n, TRUE AS yes FROM r) WHERE n > 99",
    "SELECT z + n AS v FROM (SELECT CAST(1 AS TINYINT) AS z, r.a AS n FROM r)",
    "SELECT n FROM (SELECT r.a AS n FROM r LIMIT 4)",
    "SELECT n FROM (SELECT DISTINCT r.a AS n FROM r)",
    "SELECT n FROM (SELECT r.a AS n, SUM(r.a) OVER () AS v FROM r)",
    "SELECT n FROM (SELECT SUM(r.a) AS n FROM r)",
    "SELECT a FROM (SELECT r.a FROM r)",
    "SELECT n FROM (SELECT a AS n FROM r)",
    "SELECT n FROM (SELECT t.a AS n FROM r AS t)",
    "SELECT n FROM (SELECT r.a AS n FROM r UNION ALL SELECT r.b FROM r)",
    "SELECT v FROM (SELECT r.k || 'x' AS v FROM r)",
    "SELECT v FROM (SELECT unnest([r.a, r.b]) AS v FROM r)",
    "SELECT 1 AS n",
    "SELECT n FROM r",
]


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    rng = np.random.default_rng(3)
    numbers = [[None if rng.random() < 0.2 else int(n) for n in rng.integers(0, 7, 60)] for _ in "ab"]
    r = pa.table({"k": rng.choice(["a", "b", "c"], 60), "a": numbers[0], "b": numbers[1]})
    connection = duckdb.connect()
    connection.register("r", r)
    return connection


def same(tables: duckdb.DuckDBPyConnection, statement: exp.Query) -> bool:
    first, second = (tables.sql(each.sql("duckdb")) for each in (statement, merged(statement)))
    rows, others = first.fetchall(), second.fetchall()
    ordered = statement.args.get("order") is not None
    key = repr
    return (first.columns, first.types) == (second.columns, second.types) and (
        rows == others if ordered else sorted(rows, key=key) == sorted(others, key=key)
    )


@pytest.mark.parametrize("sql", MERGED)
def test_the_rows_are_the_same(tables: duckdb.DuckDBPyConnection, sql: str) -> None:
    statement = parse(sql)
    before = statement.copy()
    source = merged(statement).args["from_"].this
    assert isinstance(source, exp.Table)
    assert source.name == "r"
    assert same(tables, statement)
    assert statement == before


@pytest.mark.parametrize("sql", KEPT)
def test_others_stay(tables: duckdb.DuckDBPyConnection, sql: str) -> None:
    statement = parse(sql)
    assert merged(statement) is statement


def test_each_kind_of_node_is_in_one_of_them() -> None:
    seen = {type(node) for sql in MERGED for node in parse(sql).walk()}
    assert seen.issuperset(merged_subqueries._OF_ONE_ROW)


def test_expressions_without_parentheses_would_be_seen(
    tables: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged_subqueries, "_TIGHT", (exp.Expr,))
    # The merged statement is remembered by its text, so this is another one.
    assert not all(same(tables, parse(f"{sql} -- bare")) for sql in MERGED)


def doubled(levels: int) -> str:
    """So many sub-queries, each of which mentions the number of the one inside twice."""
    sql = "SELECT r.a AS n FROM r"
    for _ in range(levels):
        sql = f"SELECT n + n AS n FROM ({sql})"
    return sql


def chained(levels: int, more: int = 1) -> str:
    """So many common table expressions, each of which adds to the number of the one before."""
    added = " + 1" * more
    tables = "".join(f", c{i + 1} AS (SELECT c{i}.n{added} AS n FROM c{i})" for i in range(levels))
    return f"WITH c0 AS (SELECT r.a AS n FROM r){tables} SELECT n FROM c{levels}"


def sizes(sql: str) -> tuple[int, int, int]:
    """Of the merged statement: its nodes, its depth, and the queries that are gone."""
    statement = parse(sql)
    nodes = list(merged(statement).walk())
    queries = [sum(isinstance(node, exp.Select) for node in each) for each in (statement.walk(), nodes)]
    return len(nodes), max(node.depth for node in nodes), queries[0] - queries[1]


@pytest.mark.parametrize("sql", [*map(doubled, (5, 12, 35)), *map(chained, (5, 40, 200)), chained(30, 9)])
def test_statements_stay_small(tables: duckdb.DuckDBPyConnection, sql: str) -> None:
    nodes, depth, gone = sizes(sql)
    assert depth <= MAX_DEPTH
    assert gone <= merged_subqueries.MOST_TABLES
    assert gone == 0 or nodes <= merged_subqueries.MOST_PARTS
    assert same(tables, parse(sql))


@pytest.mark.parametrize(
    ("bound", "sql"),
    [("MOST_PARTS", doubled(10)), ("MAX_DEPTH", chained(30, 9)), ("MOST_TABLES", chained(40))],
)
def test_a_bound_that_is_gone_would_be_seen(monkeypatch: pytest.MonkeyPatch, bound: str, sql: str) -> None:
    most = [merged_subqueries.MOST_PARTS, MAX_DEPTH, merged_subqueries.MOST_TABLES]
    at = ["MOST_PARTS", "MAX_DEPTH", "MOST_TABLES"].index(bound)
    monkeypatch.setattr(merged_subqueries, bound, 10**9)
    assert sizes(f"{sql} -- without a bound")[at] > most[at]


@pytest.fixture(scope="module")
def session() -> dp.Session:
    data = pa.table({"k": [0, 1], "x": [2.5, 3.5]})
    return dp.protect(
        data, privacy_unit="row", keys={"k": list(range(40))}, bounds={"x": (0.0, 9.5)}, budget=9
    )


GROUPED = "SELECT k, COUNT(*) AS n, AVG(x) AS a, STDDEV(x) AS d, SUM(x) / COUNT(*) AS q FROM data GROUP BY k"


@pytest.mark.parametrize("test", ["k = 7", "k % 5 = 2 AND k > 3", "n > 0"])
def test_a_filter_around_a_question_gives_the_intervals_of_having(session: dp.Session, test: str) -> None:
    having = session.sql(f"{GROUPED} HAVING {test}", epsilon=1)
    for sql in (
        f"SELECT * FROM ({GROUPED}) WHERE {test}",
        f"WITH c AS ({GROUPED}) SELECT * FROM c WHERE {test}",
    ):
        around = session.sql(sql, epsilon=1)
        assert around.to_arrow().equals(having.to_arrow())
    assert having.low.keys() == {"n", "a", "d", "q"}


def test_noise_is_drawn_again_for_the_groups_that_are_shown(session: dp.Session) -> None:
    with mock.patch(f"{closed_form.__name__}.row_generator", wraps=seeds.row_generator) as drawn:
        session.sql(f"SELECT * FROM ({GROUPED}) WHERE k = 9", epsilon=1).to_arrow()
        around = drawn.call_count
        session.sql(f"{GROUPED} HAVING k = 9", epsilon=1).to_arrow()
    assert 0 < around == drawn.call_count - around
