"""IN over public and over released lists is as in DuckDB, where a list has NULL or no value at all."""

from __future__ import annotations

import itertools

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import few
from tests.sql.fuzz import bench

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
@pytest.mark.parametrize(("listed", "condition"), few(itertools.product(LISTS, CONDITIONS), 6))
def test_a_list_is_read_as_duckdb_reads_it(listed: str, condition: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM t WHERE {condition.format('city', f'({listed})')}"
    assert difference(bench.answered(sql).values, bench.plain(sql), []) == ""
