"""LATERAL above the noise is that of DuckDB, and beside private rows a refusal that names another way."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.analyze.joins import laterals

COUNTS = "(SELECT city, COUNT(*) AS n FROM t WHERE city > '' GROUP BY city) AS a"


@pytest.mark.parametrize("sql", [
    f"SELECT a.city, x.s FROM {COUNTS}, LATERAL (SELECT a.n * 2 AS s) AS x",
    f"SELECT a.city, x.s FROM {COUNTS} JOIN LATERAL (SELECT a.n * 2 AS s) AS x ON true",
    f"SELECT a.city, x.s FROM {COUNTS}, LATERAL (SELECT SUM(size) + a.n AS s FROM towns WHERE towns.city = a.city) "
    "AS x",
    f"SELECT a.city, x.size FROM {COUNTS} LEFT JOIN LATERAL (SELECT size FROM towns WHERE towns.city = a.city) AS x "
    "ON true",
    "SELECT b.city, x.s FROM towns AS b, LATERAL (SELECT SUM(size) AS s FROM towns WHERE towns.city = b.city AND "
    "size > 9) AS x",
    "SELECT COUNT(*) AS n FROM t, LATERAL (SELECT city AS c FROM towns) AS x WHERE t.city = x.c",
])  # fmt: skip
def test_it_is_that_of_duckdb(sql: str) -> None:
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


@pytest.mark.parametrize(("source", "fix"), [
    ("LATERAL (SELECT t.x + 1 AS b) AS q", laterals.COMPUTED),
    ("LATERAL (SELECT x + 1 AS b) AS q", laterals.COMPUTED),
    ("(SELECT t.x + 1 AS b) AS q", laterals.COMPUTED),
    ("LATERAL (SELECT 1 AS one) AS p, LATERAL (SELECT p.one + t.x AS b) AS q", laterals.COMPUTED),
    ("LATERAL (SELECT t.x AS b UNION ALL SELECT t.x + 1) AS q", laterals.LISTED),
    ("LATERAL (VALUES (t.x), (t.x + 1)) AS q(b)", laterals.LISTED),
    ("LATERAL range(t.educ) AS q(b)", laterals.LISTED),
    ("LATERAL (SELECT size AS b FROM towns WHERE towns.city = t.city) AS q", laterals.JOINED),
    ("LATERAL (SELECT MAX(size) AS b FROM towns WHERE size < x) AS q", laterals.JOINED),
])  # fmt: skip
def test_a_source_that_reads_private_rows_is_refused_with_another_way(source: str, fix: str) -> None:
    with pytest.raises(QueryRefused, match="reads the private rows beside it") as refused:
        bench.answered(f"SELECT COUNT(*) AS n FROM t, {source} WHERE b > 1")
    assert refused.value.fix == fix


@pytest.mark.parametrize("source", [
    "(SELECT size AS x FROM towns ORDER BY x LIMIT 5)",
    "(SELECT x FROM (VALUES (1), (2)) AS v(x))",
    "(SELECT x FROM range(1, 3) AS v(x))",
    "(SELECT x FROM UNNEST([1, 2]) AS v(x))",
    "(SELECT t.g AS x FROM range(1, 3) AS t(g))",
    "(SELECT unnest([1, 2]) AS x ORDER BY x)",
    "(SELECT x FROM towns AS v(city, state, x))",
    "(SELECT size AS x, COUNT(*) AS n FROM towns GROUP BY x)",
    "(SELECT size AS x, COUNT(*) AS n FROM towns GROUP BY ALL HAVING x > 1)",
    "(SELECT size AS x, x + 1 AS b FROM towns)",
    "(SELECT size + 1 AS x FROM towns WHERE x > 2)",
])  # fmt: skip
def test_a_source_with_a_column_of_its_own_of_the_same_name_is_answered(source: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM t JOIN {source} AS q ON q.x = t.educ"
    assert bench.plain(sql).column("n")[0].as_py() > 0
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


@pytest.mark.parametrize("source", [
    "SELECT size AS x FROM towns QUALIFY row_number() OVER (PARTITION BY x ORDER BY city) = 1",
    "SELECT size AS x, row_number() OVER (ORDER BY city) AS r FROM towns QUALIFY r > 1 AND x < 3",
])  # fmt: skip
def test_a_name_of_the_select_list_in_qualify_is_that_of_the_sub_query(source: str) -> None:
    """DuckDB takes the column beside the sub-query there, and the name of the list where it stands in WITH."""
    count = "SELECT COUNT(*) AS n FROM t JOIN {} AS q ON q.x = t.educ"
    plain = bench.plain(f"WITH k AS ({source}) {count.format('k')}")
    assert not difference(bench.answered(count.format(f"({source})")).values, plain, [])


@pytest.mark.parametrize("column", ["t.x", "x"])
def test_a_fault_of_the_sub_query_itself_is_named(column: str) -> None:
    with pytest.raises(QueryRefused, match='"lots" not found'):
        bench.answered("SELECT COUNT(*) AS n FROM t, (SELECT lots AS b FROM towns) AS q WHERE b > 1")
    source = f"(SELECT size FROM towns AS b WHERE EXISTS (SELECT 1 FROM towns AS c WHERE c.size < {column}))"
    with pytest.raises(QueryRefused, match="reads the private rows beside it"):
        bench.answered(f"SELECT COUNT(*) AS n FROM t, {source} AS q")


@pytest.mark.parametrize(("inner", "fix"), [
    ("SELECT COUNT(*) AS n FROM t WHERE t.city = towns.city", laterals.GROUPED),
    ("SELECT t.x AS n FROM t WHERE t.city = towns.city", laterals.FIRST),
])  # fmt: skip
def test_private_rows_within_it_are_refused_with_another_way(inner: str, fix: str) -> None:
    with pytest.raises(QueryRefused, match="LATERAL over private rows") as refused:
        bench.answered(f"SELECT towns.city, q.n FROM towns, LATERAL ({inner}) AS q")
    assert refused.value.fix == fix


def test_the_ways_that_are_named_are_answered() -> None:
    for sql in (
        "SELECT COUNT(*) AS n FROM (SELECT *, x + 1 AS b FROM t) AS v WHERE b > 1",
        "SELECT COUNT(*) AS n FROM t JOIN towns ON towns.city = t.city",
        "SELECT towns.city, q.n FROM towns JOIN (SELECT city, COUNT(*) AS n FROM t WHERE city > '' GROUP BY city) AS q "
        "ON q.city = towns.city",
    ):
        assert not difference(bench.answered(sql).values, bench.plain(sql), [])


JOINED_TOWNS = "t JOIN towns AS d ON d.city = t.city"


@pytest.mark.parametrize("sources", [
    "towns AS d, LATERAL (SELECT d.size + 1 AS b) AS q JOIN t ON t.city = d.city",
    "towns AS d CROSS JOIN (SELECT d.size + 1 AS b) AS q JOIN t ON t.city = d.city",
    f"{JOINED_TOWNS}, LATERAL (SELECT d.size + 1 AS b) AS q",
    f"{JOINED_TOWNS}, LATERAL (SELECT MAX(e.size) AS b FROM towns AS e WHERE e.city < d.city) AS q",
    f"{JOINED_TOWNS}, LATERAL (SELECT size AS b) AS q",
    f"{JOINED_TOWNS}, range(d.size) AS q(b)",
])  # fmt: skip
def test_a_source_that_reads_public_rows_beside_private_ones_is_told_so(sources: str) -> None:
    with pytest.raises(QueryRefused, match="reads a table beside it, as LATERAL does") as refused:
        bench.answered(f"SELECT COUNT(*) AS n FROM {sources} WHERE b > 1")
    assert refused.value.fix == laterals.TOGETHER
    assert "DuckDB" not in str(refused.value)
    assert refused.value.charged is None


VALUES = [
    "(SELECT size FROM towns WHERE towns.city = t.city)",
    "(SELECT MAX(size) FROM towns WHERE size < x)",
    "(SELECT size FROM towns AS e WHERE e.city = t.city AND e.size > 2)",
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("sql", [
    "SELECT {0} AS k, COUNT(*) AS n FROM t GROUP BY k", "SELECT {0} AS k, COUNT(*) AS n FROM t GROUP BY 1",
    "SELECT COUNT(*) AS n FROM t WHERE {0} > 3", "SELECT SUM({0}) AS n FROM t",
    "SELECT COUNT(*) FILTER (WHERE {0} > 3) AS n FROM t",
    "SELECT COUNT(*) AS n FROM (SELECT id, city, x, {0} AS k FROM t) AS t WHERE k > 3",
])  # fmt: skip
def test_a_value_of_a_public_table_for_each_row_is_told_to_be_joined(value: str, sql: str) -> None:
    with pytest.raises(QueryRefused, match="looks up a value for each private row") as refused:
        bench.answered(sql.format(value))
    assert refused.value.fix == laterals.LOOKED_UP
    assert refused.value.charged is None


def test_a_column_of_a_sub_query_around_is_found_and_an_unknown_one_is_not() -> None:
    around = (
        "SELECT (SELECT size FROM towns WHERE towns.city = {}) AS k, COUNT(*) AS n "
        "FROM (SELECT id, city AS c FROM t)"
    )
    with pytest.raises(QueryRefused, match="looks up a value"):
        bench.answered(f"{around.format('c')} AS t GROUP BY k")
    with pytest.raises(QueryRefused, match='column "nowhere" not found'):
        bench.answered(f"{around.format('nowhere')} AS t GROUP BY k")


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) AS n FROM (SELECT * FROM towns AS d, LATERAL (SELECT d.size + 1 AS b) AS l) AS d "
    "JOIN t ON t.city = d.city WHERE b > 1",
    "SELECT COUNT(*) AS n FROM t LEFT JOIN towns AS d ON d.city = t.city WHERE d.size > 3",
])  # fmt: skip
def test_the_other_ways_are_answered(sql: str) -> None:
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])
