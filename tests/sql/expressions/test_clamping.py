"""Clamping in SQL gives one value within the bounds for every row, or NULL."""

from __future__ import annotations

import math

import duckdb
import pytest

from discreet.sql.expressions.clamping import clamped, saturated

CASES = [(-math.inf, 1.5), (-3.0, 1.5), (1.5, 1.5), (2.0, 2.0), (9.0, 9.0), (1e308, 9.0), (math.inf, 9.0),
         (math.nan, None), (None, None)]  # fmt: skip


def read(sql: str, value: float | None) -> object:
    ((found,),) = duckdb.execute(f"SELECT {sql} FROM (SELECT CAST($1 AS DOUBLE) AS x)", [value]).fetchall()
    return found


@pytest.mark.parametrize(("value", "expected"), CASES)
def test_every_value_is_clamped(value: float | None, expected: float | None) -> None:
    assert read(clamped("x", "1.5", "9.0", exact=False), value) == expected
    if value is not None and math.isnan(value):  # planted fault: a type that is said to have no NaN
        assert read(clamped("x", "1.5", "9.0", exact=True), value) is not None


def test_what_stands_for_each_branch_is_taken() -> None:
    sql = clamped("x", "0", "9", exact=True, inside="x * 2", below="-1", above="99")
    assert [read(sql, value) for value in (-5.0, 4.0, 12.0)] == [-1, 8, 99]


@pytest.mark.parametrize(("value", "expected"), [(-20, -9), (-9, -9), (3, 3), (9, 9), (10**6, 9)])
def test_an_integer_saturates(value: int, expected: int) -> None:
    assert read(saturated("x", 9), float(value)) == expected
