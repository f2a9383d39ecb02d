"""The calendar as integers is that of Python."""

from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from discreet.sql.functions import calendar as cal


@given(st.integers(cal.FIRST, cal.LAST), st.integers(-30_000, 30_000))
def test_the_calendar_agrees_with_python(number_of_day: int, months: int) -> None:
    day = dt.date(1970, 1, 1) + dt.timedelta(days=number_of_day)
    assert cal.civil(number_of_day) == (day.year, day.month, day.day)
    assert cal.day_number(day.year, day.month, day.day) == number_of_day
    assert cal.floor_to("week", number_of_day * cal.DAY) // cal.DAY == number_of_day - day.weekday()
    moved = cal.civil(cal.add_months(number_of_day * cal.DAY, months) // cal.DAY)
    assert moved[0] * 12 + moved[1] == day.year * 12 + day.month + months
    assert moved[2] <= day.day
