"""Dates and time stamps: parts, units, differences, and bins. Every time stamp is read as UTC.

All of these are NULL for a moment outside the years 1 to 9999, the infinite ones included: engines have different
calendars there, or none. So their results are bounded even where a column is not.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.engines.schema import Type
from discreet.sql.expressions import span as sp
from discreet.sql.expressions.expression import Call, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.table import Bounds, D, F, FunctionLines, I, S, T, whole_between

LINES = FunctionLines()
define = LINES.define

FIRST = {D: Fraction(cal.FIRST), S: Fraction(cal.FIRST * cal.DAY)}
"""The first day, and the first moment, of the year 1."""
LAST = {D: Fraction(cal.LAST), S: Fraction((cal.LAST + 1) * cal.DAY - 1)}
"""The last day, and the last moment, of the year 9999."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip


def _moments(a: Span) -> tuple[int, int] | None:
    """Both ends of a bounded span of time stamps."""
    return None if a.lo is None or a.hi is None else (math.floor(a.lo), math.floor(a.hi))


def _in_years(kind: Type) -> Bounds:
    """Only ends that were known are moved: the range of the calendar says nothing of the data."""
    return lambda a: Span(
        None if a.lo is None else sp.clamp(a, FIRST[kind], LAST[kind]).lo,
        None if a.hi is None else sp.clamp(a, FIRST[kind], LAST[kind]).hi,
    )


# Put in by itself before everything below
define("in_years", "", "d", D, _in_years(D),
       "(CASE WHEN {0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {0} END)",
       "NULL outside the years 1 to 9999")  # fmt: skip
define("in_years", "", "s", S, _in_years(S),
       "(CASE WHEN {0} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999' "
       "THEN {0} END)",
       "NULL outside the years 1 to 9999")  # fmt: skip

# Parts -----------------------------------------------------------------------------------------------------
# The least unit within which a part only grows: bounds within one of them bound the part.
_GROWS_IN = {"month": "year", "quarter": "year", "dayofyear": "year", "day": "month", "isodow": "week", "hour": "day",
             "minute": "hour", "second": "minute"}  # fmt: skip


def _part(name: str, moment: int) -> int:
    year, month, day = cal.civil(moment // cal.DAY)
    if name in ("hour", "minute", "second"):
        return cal.index(name, moment) - cal.index(name, cal.floor_to(_GROWS_IN[name], moment))
    return {"year": year, "decade": year // 10, "month": month, "quarter": (month + 2) // 3, "day": day,
            "dayofyear": moment // cal.DAY - cal.day_number(year, 1, 1) + 1, "isodow": (moment // cal.DAY + 3) % 7 + 1,
            }[name]  # fmt: skip


def _bounds_of_part(name: str, lo: int, hi: int, unit: int) -> Bounds:
    def bounds(a: Span) -> Span:
        ends = _moments(a)
        if ends is None:
            return Span(Fraction(lo), Fraction(hi), a.nullable)
        first, last = ends[0] * unit, ends[1] * unit
        grows_in = _GROWS_IN.get(name)
        always = name in ("year", "decade")
        if always or (grows_in is not None and cal.index(grows_in, first) == cal.index(grows_in, last)):
            return Span(Fraction(_part(name, first)), Fraction(_part(name, last)), a.nullable)
        return Span(Fraction(lo), Fraction(hi), a.nullable)

    return bounds


DAY_PARTS = {
    "year": (1, 9999, ""), "month": (1, 12, ""), "day": (1, 31, ""), "quarter": (1, 4, ""),
    "week": (1, 53, "ISO 8601 week"), "isoyear": (0, 9999, "the year of the ISO 8601 week"),
    "dayofweek": (0, 6, "Sunday is 0"), "isodow": (1, 7, "Monday is 1"), "dayofyear": (1, 366, ""),
    "decade": (0, 999, "the year divided by 10"), "century": (1, 100, "the year 2000 is in the 20th"),
}  # fmt: skip
"""Parts that depend on the day only: least, greatest, and a note on the meaning."""
CLOCK_PARTS = {"hour": (0, 23, ""), "minute": (0, 59, ""), "second": (0, 59, "whole seconds")}
"""Parts of the time of day."""
for _parts, _t, _unit in ((DAY_PARTS, "d", cal.DAY), (CLOCK_PARTS, "s", 1)):
    for _name, (_lo, _hi, _says) in _parts.items():
        define(_name, f"extract({_name} FROM a)", _t, I, _bounds_of_part(_name, _lo, _hi, _unit),
               f"extract({_name} FROM {{0}})", _says)  # fmt: skip
define("epoch", "extract(epoch FROM a)", "s", F, lambda a: sp.through(lambda x: x / cal.SECOND, a),
       "(CAST(epoch_us({0}) AS DOUBLE) / 1000000)", "seconds since 1970-01-01")  # fmt: skip
define("epoch_ms", "epoch_ms(a)", "s", I, lambda a: a.monotone(lambda x: Fraction(math.floor(x / 1000))),
       "epoch_ms(date_trunc('millisecond', {0}))", "milliseconds since 1970-01-01, rounded down")  # fmt: skip
for _name, _list in (("dayname", WEEKDAYS), ("monthname", MONTHS)):
    define(_name, f"{_name}(a)", "d", T, lambda a, names=_list: Span(nullable=a.nullable, domain=names),
           f"{_name}({{0}})", "in English")  # fmt: skip

# Units -----------------------------------------------------------------------------------------------------


def _floor_to(unit: str) -> Bounds:
    return lambda a: a.monotone(lambda x: Fraction(cal.floor_to(unit, math.floor(x))))


def _index(unit: str, a: Span) -> Span:
    return a.monotone(lambda x: Fraction(cal.index(unit, math.floor(x))))


def _boundaries(unit: str) -> Bounds:
    return lambda a, b: sp.subtract(_index(unit, b), _index(unit, a))


def _complete(unit: str) -> Bounds:
    """As many as there are boundaries, or one fewer, towards zero."""

    def bounds(a: Span, b: Span) -> Span:
        most = sp.subtract(_index(unit, b), _index(unit, a))
        if most.lo is None or most.hi is None:
            return most
        return Span(most.lo - (most.lo > 0), most.hi + (most.hi < 0), most.nullable)

    return bounds


for _name in cal.DATE_PARTS:
    define(f"date_trunc_{_name}", f"date_trunc('{_name}', a)", "s", S, _floor_to(_name),
           f"date_trunc('{_name}', {{0}})", "weeks begin on Monday" if _name == "week" else "")  # fmt: skip
    _sql = f"date_diff('{_name}', {{0}}, {{1}})"
    if _name == "week":
        _sql = "(date_diff('day', date_trunc('week', {0}), date_trunc('week', {1})) // 7)"
    define(f"date_diff_{_name}", f"date_diff('{_name}', a, b)", "ss", I, _boundaries(_name), _sql,
           "how many Mondays from a to b" if _name == "week" else f"how often a {_name} begins")  # fmt: skip
    define(f"date_sub_{_name}", f"date_sub('{_name}', a, b)", "ss", I, _complete(_name),
           f"date_sub('{_name}', {{0}}, {{1}})", f"how many times a full {_name} passes from a to b")  # fmt: skip
define("days_between", "a - b", "dd", I, sp.subtract, "CAST({0} - {1} AS BIGINT)", "days from b to a")


def _last_day(day: Fraction) -> Fraction:
    return Fraction(cal.start("month", cal.index("month", int(day) * cal.DAY) + 1) // cal.DAY - 1)


define("last_day", "last_day(a)", "d", D, lambda a: a.monotone(_last_day),
       "last_day({0})", "of its month")  # fmt: skip

# Bins ------------------------------------------------------------------------------------------------------
_ORIGIN = cal.day_number(2000, 1, 3) * cal.DAY
_ORIGIN_MONTH = 2000 * 12


def _bucket(n: Span, a: Span) -> Span:
    width = int(n.lo or 1)
    return a.monotone(lambda x: Fraction((math.floor(x) - _ORIGIN) // width * width + _ORIGIN))


def _month_bucket(n: Span, a: Span) -> Span:
    width = int(n.lo or 1)

    def begin(x: Fraction) -> Fraction:
        since = cal.month_number(math.floor(x)) - _ORIGIN_MONTH
        return Fraction(cal.start("month", since // width * width + _ORIGIN_MONTH))

    return a.monotone(begin)


_FIX = "Write time_bucket(INTERVAL '15 minutes', x)."
define("bucket_of_months", "time_bucket(INTERVAL n MONTH, a)", "is", S, _month_bucket,
       "time_bucket(to_months(CAST({0} AS INTEGER)), {1})",
       "bins that begin with January 2000", literals={0: whole_between(1, 12_000, _FIX)})  # fmt: skip
define("bucket_of_micros", "time_bucket(INTERVAL n MICROSECOND, a)", "is", S, _bucket,
       "time_bucket(to_microseconds({0}), {1})",
       "bins that begin on Monday, 3 January 2000",
       literals={0: whole_between(1, 365_243 * cal.DAY, _FIX)})  # fmt: skip

_SHORTEST = {"month": 28, "quarter": 90, "year": 365, "decade": 3652, "century": 36_524, "millennium": 365_242,
             "week": 7}  # fmt: skip


def grain_of(call: Call) -> tuple[int, int] | None:
    """For a call that cuts a moment to a unit: which argument is the moment, and the shortest unit in microseconds."""
    unit = call.name.removeprefix("date_trunc_")
    if unit != call.name:
        return 0, cal.CLOCK[unit] if unit in cal.CLOCK else _SHORTEST[unit] * cal.DAY
    if call.name in ("bucket_of_months", "bucket_of_micros") and isinstance(call.args[0], Literal):
        count = int(call.args[0].value or 1)  # type: ignore[arg-type]
        return 1, count if call.name == "bucket_of_micros" else count * 28 * cal.DAY
    return None


def moment_grain(call: Call) -> tuple[int, int] | None:
    """For a call that is constant within some unit: which argument is the moment, and the unit in microseconds."""
    if call.name == "to_date":
        return 0, cal.DAY
    if call.name in CLOCK_PARTS:
        return 0, cal.CLOCK[call.name]
    return grain_of(call)


KEEPS_YEARS = frozenset(
    {
        "in_years",
        "last_day",
        *(f"date_trunc_{unit}" for unit in (*cal.CLOCK, "week", "month", "quarter", "year")),
    }
)
"""Functions that give a moment within the years 1 to 9999."""
GUARDED = frozenset(
    {*DAY_PARTS, *CLOCK_PARTS, "epoch", "epoch_ms", "dayname", "monthname", "days_between", "last_day", "add_days",
     "sub_days", "bucket_of_months", "bucket_of_micros", "add_months", "add_micros", "add_length", "in_zone",
     "strftime", "to_timestamp", "to_text",
     *(f"{verb}_{unit}" for verb in ("date_trunc", "date_diff", "date_sub") for unit in cal.DATE_PARTS)}
)  # fmt: skip
"""The functions before which moments outside the years 1 to 9999 become NULL."""
