"""Skewness and kurtosis from the moments of a group are those of DuckDB."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import in_turn
from tests.sql.fuzz import bench


# Each with groups or without, in turn; a deep run: with both.
@pytest.mark.parametrize(("x", "by"), in_turn(["x", "educ", "x * x", "clamp(y, -9, 14)"], ["", "city"]))
def test_skewness_and_kurtosis_are_those_of_duckdb(x: str, by: str) -> None:
    group = f" WHERE {by} IS NOT NULL GROUP BY {by} ORDER BY {by}" if by else ""
    items = (
        f"SKEWNESS({x}) AS s, KURTOSIS({x}) AS k, KURTOSIS_POP({x}) AS p, VARIANCE({x}) AS v, AVG({x}) AS m"
    )
    sql = f"SELECT {items} FROM t{group}"
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


def test_too_few_rows_have_no_shape() -> None:
    sql = "SELECT SKEWNESS(x) AS s, KURTOSIS(x) AS k FROM t WHERE note = 'nobody'"
    assert bench.answered(sql).values.to_pylist() == [{"s": None, "k": None}]
