"""What the fuzzer asks: tables in which every combination of public values has rows, a session, and plain DuckDB.

Answers are made without noise, by the plan, the engine and the post-processing that every question goes through. No
unit has more rows than are kept and no declared value lies outside its bounds in plain DuckDB's copy, so that answers
are those of plain DuckDB, but for the grids on which numbers are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from benchmarks.corpus.judge import nearest
from tests import inside

import discreet as dp
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.release.draw import Draw
from discreet.sql.finish.postprocess import AnswerColumns, finish
from discreet.sql.lower.sequence import run_all
from discreet.sql.lower.uses import uses_of
from discreet.sql.lower.workloads import tables_of
from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.planner import plan

EPSILON = Fraction(100)
SALT = 5
MAX_ROWS, ROWS_OF_S = 6, 3
DATA = """
CREATE MACRO draw(i, salt, n) AS CAST(md5_number_lower(concat(i, '|', salt)) % n AS BIGINT);
CREATE TABLE grid AS SELECT row_number() OVER () AS k, * FROM (SELECT CAST(unnest([1, 2, 3, NULL]) AS BIGINT) AS educ),
  (SELECT unnest(['M', 'F', NULL]) AS sex), (SELECT unnest(['A', 'B', 'C', NULL]) AS city),
  (SELECT unnest([DATE '2024-02-28', DATE '2024-02-29', DATE '2024-03-01', NULL]) AS d),
  (SELECT unnest([true, false, NULL]) AS flag),
  (SELECT unnest([TIMESTAMP '2024-02-28 06:00:00', TIMESTAMP '2024-02-29 18:30:00', NULL]) AS ts);
CREATE TABLE t AS SELECT k % 300 AS id, * EXCLUDE k,
  CASE draw(k, 'xn', 9) WHEN 0 THEN NULL WHEN 1 THEN -25.0 WHEN 2 THEN 80.0 ELSE CAST(draw(k, 'x', 241) AS DOUBLE) / 4 - 10 END AS x,
  CASE WHEN draw(k, 'yn', 11) = 0 THEN NULL ELSE draw(k, 'y', 41) - 20 END AS y,
  CASE WHEN draw(k, 'zn', 7) = 0 THEN NULL ELSE CAST(draw(k, 'z', 1001) AS DOUBLE) / 8 - 60 END AS z,
  CASE WHEN draw(k, 'nn', 8) = 0 THEN NULL ELSE ['apple', 'Bean', 'corn', 'x1', '12', ''][draw(k, 'note', 6) + 1] END AS note,
  CASE WHEN draw(k, 'tn', 9) > 0 THEN ['apple', 'x1', NULL, 'apple'][1 + draw(k, 't1', 3):draw(k, 't2', 5)] END AS tags,
  CASE WHEN draw(k, 'hn', 9) > 0 THEN {'town': ['apple', 'B', NULL][draw(k, 'h', 3) + 1], 'at': {'n': draw(k, 'hk', 19) - 9}} END AS home,
  CASE WHEN draw(k, 'jn', 9) > 0 THEN '{"n": ' || draw(k, 'j', 30) - 9 || ', "w": ["' || ['corn', 'x1', ''][draw(k, 'w', 3) + 1] || '", null]}' END AS doc
FROM grid;
CREATE TABLE s AS SELECT CAST(i AS BIGINT) AS id, draw(i * 5 + n, 'p', 10) AS p, CAST(draw(i * 5 + n, 'q', 100) AS DOUBLE) / 4 AS q
FROM range(320) AS t(i), range(3) AS u(n) WHERE i % 7 > 0 AND n <= draw(i, 'many', 3);
CREATE TABLE towns AS SELECT * FROM (VALUES ('A', 'S1', CAST(1 AS BIGINT)), ('B', 'S1', 2), ('C', 'S2', 3)) AS v(city, state, size);
CREATE TABLE shops AS SELECT * FROM (VALUES ('A', 'bar'), ('A', 'inn'), ('B', 'bar'), ('C', 'bar'), ('C', 'inn'), ('C', 'spa')) AS v(city, shop);
"""
POLICY: dict[str, Any] = {
    "budget": 10**9,
    "tables": {
        "t": {
            "privacy_unit": "id",
            "max_rows": MAX_ROWS,
            "columns": {
                "educ": {"bounds": (1, 3)},
                "sex": {"keys": ["M", "F"]},
                "city": {"keys": "towns.city"},
                "d": {"bounds": ("2024-02-28", "2024-03-01")},
                "ts": {"bounds": ("2024-02-28T00:00:00", "2024-02-29T23:59:59")},
                "x": {"bounds": (-10, 50)},
                "tags": {"max_items": 4},
            },
        },
        "s": {"privacy_unit": "id", "max_rows": ROWS_OF_S, "columns": {"p": {"bounds": (0, 9)}}},
        "towns": {"public": True},
        "shops": {"public": True},
    },
}
CLAMP = "CREATE MACRO clamp(x, lo, hi) AS CASE WHEN x < lo THEN lo WHEN x > hi THEN hi ELSE x END"
BOUNDED = "CREATE TABLE t AS SELECT * REPLACE (CASE WHEN x < -10 THEN -10 WHEN x > 50 THEN 50 ELSE x END AS x) FROM raw"


@dataclass(frozen=True)
class Bench:
    """A session over the tables, and plain DuckDB over their clamped copies."""

    session: dp.Session
    plain: duckdb.DuckDBPyConnection


@cache
def bench() -> Bench:
    """One for all cases of a process."""
    made = duckdb.connect(config={"threads": 1})
    made.execute(DATA)
    tables = {name: made.table(name).to_arrow_table() for name in POLICY["tables"]}
    plain = duckdb.connect(config={"threads": 1})
    plain.execute(CLAMP)
    plain.register("raw", tables["t"])
    plain.execute(BOUNDED)
    for name in ("s", "towns", "shops"):
        plain.register("source", tables[name])
        plain.execute(f"CREATE TABLE {name} AS FROM source")
    return Bench(dp.protect(tables, policy=dp.Policy(**POLICY)), plain)


def answered(sql: str, limits: Limits = NO_LIMITS, epsilon: Fraction = EPSILON) -> AnswerColumns:
    """The answer to a question as it would be if the noise were zero, with intervals for the noise of `epsilon`."""
    session = bench().session
    catalog = inside.catalog_of(session)
    planned = plan(sql, catalog, epsilon, limits)
    noisy = run_all(
        planned, inside.engine_of(session), SALT, Silence(uses_of(planned.releases)), catalog.public
    )
    tables = tables_of(planned, noisy)
    return finish(
        replace(planned, releases=tuple(table.plan for table in tables)), tables, catalog.public, 0.95
    )


class Silence(Draw):
    """Draws no noise, and chooses the leaf of the quantile itself (nearly always: at epsilon 400 each)."""

    def __call__(self, name: str, exact: Any) -> Any:
        """The values, unchanged."""
        if not isinstance(exact, SparseCounts):
            return exact
        real = self._uses[name].mechanism
        assert isinstance(real, QuantilesWithEnds)
        return nearest(real, exact)


def plain(sql: str) -> pa.Table:
    """The answer of plain DuckDB."""
    return bench().plain.sql(sql).to_arrow_table()


@cache
def same_rows() -> tuple[dp.Session, int, int]:
    """A session over units that all have the same rows, how many units there are, and how many rows each has."""
    units, values = 2000, 20
    rows = np.arange(units * values)
    table = pa.table(
        {"id": rows // values, "v": rows % values + 1, "w": rows % values * 1.5, "u": rows % values * 7 % 5}
    )
    bounds = {"v": (1, values), "w": (0, 30), "u": (0, 5)}
    return dp.protect(table, privacy_unit="id", max_rows=values, budget=1, bounds=bounds), units, values
