"""Dates and moments that public sub-queries give are values like those that are written out."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.finish.postprocess import finish
from discreet.sql.plan.planner import plan

DAYS = [dt.date(2024, 5, at) for at in (1, 2, 3)]
RIDES = pa.table(
    {"pickup": [dt.datetime(2024, 5, 1, 8), dt.datetime(2024, 5, 2, 9), dt.datetime(2024, 5, 3, 9)]}
)
WEATHER = pa.table(
    {
        "day": DAYS,
        "at": [dt.datetime(2024, 5, 1, 8), dt.datetime(2024, 5, 2), None],
        "rain": [True, False, False],
    }
)


@pytest.mark.parametrize(("where", "rows"), [
    ("CAST(pickup AS DATE) IN (SELECT day FROM weather WHERE NOT rain)", 2),
    ("CAST(pickup AS DATE) NOT IN (SELECT day FROM weather WHERE rain)", 2),
    ("CAST(pickup AS DATE) > (SELECT MIN(day) FROM weather)", 2),
    ("pickup IN (SELECT at FROM weather WHERE rain)", 1),
    ("pickup >= (SELECT MAX(at) FROM weather)", 2),
])  # fmt: skip
def test_they_are_compared(where: str, rows: int) -> None:
    tables = {"rides": {"privacy_unit": "row"}, "weather": {"public": True}}
    declared: dict[str, Any] = {"budget": 1, "tables": tables}
    policy = dp.Policy(**declared)
    session = shared.protect({"rides": RIDES, "weather": WEATHER}, policy=policy)
    planned = plan(f"SELECT COUNT(*) AS n FROM rides WHERE {where}", inside.catalog_of(session), Fraction(1))
    noisy = inside.exact_of(session, planned)
    assert finish(planned, noisy, dict(inside.catalog_of(session).public), 0.95).values.column(
        "n"
    ).to_pylist() == [rows]
