"""Sums of squares of pairs are those of DuckDB, where a value of a pair may be NULL."""

from __future__ import annotations

from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

Y = "clamp(y, -20, 20)"


def test_sums_of_squares_are_those_of_duckdb() -> None:
    shown = ", ".join(f"regr_{name}({Y}, x) AS {name}" for name in ("sxx", "sxy", "syy"))
    for sql in (
        f"SELECT {shown} FROM t",
        f"SELECT educ, {shown} FROM t WHERE educ > 0 GROUP BY educ ORDER BY educ",
    ):
        assert difference(bench.answered(sql).values, bench.plain(sql), (), within=1) == ""
