"""Distinct values counted, added up and averaged, tuples of them, and aggregates by other names, as DuckDB has them."""

from __future__ import annotations

import duckdb
import pytest
from tests import inside
from tests.depth import in_turn

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze.aggregates import distinct_values

ITEMS = [
    ("SUM(DISTINCT age)", ""),
    ("SUM(DISTINCT age % 7) FILTER (WHERE cost > 500)", ""),
    ("AVG(DISTINCT age), SUM(DISTINCT cost)", ""),
    ("SUM(DISTINCT age - 50), SUM(age), COUNT(DISTINCT age)", ""),
    ("COUNT(DISTINCT (age, county))", ""),
    ("COUNT(DISTINCT (patient, county))", ""),
    ("COUNT(DISTINCT (nullif(age, 8), nullif(county, 'B'), age > 50, day))", ""),
    ("COUNT(DISTINCT (age % 3, 'a' || county)) FILTER (WHERE age > 20)", ""),
    (
        "APPROX_COUNT_DISTINCT(age), APPROX_COUNT_DISTINCT(patient)",
        "COUNT(DISTINCT age), COUNT(DISTINCT patient)",
    ),
    ("favg(age), fsum(age), sum_no_overflow(age), count_star(), mean(age)", ""),
    ("weighted_avg(cost, age + 1)", "SUM(cost * (age + 1)) / SUM(age + 1)"),
]


# Each with groups or without, in turn; a deep run: with both.
@pytest.mark.parametrize(("asked", "county"), in_turn(ITEMS, ["", "county, "]))
def test_it_means_what_it_means_in_duckdb(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, asked: tuple[str, str], county: str
) -> None:
    item, same_as = asked
    sql = "SELECT {}{} FROM visits" + (" GROUP BY county ORDER BY county" if county else "")
    got = inside.without_noise(session, sql.format(county, item))
    expected = plain.execute(sql.format(county, same_as or item)).fetchall()
    assert [
        [pytest.approx(float(v), rel=1e-5) if not isinstance(v, str) else v for v in row] for row in expected
    ] == [list(row) for row in got]


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("SELECT COUNT(DISTINCT (cost, age)) FROM visits",
         "SELECT COUNT(DISTINCT (round(cost * 100) // 1, age)) FROM visits"),
    ],
)  # fmt: skip
def test_numbers_with_a_fraction_are_refused_with_a_fix_that_runs(
    session: dp.Session, sql: str, instead: str
) -> None:
    with pytest.raises(QueryRefused):
        inside.without_noise(session, sql)
    inside.without_noise(session, instead)


def test_tuples_that_run_into_each_other_are_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct_values, "_PIECE", "coalesce(CAST(_x AS VARCHAR), '')")
    item = "COUNT(DISTINCT (age, patient))"
    with pytest.raises(AssertionError):
        test_it_means_what_it_means_in_duckdb(session, plain, (item, ""), "")
