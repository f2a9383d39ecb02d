"""Dates and moments that public sub-queries give are values like those that are written out."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
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


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("TO_DATE('2024-05-02', 'YYYY-MM-DD')", "DATE '2024-05-02'"),
        ("TO_DATE('2024-05-02 08:30:00', 'YYYY-MM-DD HH24:MI:SS')", "DATE '2024-05-02'"),
        ("to_timestamp('2024-05-02 08:30:00', 'yyyy-mm-dd hh24:mi:ss')", "TIMESTAMP '2024-05-02 08:30:00'"),
        (
            "TO_TIMESTAMP('2024-05-02 08:30:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
            "TIMESTAMP '2024-05-02 08:30:00'",
        ),
    ],
)
def test_texts_by_a_format_of_postgresql_are_dates_as_dashboards_write_them(written: str, plain: str) -> None:
    """Superset filters by time so; the same question as the plain one is free."""
    with dp.protect(RIDES, privacy_unit="row", budget=9) as asked:
        answer = asked.sql(f"SELECT COUNT(*) AS n FROM data WHERE pickup >= {written}", 1)
        same = asked.sql(f"SELECT COUNT(*) AS n FROM data WHERE pickup >= {plain}", 1)
        assert same.replayed
        assert same.to_dict() == answer.to_dict()


# A deep run: all of them.
@pytest.mark.parametrize(
    "wrong",
    few(["TO_DATE('2024-05-02', 'DD.MM.YYYY')", "TO_DATE('2024-05-02')", "TO_TIMESTAMP('May', 'Month')",
     "TO_DATE(pickup, 'YYYY-MM-DD')", "TO_DATE('2024-02-31', 'YYYY-MM-DD')", "TO_DATE('2024-05-02', 'YYYY-MM-DD', 1)",
     "TO_TIMESTAMP('2024-05-02 08:30:00+02', 'YYYY-MM-DD HH24:MI:SS')", "TO_DATE('2024-W18-4', 'YYYY-MM-DD')",
     "TO_TIMESTAMP('infinity', 'YYYY-MM-DD')", "TO_DATE('20240502', 'YYYY-MM-DD')"], 5),
)  # fmt: skip
def test_other_formats_are_refused(wrong: str) -> None:
    with dp.protect(RIDES, privacy_unit="row", budget=9) as asked:
        with pytest.raises(QueryRefused):
            asked.sql(f"SELECT COUNT(*) AS n FROM data WHERE pickup >= {wrong}", 1)
        assert asked.budget.spent == 0
