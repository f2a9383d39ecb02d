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
