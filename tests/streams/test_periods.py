"""Periods follow a public calendar."""

from __future__ import annotations

import datetime as dt

import pytest

from discreet.errors import InvalidParameter
from discreet.streams import Periods, time_of

START = dt.datetime(2024, 2, 1)


@pytest.mark.parametrize("every", ["minute", "hour", "day", "week", "month"])
def test_each_time_is_in_the_period_whose_begin_is_before_it(every: str) -> None:
    periods = Periods(START, every, 5)
    begins = [time_of(periods.label(t) + ("-01" if every == "month" else "")) for t in range(1, 6)]
    assert begins[0] == START
    for t, begin in enumerate(begins, 1):
        assert begin is not None
        assert periods.of(begin) == t
        assert periods.of(begin - dt.timedelta(microseconds=1)) == (t - 1 or None)
        assert periods.ended(begin) == t - 1
    assert periods.ended(dt.datetime(2030, 1, 1)) == 5
    assert periods.of(dt.datetime(2030, 1, 1)) is None
    assert periods.ended(dt.datetime(2020, 1, 1)) == 0


def test_a_leap_day_belongs_to_february() -> None:
    months = Periods(START, "month", 12)
    assert (months.of(dt.datetime(2024, 2, 29)), months.label(12)) == (1, "2025-01")


@pytest.mark.parametrize(("start", "every"), [(START, "fortnight"), (dt.datetime(2024, 2, 2), "month")])
def test_no_such_period(start: dt.datetime, every: str) -> None:
    with pytest.raises(InvalidParameter):
        Periods(start, every, 2)


@pytest.mark.parametrize(
    "value", ["", "2024-13-01", "x" * 99, None, True, [], {}, float("nan"), float("inf"), 10**30]
)
def test_no_time_is_none(value: object) -> None:
    assert time_of(value) is None


def test_times_with_zones_are_in_utc() -> None:
    assert time_of("2024-02-01T00:30:00+02:00") == dt.datetime(2024, 1, 31, 22, 30)
    assert time_of("2024-02-01T00:30:00Z") == dt.datetime(2024, 2, 1, 0, 30)
