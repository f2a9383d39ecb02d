"""The calendar as integers: which day, month or hour a moment lies in. All of it is increasing in the moment.

Moments are microseconds since 1970-01-01, of any size: nothing here overflows or ends with the year 9999.
"""

from __future__ import annotations

SECOND = 1_000_000
DAY = 86_400 * SECOND
CLOCK = {"day": DAY, "hour": 3600 * SECOND, "minute": 60 * SECOND, "second": SECOND, "millisecond": 1000,
         "microsecond": 1}  # fmt: skip
"""The units of one length."""
YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
MONTHS = {"month": 1, "quarter": 3, **{name: 12 * years for name, years in YEARS.items()}}
"""The units of whole months."""
DATE_PARTS = (*MONTHS, "week", *CLOCK)
FIRST, LAST = -719_162, 2_932_896
"""The days 0001-01-01 and 9999-12-31."""


def day_number(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the Gregorian calendar, of any year.

    Example:
        >>> day_number(1970, 1, 1), day_number(2000, 3, 1)
        (0, 11017)
    """
    y = year - (month <= 2)
    era, of_era = divmod(y, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(number: int) -> tuple[int, int, int]:
    """Year, month and day of a day: the inverse of `day_number`.

    Example:
        >>> civil(11017), civil(-719_162)
        ((2000, 3, 1), (1, 1, 1))
    """
    era, of_era = divmod(number + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def month_number(moment: int) -> int:
    """Months since the year 0."""
    year, month, _ = civil(moment // DAY)
    return year * 12 + month - 1


def index(unit: str, moment: int) -> int:
    """The number of the unit that a moment lies in.

    Example:
        >>> index("year", 0), index("week", 0), index("hour", -1)
        (1970, 0, -1)
    """
    if unit in MONTHS:
        return month_number(moment) // MONTHS[unit]
    return (moment // DAY + 3) // 7 if unit == "week" else moment // CLOCK[unit]


def start(unit: str, number: int) -> int:
    """The moment with which a unit of that number begins.

    Example:
        >>> start("week", 0) // DAY, start("year", 1971) // DAY
        (-3, 365)
    """
    if unit in MONTHS:
        year, month = divmod(number * MONTHS[unit], 12)
        return day_number(year, month + 1, 1) * DAY
    return (number * 7 - 3) * DAY if unit == "week" else number * CLOCK[unit]


def floor_to(unit: str, moment: int) -> int:
    """The beginning of the unit that a moment lies in."""
    return start(unit, index(unit, moment))


def add_months(moment: int, months: int) -> int:
    """The same day and time some months later, or the last day of that month where there is no such day.

    Example:
        >>> civil(add_months(day_number(2024, 1, 31) * DAY, 1) // DAY)
        (2024, 2, 29)
    """
    day, time = divmod(moment, DAY)
    number = month_number(moment) + months
    begin, end = (start("month", n) // DAY for n in (number, number + 1))
    return min(begin + civil(day)[2] - 1, end - 1) * DAY + time
