"""What comes out of bands holds whatever lies in them.

Truths are drawn inside bands, at their ends more often than not, and the statement run on them: each of its numbers
lies between the ends that the statement over bands gives for the row of the same identity. There is no chance of a
false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import DEEP, few
from tests.inside import plan_of

import discreet as dp
from discreet.engines.sandbox import Sandbox
from discreet.release.noisy_schema import CELL
from discreet.sql.algebra import keys
from discreet.sql.intervals.bands import expressions as band_expressions
from discreet.sql.intervals.bands.relations import BandScope, NoBandsError
from discreet.sql.intervals.bands.rewrite import Bands
from discreet.sql.intervals.bands.select import SelectBands
from discreet.sql.intervals.row_identity import identified

TRUTHS = 12
VISITS = pa.table({"u": [1], "age": [31], "h": [1], "a": [1]})
PUB = pa.table({"h": [0, 1, 2], "w": [3, 0, -2]})
D = "(SELECT h, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY h) AS d"
C = "(SELECT h, a, COUNT(*) AS n FROM visits GROUP BY h, a) AS c"
BENT = [
    f"SELECT MAX(n) AS v, MIN(s) AS w, MAX(n) - MIN(n) AS x FROM {D}",
    f"SELECT h, MAX(n) AS v, MIN(n) AS w, AVG(n) AS x, MEDIAN(n) AS y FROM {C} GROUP BY h",
    f"SELECT COUNT(*) AS v, SUM(n) AS w, MAX(n) AS x, MIN(n) AS y, AVG(n) AS z FROM {C} WHERE n > 0",
    f"SELECT h, COUNT(*) FILTER (WHERE n >= 1) AS v, SUM(n) FILTER (WHERE n < 2) AS w FROM {C} GROUP BY h",
    f"SELECT SUM(CASE WHEN n > 1 THEN 1 ELSE 0 END) AS v, COUNT(CASE WHEN n <> 1 THEN n END) AS w FROM {C}",
    f"SELECT h, ABS(n) AS v, ABS(n - s) AS w, GREATEST(n, s, 1) AS x, LEAST(n, -s) AS y FROM {D}",
    f"SELECT h, n * s AS v, n / s AS w, n // 2 AS x, -n * 3 AS y, n - s AS z FROM {D}",
    f"SELECT h, CASE WHEN n > s THEN n WHEN s > 2 THEN s ELSE 0 END AS v, IF(n BETWEEN 0 AND 2, s, 7) AS w FROM {D}",
    f"SELECT h, RANK() OVER (ORDER BY n DESC) AS v, ROW_NUMBER() OVER (ORDER BY n) AS w, "
    f"DENSE_RANK() OVER (ORDER BY s) AS x FROM {D}",
    f"SELECT h, a, RANK() OVER (PARTITION BY h ORDER BY n DESC) AS v FROM {C}",
    f"SELECT h, a, n AS v FROM {C} QUALIFY ROW_NUMBER() OVER (PARTITION BY h ORDER BY n DESC) = 1",
    f"SELECT SUM(n) AS v, COUNT(*) AS w, MAX(n) AS x FROM (SELECT n FROM {C} ORDER BY n DESC LIMIT 3) AS e",
    f"SELECT h, COUNT(*) AS v FROM (SELECT h, n FROM {C} QUALIFY RANK() OVER (PARTITION BY a ORDER BY n) <= 2) AS e "
    "GROUP BY h",
    f"SELECT h, n - (SELECT MAX(n) FROM {D}) AS v FROM {D}",
    f"SELECT h, n AS v FROM {D} WHERE n > (SELECT AVG(n) FROM {D})",
    f"SELECT h, n - LAG(n) OVER (ORDER BY h) AS v, SUM(n) OVER (ORDER BY h) AS w, MAX(n) OVER () AS x FROM {D}",
    f"SELECT MAX(ABS(c)) AS v FROM (SELECT n - LAG(n) OVER (ORDER BY h) AS c FROM {D}) AS e",
    f"SELECT COUNT(DISTINCT n) AS v, COUNT(DISTINCT h) AS w FROM {C} WHERE NOT (n <= 1 OR n > 5)",
    f"SELECT d.h, MAX(d.n + w) AS v FROM {D} JOIN pub ON d.h = pub.h AND d.n > w GROUP BY d.h",
    f"SELECT pub.h, ABS(n) AS v, COALESCE(n, 0) + w AS z FROM pub LEFT JOIN {D} ON d.h = pub.h",
    f"SELECT h, n AS v FROM {D} UNION ALL SELECT a, ABS(n) FROM {C}",
    f"WITH r AS (SELECT * FROM {C} WHERE n > 0), t AS (SELECT h, MAX(n) AS m FROM r GROUP BY h HAVING MAX(n) > 1) "
    "SELECT h, m AS v, m * m AS w FROM t",
    f"SELECT h, COUNT(*) AS v FROM (SELECT DISTINCT h, a FROM {C} WHERE n > 1) AS e GROUP BY h",
    f"SELECT h, ROUND(ABS(n) / 3.0, 1) AS v, SQRT(ABS(s)) AS w, FLOOR(n / 2) AS x, CAST(s AS INTEGER) AS y FROM {D}",
    f"SELECT SUM(m) AS v FROM (SELECT h, MAX(n) AS m FROM {C} GROUP BY h) AS e",
    f"SELECT h, COUNT(*) AS v, RANK() OVER (ORDER BY COUNT(*) DESC) AS w FROM {C} WHERE n > 0 GROUP BY h",
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    with shared.protect(
        {"visits": VISITS, "pub": PUB}, table="visits", public=["pub"], privacy_unit="u", max_rows=2,
        bounds={"age": (0, 120), "h": (0, 3), "a": (0, 2)}, budget=1,
    ) as made:  # fmt: skip
        yield made


def broken(session: dp.Session, sql: str, seed: int) -> list[str]:
    """The numbers that lie outside their ends."""
    plan = plan_of(session, sql, Fraction(1))
    public = {"pub": PUB}
    found = identified(plan.post, [one.name for one in plan.releases], {"pub": PUB.column_names})
    assert found is not None
    noisy = {one.name: (len(one.keys), len(one.aggregates)) for one in plan.releases}
    relation, over = Bands(noisy, {"pub": tuple(PUB.column_names)}).statement(found.post)
    rng = np.random.default_rng(seed)
    ends, tables = {}, {}
    for one in plan.releases:
        base = {CELL: pa.array(range(one.cells)), **keys.table(one.keys)}
        own = []
        for at in range(len(one.aggregates)):
            middle, width = rng.integers(-3, 7, one.cells), rng.integers(0, 4, one.cells)
            own.append((middle - width, middle + width))
            base[f"a{at}__lo"], base[f"a{at}__hi"] = (pa.array(end) for end in own[-1])
        tables[one.name], ends[one.name] = pa.table(base), own
    with Sandbox(tables | public) as box:
        bands = box.run(f"{over} SELECT * FROM {relation.name}").to_pylist()
    by = {tuple(row[name] for name in found.ids): row for row in bands}
    assert len(by) == len(bands)
    out = []
    for _ in range(TRUTHS):
        truths = {}
        for one in plan.releases:
            base = {CELL: pa.array(range(one.cells)), **keys.table(one.keys)}
            for at, (low, high) in enumerate(ends[one.name]):
                inside = rng.integers(low, high + 1)
                base[f"a{at}"] = pa.array(np.choose(rng.integers(0, 3, one.cells), [low, high, inside]))
            truths[one.name] = pa.table(base)
        with Sandbox(truths | public) as box:
            answer = box.run(found.post.sql("duckdb")).to_pylist()
        for row in answer:
            own_row = by.get(tuple(row[name] for name in found.ids))
            if own_row is None:
                out.append("a row is missing")
                continue
            for column in relation.columns:
                value = row.get(column.name)
                if value is None or isinstance(value, str):
                    continue
                pair = ("__lo", "__hi") if column.noisy else ("", "")
                low, high = (own_row[column.name + end] for end in pair)
                if low is None or high is None or not float(low) - 1e-9 <= value <= float(high) + 1e-9:
                    out.append(f"{column.name} = {value} [{low}, {high}]")
    return out


# A deep run: every question, and with another seed.
@pytest.mark.parametrize("sql", few(BENT, 4))
def test_every_truth_in_the_bands_is_between_the_ends(session: dp.Session, sql: str) -> None:
    assert [one for seed in ((1, 2) if DEEP else (1,)) for one in broken(session, sql, seed)] == []


@pytest.mark.parametrize(("sql", "where", "name", "fault"), [
    (BENT[0], BandScope, "plainly", lambda self, make: _narrow(make())),
    (BENT[5], band_expressions.Arithmetic, "_absolute",
     lambda self, one: band_expressions.Ends(f"ABS({one.low})", f"ABS({one.high})", True, True)),
    (BENT[2], SelectBands, "_filtered", lambda self, truth: None),
])  # fmt: skip
def test_ends_that_are_too_narrow_are_found(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch, sql: str, where: type, name: str, fault: object
) -> None:
    """The faults: only one end taken, an absolute value of ends, and rows taken for sure that are only possible."""
    monkeypatch.setattr(where, name, fault)
    assert broken(session, sql, 1) != []


def _narrow(ends: object) -> object:
    if isinstance(ends, band_expressions.Ends):
        return band_expressions.Ends(ends.low, ends.low, ends.noisy, ends.bent)
    return ends


@pytest.mark.parametrize("sql", [
    f"SELECT DISTINCT n FROM {C}", f"SELECT n, COUNT(*) AS v FROM {C} GROUP BY n",
    f"SELECT n FROM {C} EXCEPT SELECT 1",
])  # fmt: skip
def test_what_has_no_bands_says_so(session: dp.Session, sql: str) -> None:
    plan = plan_of(session, sql, Fraction(1))
    noisy = {one.name: (len(one.keys), len(one.aggregates)) for one in plan.releases}
    with pytest.raises(NoBandsError):
        Bands(noisy, {}).statement(plan.post)
