"""The calendar in ClickHouse's SQL: days and microseconds since 1970, as integers.

Only the parts of a date are asked of ClickHouse, which holds the years 1 to 9999; the way from one day to another is
computed here.
"""

from __future__ import annotations

from discreet.sql.functions import calendar as cal

SHIFT = 40_000_002
"""Days, a multiple of 7, after which every moment is positive: division then rounds down."""
BEFORE = SHIFT * cal.DAY
TRIMMED = "trimBoth({0})"


def native(x: str) -> str:
    """A day as a date of ClickHouse's own."""
    return f"CAST({x} AS Date32)"


def day(x: str) -> str:
    """The day of a moment."""
    return f"CAST(intDiv({x} + {BEFORE}, {cal.DAY}) - {SHIFT} AS Int32)"


def part(name: str, x: str) -> str:
    """A part of a day, by a function of ClickHouse's own."""
    return f"CAST({name}({native(x)}) AS Int64)"


def month_of(day: str) -> str:
    """Months since the year 0."""
    return f"({part('toYear', day)} * 12 + {part('toMonth', day)} - 1)"


def first_of(month: str) -> str:
    """The first day of a month, from 400 years before the year 0 on, by the calendar whose years begin in March."""
    year, month_ = f"intDiv({month} + 4798, 12)", f"modulo({month} + 4798, 12)"
    return (
        f"({year} * 365 + intDiv({year}, 4) - intDiv({year}, 100) + intDiv({year}, 400) "
        f"+ intDiv({month_} * 153 + 2, 5) - 865565)"
    )


def positive(x: str, width: str) -> str:
    """The remainder of a division that rounds down."""
    return f"modulo(modulo({x}, {width}) + {width}, {width})"


def time(x: str) -> str:
    """The microseconds of a moment since its midnight."""
    return f"modulo({x} + {BEFORE}, {cal.DAY})"


def months_later(x: str, month: str) -> str:
    """A moment on its day of another month, or on the last day of that month where it has no such day."""
    found = f"LEAST({first_of(month)} + {part('toDayOfMonth', day(x))} - 1, {first_of(f'({month} + 1)')} - 1)"
    return f"({found} * {cal.DAY} + {time(x)})"


def complete_months(n: int) -> str:
    """How often n full months pass from {0} to {1}."""

    def whole(a: str, b: str) -> str:
        between = f"{month_of(day(b))} - {month_of(day(a))}"
        late = f"CASE WHEN {months_later(a, month_of(day(b)))} > {b} THEN 1 ELSE 0 END"
        return f"intDiv({between} - {late}, {n})"

    return f"(CASE WHEN {{0}} <= {{1}} THEN {whole('{0}', '{1}')} ELSE - {whole('{1}', '{0}')} END)"


NAMES = {
    "toDayOfWeek": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "toMonth": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ),
}  # fmt: skip


def name(function: str, on: str, letters: int = 9) -> str:
    """The English name of the weekday or the month of a day."""
    table = "".join(name.ljust(9) for name in NAMES[function])
    return f"trimRight(substring('{table}', ({part(function, on)} - 1) * 9 + 1, {letters}))"


def padded(number: str, digits: int) -> str:
    """A number as a text of so many digits."""
    return f"leftPad(toString({number}), {digits}, '0')"


HOUR = f"intDiv({time('{0}')}, 3600000000)"
MINUTE = f"modulo(intDiv({time('{0}')}, 60000000), 60)"
SECOND = f"modulo(intDiv({time('{0}')}, 1000000), 60)"
DAY_OF = day("{0}")
FORMATS = {
    "Y": padded(part("toYear", DAY_OF), 4), "y": padded(f"modulo({part('toYear', DAY_OF)}, 100)", 2),
    "m": padded(part("toMonth", DAY_OF), 2), "b": name("toMonth", DAY_OF, 3), "B": name("toMonth", DAY_OF),
    "d": padded(part("toDayOfMonth", DAY_OF), 2), "j": padded(part("toDayOfYear", DAY_OF), 3),
    "a": name("toDayOfWeek", DAY_OF, 3), "A": name("toDayOfWeek", DAY_OF),
    "u": f"toString({part('toDayOfWeek', DAY_OF)})", "w": f"toString(modulo({part('toDayOfWeek', DAY_OF)}, 7))",
    "G": padded(part("toISOYear", DAY_OF), 4), "V": padded(part("toISOWeek", DAY_OF), 2),
    "H": padded(HOUR, 2), "I": padded(f"(modulo({HOUR} + 11, 12) + 1)", 2),
    "p": f"(CASE WHEN {HOUR} < 12 THEN 'AM' WHEN {HOUR} >= 12 THEN 'PM' END)",
    "M": padded(MINUTE, 2), "S": padded(SECOND, 2),
}  # fmt: skip
TEXT_DAY = f"CAST(toDate32OrNull(substring({TRIMMED}, 1, 10)) AS Int32)"


def digits(first: int, size: int) -> str:
    """An integer from its place in a trimmed text."""
    return f"toInt64OrZero(substring({TRIMMED}, {first}, {size}))"


TEXT_MOMENT = (
    f"(CAST({TEXT_DAY} AS Int64) * {cal.DAY} + (({digits(12, 2)} * 60 + {digits(15, 2)}) * 60 + {digits(18, 2)}) * 1000000 "
    f"+ toInt64OrZero(rightPad(substring({TRIMMED}, 21, 6), 6, '0')))"
)
YEARS = {"d": (cal.day_number(1, 1, 1), cal.day_number(9999, 12, 31))}
YEARS["s"] = (YEARS["d"][0] * cal.DAY, (YEARS["d"][1] + 1) * cal.DAY - 1)
