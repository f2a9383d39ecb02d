"""COLUMNS(…) is the same expression of each column, named as DuckDB names it."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused


@pytest.mark.parametrize(
    "items",
    [
        "AVG(COLUMNS(['x', 'educ']))", "SUM(COLUMNS('^(x|educ)$')) + 1", "COUNT(COLUMNS(* EXCLUDE (id)))",
        "COUNT(COLUMNS(*))", "COUNT(*) AS n, AVG(COLUMNS(['X'])) AS m", "AVG(COLUMNS(['x']) - COLUMNS(['x']))",
    ],
)  # fmt: skip
def test_it_is_as_in_duckdb(items: str) -> None:
    sql = f"SELECT {items} FROM t"
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


@pytest.mark.parametrize(
    "item", ["AVG(COLUMNS(['nope']))", "AVG(COLUMNS('nope'))", "AVG(COLUMNS(['x']) + COLUMNS(['educ']))",
             "AVG(COLUMNS(lambda c: c = 'x'))", "AVG(COLUMNS('('))"],
)  # fmt: skip
def test_what_names_no_column_is_refused(item: str) -> None:
    with pytest.raises(QueryRefused, match=r"COLUMNS|nope") as refused:
        bench.bench().session.preview(f"SELECT {item} AS v FROM t", 1)
    assert refused.value.fix
