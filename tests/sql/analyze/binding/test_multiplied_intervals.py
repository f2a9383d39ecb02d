"""Intervals times a number move a moment as in DuckDB, and are NULL beyond four thousand years."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused


@pytest.mark.parametrize(
    "moment",
    [
        "ts + INTERVAL 30 MINUTE * y", "ts + y * INTERVAL '1 hour'", "d + INTERVAL (y) DAY", "ts - to_hours(y)",
        "ts - INTERVAL 2 DAY * (educ + 1)", "to_minutes(educ * 7) + ts", "d - INTERVAL '1 day 6 hours' * educ",
    ],
)  # fmt: skip
def test_it_is_the_moment_of_duckdb(moment: str) -> None:
    sql = f"SELECT SUM(hour({moment})) AS h, SUM(day({moment})) AS d, COUNT({moment}) AS n FROM t"
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


def test_so_long_a_length_is_null_and_no_error() -> None:
    far = "ts + INTERVAL 7 DAY * CAST(note || '000000000000000' AS BIGINT)"  # nothing, or 12e15 weeks
    sql = f"SELECT COUNT({far}) AS n, COUNT(*) FILTER (WHERE note = '' AND ts IS NOT NULL) AS z FROM t"
    (row,) = bench.answered(sql).values.to_pylist()
    assert row["n"] == row["z"] > 0


@pytest.mark.parametrize(
    "by", ["INTERVAL 1 MONTH * y", "INTERVAL 1 HOUR * x", "INTERVAL (y) YEAR", "INTERVAL 0 HOUR * y"]
)
def test_a_length_that_nobody_can_tell_is_refused(by: str) -> None:
    with pytest.raises(QueryRefused, match="length") as refused:
        bench.bench().session.preview(f"SELECT COUNT(ts + {by}) AS n FROM t", 1)
    assert "INTERVAL 30 MINUTE * n" in refused.value.fix
