"""The values of a branch of a CASE are those that its condition leaves, and the answer is that of DuckDB."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import few
from tests.sql.fuzz import bench


# A deep run: all of them.
@pytest.mark.parametrize(
    "key",
    few([
        "CASE WHEN note IN ('apple', 'corn') THEN note ELSE 'other' END",
        "CASE WHEN note = 'Bean' THEN upper(note) WHEN note IN ('x1', '12') THEN note || '!' ELSE '-' END",
        "CASE WHEN y BETWEEN 3 AND 5 THEN y WHEN y > 5 THEN 6 ELSE 0 END",
        "CASE WHEN y >= 1 AND y < 4 AND x > 0 THEN y * 10 ELSE -1 END",
        "if(note = 'apple', note, 'none')",
        "CASE WHEN doc ->> '$.w[0]' IN ('corn', 'x1') THEN doc ->> '$.w[0]' ELSE 'other' END",
        "CASE WHEN upper(note) IN ('APPLE', 'CORN') AND x > 0 THEN upper(note) END",
        "x // 10 * 10", "x // -7", "floor(x / 10) * 10", "CASE WHEN note IN ('apple') THEN note ELSE 'other' END",
    ], 6),
)  # fmt: skip
def test_its_groups_are_public(key: str) -> None:
    sql = f"SELECT {key} AS k, COUNT(*) AS n FROM t WHERE x IS NOT NULL GROUP BY k ORDER BY k"
    # Above a release and in DuckDB, // of numbers with a fraction keeps the fraction.
    truth = sql.replace("x // 10", "trunc(x / 10)").replace("x // -7", "trunc(x / -7)")
    assert not difference(bench.answered(sql).values, bench.plain(truth), ["k"])


def test_a_number_has_the_bounds_of_its_condition() -> None:
    sql = (
        "SELECT SUM(CASE WHEN y BETWEEN -3 AND 5 THEN y END) AS s, AVG(if(z > 0 AND z < 9, z, 0)) AS a FROM t"
    )
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


def test_the_counts_of_units_are_groups_without_a_clamp() -> None:
    sql = (
        "SELECT n, COUNT(*) AS units FROM (SELECT id, COUNT(*) AS n FROM s GROUP BY id) GROUP BY n ORDER BY n"
    )
    found = [row for row in bench.answered(sql).values.to_pylist() if row["units"]]
    assert found == bench.plain(sql).to_pylist()
