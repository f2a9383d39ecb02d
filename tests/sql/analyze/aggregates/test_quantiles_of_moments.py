"""MIN, MAX, MEDIAN, AVG and quantiles of dates and time stamps: values and types of DuckDB, with moments as ends."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import DEEP, few
from tests.sql.fuzz import bench

import discreet as dp
from discreet.errors import QueryRefused

DAY = dt.timedelta(days=1)


@pytest.mark.parametrize("by", ["", "city"])
def test_a_median_lies_between_the_middle_moments(by: str) -> None:
    group = f" WHERE {by} IS NOT NULL GROUP BY {by} ORDER BY {by}" if by else ""
    middle = (f"percentile_disc(0.5) WITHIN GROUP (ORDER BY ts{way})" for way in ("", " DESC"))
    found = bench.answered(f"SELECT MEDIAN(ts) AS v FROM t{group}").values["v"].to_pylist()
    ends = bench.plain(f"SELECT {', '.join(middle)} FROM t{group}").to_pydict().values()
    assert found
    second = dt.timedelta(seconds=1)  # leaves are not micro-seconds
    assert all(lo - second <= v <= hi + second for v, lo, hi in zip(found, *ends, strict=True))


# A deep run: all.
@pytest.mark.parametrize(
    ("item", "off"),
    few([
        ("QUANTILE_DISC(d, 0.4)", 0), ("QUANTILE_DISC(d, 0.9) FILTER (WHERE flag)", 0), ("MEDIAN(d)", 1),
        ("QUANTILE_CONT(d, 0.6)", 1), ("AVG(d)", 0.01), ("MIN(d)", 0), ("MAX(d)", 0),
        ("AVG(ts)", 0.01), ("PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY d DESC)", 0), ("MAX(ts)", 0.01),
        ("MIN(coalesce(d, DATE '2024-02-28'))", 0), ("QUANTILE(d, 0.4)", 0), ("APPROX_QUANTILE(d, 0.9)", 0),
        ("MIN(clamp(d, DATE '2024-02-29', DATE '2024-03-01'))", 0),
    ], 4),
)  # fmt: skip
@pytest.mark.parametrize("by", ["", "city"])
def test_it_is_a_moment_of_the_type_of_duckdb(item: str, off: float, by: str) -> None:
    group = f" WHERE {by} IS NOT NULL GROUP BY {by} ORDER BY {by}" if by else ""
    sql = f"SELECT {item} AS v FROM t{group}"
    found, truth = bench.answered(sql), bench.plain(sql)
    assert found.values.schema.field("v").type == truth.schema.field("v").type
    pairs = list(zip(found.values["v"].to_pylist(), truth["v"].to_pylist(), strict=True))
    assert pairs
    assert all(abs(one - other) <= off * DAY for one, other in pairs), pairs
    low, high = (found.ends(at)["v"] for at in (0, 1))
    assert low.type == high.type == truth.schema.field("v").type
    for bottom, (value, _), top in zip(low.to_pylist(), pairs, high.to_pylist(), strict=True):
        assert bottom <= value <= top


def test_arithmetic_of_them_is_that_of_moments() -> None:
    sql = "SELECT MAX(d) - MIN(d) AS days, year(MIN(d)) AS y FROM t"
    assert bench.answered(sql).values.to_pylist() == bench.plain(sql).to_pylist()


def test_an_interval_covers(tmp_path: Path) -> None:
    """Of 20 releases at 99.9 %, the chance that five miss is below 1e-9, where each may miss twice as often; a wrong
    unit would miss most. In a deep run of 40 releases seven, below 1e-11."""
    releases, most = (40, 7) if DEEP else (20, 5)
    rows = np.arange(4000)
    table = pa.table({"id": rows, "d": [dt.date(2024, 1, 1) + int(at) % 366 * DAY for at in rows]})
    session = shared.protect(
        table, privacy_unit="id", max_rows=1, budget=1000, bounds={"d": ("2024-01-01", "2024-12-31")}
    )
    sql = "SELECT QUANTILE_DISC(d, 0.5) AS m FROM data"
    middle = sorted(table["d"].to_pylist())[1999]
    missed = 0
    for turn in range(releases):  # an epsilon of its own: the same question at the same one is one release
        answer = session.sql(sql, 1 + turn / 1000, confidence=0.999)
        missed += not answer.low["m"][0].as_py() <= middle <= answer.high["m"][0].as_py()
        assert answer.high["m"][0].as_py() - answer.low["m"][0].as_py() < 60 * DAY
    assert missed < most
    answer = session.sql(sql, 1)
    assert dp.Release.from_bytes(answer.to_bytes()).to_arrow() == answer.to_arrow()
    session.write(sql, 1, tmp_path / "answer.parquet")
    assert "[2024-" in repr(answer)


@pytest.mark.parametrize(
    "sql",
    ["SELECT MIN(CAST(note AS DATE)) AS v FROM t", "SELECT MEDIAN(CAST(note AS TIMESTAMP)) AS v FROM t"],
)
def test_without_bounds_the_refusal_says_how_to_give_some(sql: str) -> None:
    session = bench.bench().session
    with pytest.raises(QueryRefused, match="no bounds") as refused:
        session.preview(sql, 1)
    call = refused.value.fix.partition("write ")[2].partition(" with dates")[0]
    session.preview(f"SELECT {call} AS v FROM t", 1)


@pytest.mark.parametrize("bounds", ["1, 2", "DATE '2025-01-01', DATE '2024-01-01'", "d, DATE '2024-01-01'"])
def test_a_clamp_of_dates_takes_literal_dates_in_order(bounds: str) -> None:
    with pytest.raises(QueryRefused, match="clamp") as refused:
        bench.bench().session.preview(f"SELECT MIN(clamp(d, {bounds})) AS v FROM t", 1)
    assert "DATE '2000-01-01'" in refused.value.fix
