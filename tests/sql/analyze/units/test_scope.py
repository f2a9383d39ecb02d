"""The sum of nothing, within one unit, is NULL on every engine, as in plain DuckDB; no cap turns it into a number.

There is no chance of a false alarm. Power: the planted fault at the end is found by the same check.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import servers, shared

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.postgres import PostgresEngine
from discreet.engines.spark import SparkEngine
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.units import aggregates as unit_aggregates
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.lower.run import NoisyIntegers, exact_integers
from discreet.sql.plan.planner import plan

ROWS = pa.table(
    {
        "u": pa.array([1, 1, 2, 2, 3, 4], pa.int64()),
        "a": pa.array([3, 4, None, None, None, -2], pa.int64()),
        "b": pa.array([1.5, None, None, None, 2.0, None], pa.float64()),
        "g": pa.array([1, 2, 1, 2, 1, 1], pa.int64()),
    }
)
BOUNDS = {"a": (-9, 9), "b": (0, 9), "g": (0, 9)}
INNER = [
    "SELECT u, SUM(a) AS s FROM t GROUP BY u",
    "SELECT u, SUM(b) AS s FROM t GROUP BY u",
    "SELECT u, AVG(a) AS s FROM t GROUP BY u",
    "SELECT u, g, SUM(a) AS s FROM t GROUP BY u, g",
    "SELECT u, SUM(a) FILTER (WHERE g > 1) AS s FROM t GROUP BY u",
    "SELECT u, SUM(a > 0) AS s FROM t GROUP BY u",
    "SELECT u, SUM(a) OVER (PARTITION BY u) AS s FROM t",
    "SELECT u, SUM(b) OVER (PARTITION BY u) AS s FROM t",
    "SELECT u, AVG(a) OVER (PARTITION BY u) AS s FROM t",
    "SELECT u, SUM(a) OVER (PARTITION BY u ORDER BY g ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS s FROM t",
]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Spark warns of the versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def differing(engine: Engine, inner: list[str]) -> list[str]:
    """The sub-queries of which an engine gives other NULLs, or another sum, than plain DuckDB."""
    policy = dp.Policy.for_table("t", privacy_unit="u", max_rows=1000, bounds=BOUNDS, budget=1)
    catalog = Catalog.build(policy, engine.schema(), {})
    plain = shared.plain()
    plain.register("t", ROWS)
    found = []
    for text in inner:
        question = f"SELECT COUNT(s) AS n, SUM({{}}) AS total FROM ({text}) AS v"
        (release,) = plan(question.format("clamp(s, -64, 64)"), catalog, Fraction(1)).releases
        noisy = NoisyIntegers(release, exact_integers(release, engine, 7))  # with no noise
        got = [noisy.table().column(name)[0].as_py() for name in ("a0", "a1")]
        ((count, total),) = plain.sql(question.format("s")).fetchall()
        if [round(each, 3) for each in got] != [count, total]:
            found.append(text)
    return found


def _duckdb() -> Engine:
    return DuckDBEngine.open({"t": ROWS})


def _postgres() -> Engine:
    url = servers.postgres()
    servers.load(url, "nothing", {"t": ROWS})
    return PostgresEngine.open_all([("t", f"{url}#nothing.t")])


def _spark() -> Engine:
    return SparkEngine.open_all([("t", servers.spark().createDataFrame(ROWS))])


@pytest.mark.parametrize("opened", [_duckdb, _postgres, _spark])
def test_the_sum_of_nothing_is_null(opened: Any) -> None:
    some = [INNER[0], INNER[6]] if opened is _spark else INNER
    engine = opened()
    assert differing(engine, some) == []
    engine.close()


def test_a_cap_that_passes_over_null_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    most = SATURATE
    monkeypatch.setattr(
        unit_aggregates,
        "capped",
        lambda total, _: f"CAST(GREATEST(LEAST({total}, {most}), -{most}) AS BIGINT)",
    )
    found = differing(_duckdb(), INNER)
    assert {INNER[0], INNER[4], INNER[6]} <= set(found)
