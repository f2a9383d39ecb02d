"""Running totals and ranges on every engine: the same integers, before noise, as on DuckDB, and the same answers."""

from __future__ import annotations

import datetime as dt
import warnings
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from tests import inside, servers, shared

import discreet as dp
from discreet.sql.lower.workloads import tables_of

NONE: Any = lambda _, exact: exact  # noqa: E731  no noise
FIRST, ROWS = dt.date(2024, 2, 20), 300
DATA = pa.table({
    "day": pa.array([None if n % 19 == 0 else FIRST + dt.timedelta(days=n * n % 80 - 5) for n in range(ROWS)]),
    "k": pa.array(["abx"[n % 3] for n in range(ROWS)]),
    "x": pa.array([None if n % 17 == 0 else (n * 7 % 50) / 2 for n in range(ROWS)], pa.float64()),
})  # fmt: skip
POLICY = dp.Policy(
    budget=10**9,  # type: ignore[arg-type]
    tables={"stays": {  # type: ignore[dict-item]
        "privacy_unit": "row", "columns": {
        "x": {"bounds": (0, 20)}, "k": {"keys": ["b", "a"]},
        "day": {"bounds": (FIRST, FIRST + dt.timedelta(days=69))},
    }}},
)  # fmt: skip
RUNNING = (
    "WITH d AS (SELECT day, k, COUNT(*) AS n, SUM(x) AS s FROM stays GROUP BY day, k) "
    "SELECT day, k, SUM(n) OVER w AS n, SUM(s) OVER w AS s FROM d WINDOW w AS (PARTITION BY k ORDER BY day)"
)
WHERE = (
    "day < DATE '2024-03-01'",
    "day BETWEEN '2024-02-25' AND '2024-04-02'",
    "day >= '2024-03-01' AND k = 'a'",
    "day IS NULL OR day > '2024-04-20'",
)
RANGES = [f"SELECT COUNT(*) AS n, AVG(x) AS x FROM stays WHERE {where}" for where in WHERE]


def integers(session: dp.Session) -> list[Any]:
    """Those of the running totals and of the ranges, without noise."""
    running = inside.plan_of(session, RUNNING, Fraction(1))
    together = inside.workload_plan_of(session, RANGES)
    assert running.workloads[0].series is not None
    assert together.workloads[0].pieces is not None
    return [
        one.entries.tolist()
        for plan in (running, together)
        for one in tables_of(plan, inside.noisy_of(session, plan, NONE))
    ]


@cache
def usual() -> list[Any]:
    """Those on DuckDB."""
    return integers(shared.protect({"stays": DATA}, policy=POLICY))


def test_duckdb_has_the_running_totals_of_the_rows() -> None:
    found = shared.protect({"stays": DATA}, policy=POLICY).sql(RUNNING, epsilon=10**5).to_pandas()
    rows = DATA.to_pandas().dropna(subset=["day"])
    assert np.isclose(found[found["k"] == "a"]["n"].max(), (rows["k"] == "a").sum(), atol=0.5)


def test_postgres_has_the_same_running_totals_and_ranges() -> None:
    places = servers.load(servers.postgres(), "running", {"stays": DATA})
    with shared.protect(places, policy=POLICY, ledger=":memory:") as session:
        assert integers(session) == usual()


def test_clickhouse_has_the_same_running_totals_and_ranges() -> None:
    with servers.within_clickhouse("running", {"stays": DATA}) as database:
        assert integers(shared.protect(database, policy=POLICY, ledger=":memory:")) == usual()


def test_spark_has_the_same_running_totals_and_ranges() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # In two partitions, whose counts and sums Spark puts together; in most tests it has one.
        frame = servers.spark().createDataFrame(DATA.to_pandas()).repartition(2)
        assert integers(shared.protect({"stays": frame}, policy=POLICY)) == usual()
