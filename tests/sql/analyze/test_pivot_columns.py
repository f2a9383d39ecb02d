"""The columns of a PIVOT have the names that DuckDB gives them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from discreet.sql.analyze.pivot_columns import is_condition, name_of_aggregate, name_of_public


@pytest.mark.parametrize(
    "value",
    [
        1, -3, 10**18, 0.5, -0.25, 1e10, True, False, "a b", "", "CAST", dt.date(2024, 5, 1), dt.date(1, 1, 1),
        dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 9, 30, 1, 250_000), dt.datetime(1999, 12, 31, 23, 59, 59),
    ],
)  # fmt: skip
def test_a_public_value_is_named_as_duckdb_does(value: Any) -> None:
    ((said,),) = duckdb.execute("SELECT CAST(? AS VARCHAR)", [value]).fetchall()
    assert name_of_public(value) == said


@pytest.mark.parametrize(("on", "condition"), [
    ("-a IN (1)", True), ("a + 1 IN (1)", True), ("a IN (1)", False), ("(a) IN (1)", False),
    ("upper(a) IN ('A')", False), ("t.a IN (1)", False), ("a > 1", False),
])  # fmt: skip
def test_an_in_behind_an_operator_is_a_condition(on: str, condition: bool) -> None:
    assert is_condition(sqlglot.parse_one(on, dialect="duckdb")) is condition


def test_an_aggregate_without_a_name() -> None:
    assert name_of_aggregate(exp.Count(this=exp.Star())) == "count_star()"
