"""COUNT_IF of a unit whose condition is NULL in every row is NULL, as in DuckDB, where a COUNT with FILTER is 0."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest
from tests import inside

import discreet as dp
from discreet.sql.finish.postprocess import finish
from discreet.sql.plan.planner import plan

T = pa.table(
    {"who": [1, 1, 2, 2, 3], "x": pa.array([None, None, 1, 5, None], pa.int64()), "k": [1, 2, 1, 2, 1]}
)


@pytest.mark.parametrize("inner", [
    "SELECT who, COUNT_IF(x > 2) AS c FROM t GROUP BY who",
    "SELECT who, COUNT(*) FILTER (WHERE x > 2) AS c FROM t GROUP BY who",
    "SELECT who, COUNT_IF(x > 2) FILTER (WHERE k = 1) AS c FROM t GROUP BY who",
    "SELECT who, COUNT_IF(x > 2) OVER (PARTITION BY who) AS c FROM t",
])  # fmt: skip
def test_nothing_is_null_where_duckdb_says_so(inner: str) -> None:
    sql = f"SELECT COUNT(*) AS n, COUNT(c) AS k, AVG(clamp(c, 0, 2)) AS a FROM ({inner}) AS q"
    session = dp.protect({"t": T}, privacy_unit="who", max_rows=2, budget=1)
    planned = plan(sql, inside.catalog_of(session), Fraction(1))
    noisy = inside.exact_of(session, planned)
    plain = duckdb.connect()
    plain.register("t", T)
    plain.execute("CREATE MACRO clamp(x, lo, hi) AS greatest(least(x, hi), lo)")
    expected = plain.sql(sql.replace("clamp(c, 0, 2)", "c")).fetchall()
    (row,) = zip(
        *(column.to_pylist() for column in finish(planned, noisy, {}, 0.95).values.columns), strict=True
    )
    assert row == pytest.approx(expected[0])
