"""A difference in weeks counts Mondays."""

from __future__ import annotations

import datetime as dt

import duckdb
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.sql.syntax.post_processing.weeks import count_mondays

DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))


def written(sql: str) -> str:
    query = sqlglot.parse_one(sql, read="duckdb")
    count_mondays(query)
    return query.sql("duckdb")


@settings(deadline=None, max_examples=50)
@given(DAYS, DAYS)
def test_it_is_the_number_of_mondays_that_pass(one: dt.date, other: dt.date) -> None:
    sql = written(f"SELECT date_diff('week', DATE '{one}', DATE '{other}') AS n")
    mondays = [day - dt.timedelta(days=day.weekday()) for day in (one, other)]
    (row,) = duckdb.execute(sql).fetchall()
    assert row[0] == (mondays[1] - mondays[0]).days // 7


def test_one_inside_another_counts_mondays_too() -> None:
    inner = "date_diff('week', DATE '2025-01-05', DATE '2025-01-06')"
    sql = written(
        f"SELECT {inner}, date_diff('week', DATE '2025-01-05', DATE '2025-01-06' + {inner}::INT * 7)"
    )
    assert duckdb.execute(sql).fetchall() == [(1, 2)]


def test_other_units_are_left_alone() -> None:
    for unit in ("day", "month", "year"):
        sql = f"SELECT date_diff('{unit}', a, b) FROM t"
        assert written(sql) == sqlglot.parse_one(sql, read="duckdb").sql("duckdb")
