"""Aggregates of the rows of one unit, against plain DuckDB.

COUNT_IF of a unit whose condition is NULL in every row is NULL, where a COUNT with FILTER is 0. The mean of equal
values is that value, though sums are of whole steps.
"""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

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
    session = shared.protect({"t": T}, privacy_unit="who", max_rows=2, budget=1)
    plain = shared.plain()
    plain.register("t", T)
    expected = plain.sql(sql.replace("clamp(c, 0, 2)", "c")).fetchall()
    assert _exact(session, sql) == pytest.approx(expected[0])


def _exact(session: dp.Session, sql: str) -> tuple[object, ...]:
    """The one row of the answer without noise."""
    planned = plan(sql, inside.catalog_of(session), Fraction(1))
    noisy = inside.exact_of(session, planned)
    (row,) = zip(
        *(column.to_pylist() for column in finish(planned, noisy, {}, 0.95).values.columns), strict=True
    )
    return row


# Units of one row, of two equal ones, of two unequal ones, and of nothing but NULL. No price but the last is a whole
# number of steps of 2^-23, which is what bounds of 0 and 100 give.
PRICES = pa.table({
    "who": [*range(40), *(50, 50), *(60, 60), *(70, 70), 80],
    "price": [*(n + n / 7 for n in range(40)), *(9.99, 9.99), *(10.1, 30.7), *(None, 4.2), None],
})  # fmt: skip


# A deep run: all.
@pytest.mark.parametrize("sql", few([
    *(f"SELECT COUNT(*) AS n FROM t AS a WHERE price {sign} (SELECT {mean}(price) FROM t AS b WHERE b.who = a.who)"
      for sign in (">", "<", "=") for mean in ("AVG", "SUM")),
    *(f"SELECT COUNT(*) AS n FROM (SELECT price, {mean}(price) OVER (PARTITION BY who) m FROM t) AS q WHERE price = m"
      for mean in ("AVG", "SUM")),
    "SELECT COUNT(*) AS n FROM (SELECT who, AVG(price) AS m, MIN(price) AS lo FROM t GROUP BY who) AS q WHERE m = lo",
    "SELECT COUNT(*) AS n FROM (SELECT who, AVG(price) AS m FROM t GROUP BY who) AS q WHERE m = 9.99",
    "SELECT COUNT(*) AS n FROM (SELECT who, SUM(price) FILTER (WHERE price > 20) AS m FROM t GROUP BY who) AS q"
    " WHERE m = 30.7",
    "SELECT COUNT(*) AS n, COUNT(m) AS k FROM (SELECT who, SUM(price) AS m FROM t GROUP BY who) AS q",
], 4))  # fmt: skip
def test_a_value_is_compared_with_the_mean_of_its_own_unit(sql: str) -> None:
    session = shared.protect(
        {"t": PRICES}, privacy_unit="who", max_rows=2, bounds={"price": (0, 100)}, budget=1
    )
    plain = shared.plain()
    plain.register("t", PRICES)
    assert [_exact(session, sql)] == plain.sql(sql).fetchall()
