"""IN over public and over released lists is as in DuckDB, where a list has NULL or no value at all."""

from __future__ import annotations

import datetime as dt
import itertools

import pyarrow as pa
import pytest
from benchmarks.corpus.judge import difference
from tests import shared
from tests.depth import few
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused

LISTS = [
    "SELECT city FROM towns WHERE size > 9",
    "SELECT nullif(city, 'B') FROM towns",
    "SELECT NULL FROM towns",
    "SELECT city FROM t GROUP BY city HAVING COUNT(*) > 100000",
    "SELECT city FROM t WHERE city > '' GROUP BY city HAVING COUNT(*) > 0 ORDER BY city LIMIT 1",
    "SELECT nullif(city, 'B') FROM t WHERE city > '' GROUP BY city HAVING COUNT(*) > 0",
]


CONDITIONS = ["{} IN {}", "{} NOT IN {}", "({} IN {}) IS NULL", "NOT ({} NOT IN {} OR x > 20)"]


# A deep run: each with each.
@pytest.mark.parametrize(("listed", "condition"), few(itertools.product(LISTS, CONDITIONS), 4))
def test_a_list_is_read_as_duckdb_reads_it(listed: str, condition: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM t WHERE {condition.format('city', f'({listed})')}"
    assert difference(bench.answered(sql).values, bench.plain(sql), []) == ""


WITHIN = "WITH a AS (SELECT city FROM towns WHERE size > 9) SELECT city FROM a"


@pytest.mark.parametrize("condition", [
    "city IN (VALUES ('A'), ('B'))", "city = ANY (VALUES ('A'), (NULL))", "city <> ALL (VALUES ('A'), (NULL))",
    f"city IN ({WITHIN})", f"NOT city = ANY ({WITHIN})", f"EXISTS ({WITHIN})",
])  # fmt: skip
def test_a_list_of_values_or_behind_with_is_one(condition: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
    assert difference(bench.answered(sql).values, bench.plain(sql), []) == ""


@pytest.mark.parametrize(("condition", "cause", "fix"), [
    ("x > ANY (SELECT size FROM towns)", "= ANY and <> ALL alone", "SELECT MIN(k)"),
    ("x > ANY (VALUES (1), (2))", "= ANY and <> ALL alone", "SELECT MIN(k)"),
    ("x < ALL (VALUES (1), (2))", "= ANY and <> ALL alone", "and MAX for ALL"),
    (f"city > ANY ({WITHIN})", "= ANY and <> ALL alone", "SELECT MIN(k)"),
    ("x IN (WITH a AS (SELECT x FROM t) SELECT x FROM a)", "WITH is not supported in a condition", "before the first"),
    (f"EXISTS ({WITHIN} WHERE a.city = t.city)", "reads a column of the rows around it", "or join the table"),
])  # fmt: skip
def test_another_comparison_with_a_list_is_refused_for_what_it_is(
    condition: str, cause: str, fix: str
) -> None:
    with pytest.raises(QueryRefused) as refused:
        bench.answered(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")
    assert cause in refused.value.cause
    assert fix in refused.value.fix


@pytest.mark.parametrize("condition", [
    "day IN (SELECT day FROM feasts)", "day = (SELECT MAX(day) FROM feasts)",
    "(day, x) IN (SELECT day, 1 FROM feasts)", "at IN (SELECT at FROM feasts)",
    "list_contains((SELECT list(day) FROM feasts), day)", "list_contains((SELECT list(at) FROM feasts), at)",
])  # fmt: skip
def test_a_year_before_1000_is_one(condition: str) -> None:
    days = [dt.date(999, 1, 1), dt.date(999, 1, 2), dt.date(1999, 1, 1)]
    moments = [dt.datetime(one.year, 1, one.day) for one in days]
    visits = pa.table({"day": days, "at": moments, "x": [1, 1, 1]})
    feasts = pa.table({"day": days[:2], "at": moments[:2]})
    tables = {"visits": visits, "feasts": feasts}
    session = shared.protect(tables, table="visits", public=["feasts"], privacy_unit="row", budget=1000)
    expected = 1 if "MAX" in condition else 2
    assert session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE {condition}", epsilon=200)["n"] == [expected]
