"""A refusal for want of bounds writes the range of the keys where a column has some, and what it writes is answered."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import QueryRefused
from discreet.sql.expressions.key_range import range_of_keys
from discreet.sql.expressions.span import of_values

TABLE = pa.table({
    "married": [0, 1, 1], "part": [2, 5, 2], "town": ["a", "b", "a"], "alone": [3, 3, 3],
    "day": [dt.date(2020, 1, 1), dt.date(2020, 3, 1), dt.date(2020, 1, 1)],
})  # fmt: skip
KEYS = {
    "married": [0, 1], "part": [5, 2], "town": ["a", "b"], "alone": [3],
    "day": [dt.date(2020, 3, 1), dt.date(2020, 1, 1)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "fix"),
    [
        ("AVG(married)", "AVG(clamp(married, 0, 1))"), ("SUM(part)", "SUM(clamp(part, 2, 5))"),
        ("CORR(married, part)", "CORR(clamp(married, 0, 1), part)"), ("SUM(alone)", "SUM(clamp(alone, 0, 100))"),
        ("MEDIAN(day)", "MEDIAN(clamp(day, DATE '2020-01-01', DATE '2020-03-01'))"),
    ],
)  # fmt: skip
def test_the_fix_has_the_range_of_the_keys(question: str, fix: str) -> None:
    with shared.protect(TABLE, privacy_unit="row", keys=KEYS, budget=1) as session:
        with pytest.raises(QueryRefused) as caught:
            session.preview(f"SELECT {question} AS x FROM data", epsilon=1)
        assert fix in caught.value.fix
        if "CORR" not in fix:  # whose other argument wants them, too
            session.preview(f"SELECT {fix} AS x FROM data", epsilon=1)
        said = session.sql("DESCRIBE data").to_arrow().to_pylist()
        assert (
            "clamp(married, 0, 1)" in next(one for one in said if one["column_name"] == "married")["answers"]
        )


def test_keys_without_a_range_have_none() -> None:
    assert range_of_keys(of_values([True, False])) == ""
    assert range_of_keys(of_values([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)])) == ""
    assert range_of_keys(of_values([])) == ""
