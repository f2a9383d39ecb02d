"""A comma binds less than JOIN: USING and NATURAL see the sources since the last comma alone."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import few
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused

HAS_A_SHOP = "shops.city = u.city AND t.educ = towns.size"
FROM = [
    ("t, shops JOIN towns USING (city)", "t.educ = towns.size"),
    ("t, shops NATURAL JOIN towns", "t.educ = towns.size"),
    ("t, towns LEFT JOIN shops USING (city)", "t.educ = towns.size AND shop > 'c'"),
    ("s, t NATURAL JOIN towns", "s.id = t.id"),
    ("towns, shops JOIN t USING (city)", "t.educ = towns.size AND shop = 'spa'"),
    ("t, shops JOIN towns USING (city), towns AS u", HAS_A_SHOP),
    ("t, shops LEFT JOIN towns ON shops.city = towns.city, towns AS u", HAS_A_SHOP),
]


# A deep run: all of them. `tests/sql/fuzz` asks DuckDB the same of random questions.
@pytest.mark.parametrize(("sources", "where"), few(FROM, 4))
def test_the_rows_are_those_of_duckdb(sources: str, where: str) -> None:
    sql = f"SELECT state, COUNT(*) AS n FROM {sources} WHERE {where} GROUP BY state ORDER BY state"
    sql = sql.replace("state", "towns.state")
    assert difference(bench.answered(sql).values, bench.plain(sql), ("state",)) == ""


@pytest.mark.parametrize("side", ["RIGHT", "FULL"])
def test_rows_that_a_part_of_from_keeps_are_refused_and_the_fix_works(side: str) -> None:
    part = f"shops {side} JOIN towns ON shops.city = towns.city AND shop = 'spa'"
    with pytest.raises(QueryRefused, match="behind a comma"):
        bench.answered(f"SELECT COUNT(*) AS n FROM t, {part} WHERE t.educ = towns.size")
    sql = f"SELECT COUNT(*) AS n FROM t, (SELECT towns.size FROM {part}) AS q WHERE t.educ = q.size"
    assert difference(bench.answered(sql).values, bench.plain(sql), ()) == ""


def test_a_natural_join_with_private_rows_behind_a_comma_names_its_columns() -> None:
    with pytest.raises(QueryRefused, match="NATURAL JOIN behind a comma"):
        bench.answered("SELECT COUNT(*) AS n FROM towns, shops NATURAL JOIN t WHERE t.educ = towns.size")
