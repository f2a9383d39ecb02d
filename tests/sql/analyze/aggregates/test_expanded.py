"""Lists of quantiles, the most frequent value and histograms are as in DuckDB, without noise, and cost as one count."""

from __future__ import annotations

import pyarrow as pa
import pytest
from benchmarks.corpus.judge import difference
from tests import inside, shared
from tests.depth import few
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.plan.limits import NO_LIMITS
from discreet.sql.plan.planner import plan


def same(sql: str, truth: str = "") -> str:
    """How the answer without noise differs from that of plain DuckDB; empty where it does not."""
    return difference(bench.answered(sql).values, bench.plain(truth or sql), [])


# A deep run: all of them. `tests/sql/fuzz` asks DuckDB the same of random questions.
@pytest.mark.parametrize(
    ("asked", "truth"),
    few([
        ("SELECT QUANTILE_DISC(educ, [0.2, 0.9]) AS q FROM t", ""),
        ("SELECT QUANTILE_DISC(educ, [0.1, 0.5, 0.9])[2] AS q FROM t", ""),
        ("SELECT (QUANTILE_DISC(educ, [0.1, 0.5, 0.9]))[-1] AS q, histogram(educ)[2] AS n FROM t", ""),
        ("SELECT city FROM t WHERE city > '' GROUP BY city ORDER BY QUANTILE_DISC(educ, [0.1, 0.5, 0.9])[1], city", ""),
        ("SELECT mode(city) AS m FROM t WHERE x > 45", ""),
        ("SELECT mode() WITHIN GROUP (ORDER BY city) AS m FROM t WHERE x > 45", ""),
        ("SELECT sex, mode(city) FILTER (WHERE x > 40) AS m FROM t GROUP BY sex ORDER BY sex", "SELECT sex, "
         "mode(city) FILTER (WHERE x > 40) AS m FROM t WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex"),
        ("SELECT mode(d) AS m FROM t WHERE x > 49", ""),
        ("SELECT histogram(city) AS h FROM t", ""),
        ("SELECT histogram(educ) AS h, COUNT(*) AS n FROM t WHERE educ > 1", ""),
        ("SELECT city, histogram(sex) AS h FROM t WHERE city IN ('A', 'C') GROUP BY city ORDER BY city", ""),
        ("SELECT histogram(x, [0, 10, 50]) AS h FROM t", ""),
        ("SELECT histogram(x, [0, 10.5]) AS h FROM t", ""),
        ("SELECT histogram(educ, [1, 2]) AS h FROM t", ""),
        ("SELECT histogram(x, equi_width_bins(-10, 50, 6, false)) FILTER (WHERE flag) AS h FROM t", ""),
        ("SELECT histogram_exact(educ, [1, 2]) AS h FROM t", ""),
        ("SELECT histogram(month(d)) AS h FROM t", ""),
        ("SELECT histogram(n) AS h FROM (SELECT city, COUNT(*) // 999 AS n FROM t WHERE city > '' GROUP BY 1)", ""),
        ("SELECT map_values(histogram(city))[1] AS n FROM t", ""),
    ], 6),
)  # fmt: skip
def test_it_means_what_it_means_in_duckdb(asked: str, truth: str) -> None:
    assert not same(asked, truth)


def test_the_mode_of_nobody_is_null() -> None:
    assert bench.answered("SELECT mode(city) AS m FROM t WHERE note = 'nobody'").values.to_pylist() == [
        {"m": None}
    ]


def test_the_counts_of_a_histogram_share_one_epsilon() -> None:
    session = bench.bench().session
    planned = plan("SELECT histogram(city) AS h FROM t", inside.catalog_of(session), bench.EPSILON, NO_LIMITS)
    (release,) = planned.releases
    assert len(release.measures) == 3
    assert set(release.shares) == {bench.EPSILON}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT histogram(x) AS h FROM t",
        "SELECT mode(x) AS m FROM t",
        "SELECT histogram(note) AS h FROM t",
        "SELECT histogram(x, [y]) AS h FROM t",
        "SELECT histogram(d, [DATE '2024-02-28']) AS h FROM t",
        "SELECT histogram(x, range(1000)) AS h FROM t",
    ],
)
def test_bins_that_are_not_public_are_refused_with_a_way_on(sql: str) -> None:
    session = bench.bench().session
    with pytest.raises(QueryRefused) as refused:
        session.preview(sql, 1)
    assert refused.value.fix
    if refused.value.fix.startswith("Write ") and "…" not in refused.value.fix:
        call = refused.value.fix.removeprefix("Write ").partition(", or")[0].partition(", the")[0].rstrip(".")
        session.preview(f"SELECT {call} AS v FROM t", 1)


def test_a_histogram_of_no_value_is_refused_with_the_reason() -> None:
    session = shared.protect(
        pa.table({"c": ["a", "b"]}), privacy_unit="row", budget=1, keys={"c": ["a", "b"]}
    )
    with pytest.raises(QueryRefused, match="no value of c that can have rows"):
        session.sql("SELECT histogram(c) AS h FROM data WHERE c = 'z'", 1)
    assert session.budget.spent == 0
