"""Functions that move a moment, make one, or write it as text. See `dates` for the rules that hold for all of them."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from discreet.sql.expressions import span as sp
from discreet.sql.expressions.span import Span, Value
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.table import D, FunctionLines, Rule, S, T, text_up_to, whole_between

LINES = FunctionLines()
define = LINES.define

FOUR_THOUSAND_YEARS = 1_460_970
"""In days: so far a moment may be moved, since no further back than 4713 BC do all engines reach."""

# Shifts ----------------------------------------------------------------------------------------------------


def _plus_months(a: Span, n: Span) -> Span:
    months = int(n.lo or 0)
    return a.monotone(lambda x: Fraction(cal.add_months(math.floor(x), months)))


_SHIFT = "Write x + INTERVAL 3 MONTH."
define("add_months", "a + INTERVAL n MONTH", "si", S, _plus_months, "({0} + to_months(CAST({1} AS INTEGER)))",
       "the last day of the month where there is no such day",
       literals={1: whole_between(-48_000, 48_000, _SHIFT)})  # fmt: skip
_MOST = FOUR_THOUSAND_YEARS * cal.DAY


def _plus_lengths(a: Span, micros: Span, n: Span) -> Span:
    most = Fraction(_MOST)
    return sp.add(a, sp.clamp(sp.multiply(micros, n), -most, most)).null()


NEAR = (
    f"CASE WHEN abs(CAST({{1}} AS DOUBLE) * CAST({{2}} AS DOUBLE)) <= CAST('{float(_MOST)!r}' AS DOUBLE) "
    "THEN {1} * {2} END"
)
"""So many microseconds, where they are not too many: a double is near enough to tell."""
define("add_length", "a + INTERVAL 1 HOUR * n", "sii", S, _plus_lengths, f"({{0}} + to_microseconds({NEAR}))",
       "NULL beyond four thousand years", literals={1: whole_between(-_MOST, _MOST, _SHIFT)})  # fmt: skip
define("add_micros", "a + INTERVAL n MICROSECOND", "si", S, sp.add, "({0} + to_microseconds({1}))",
       literals={1: whole_between(-_MOST, _MOST, _SHIFT)})  # fmt: skip


def _plus_days(a: Span, n: Span) -> Span:
    most = Fraction(FOUR_THOUSAND_YEARS)
    return sp.add(a, sp.clamp(n, -most, most)).null()


for _name, _sign in (("add_days", "+"), ("sub_days", "-")):
    define(_name, f"a {_sign} b", "di", D, lambda a, n, s=_sign: _plus_days(a, n if s == "+" else sp.negate(n)),
           f"({{0}} {_sign} CAST(CASE WHEN {{1}} BETWEEN -1460970 AND 1460970 THEN {{1}} END AS INTEGER))",
           "days; NULL when b is beyond 1,460,970")  # fmt: skip

_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+\-/]{0,63}")
_LONGEST_OFFSET = 16 * 3600 * cal.SECOND


@lru_cache(maxsize=256)
def is_zone(name: str) -> bool:
    """Whether a time zone is known, by its name in the IANA data base.

    Example:
        >>> is_zone("Europe/Berlin"), is_zone("Europe/Atlantis")
        (True, False)
    """
    from discreet.engines.sandbox import Sandbox
    from discreet.errors import PostProcessingError

    if _ZONE.fullmatch(name) is None:
        return False
    try:
        with Sandbox({}) as sandbox:
            sandbox.run(f"SELECT epoch(TIMESTAMP '2020-01-01 00:00:00' AT TIME ZONE '{name}')")
    except PostProcessingError:
        return False
    return True


def _zone(value: Value) -> bool:
    return isinstance(value, str) and is_zone(value)


ZONE = Rule("a literal name of a time zone", "Write x AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'.", _zone,
            ("UTC", "Europe/Berlin", "America/New_York", "Asia/Manila", "Pacific/Apia"))  # fmt: skip


def _moved(a: Span, *zones: Span) -> Span:
    most = Fraction(_LONGEST_OFFSET * sum(zone.domain != ("UTC",) for zone in zones))
    return sp.add(a, Span(-most, most, False)).null()


define("in_zone", "a AT TIME ZONE b AT TIME ZONE c", "stt", S, _moved,
       "CASE WHEN {0} >= TIMESTAMP '1970-01-02 00:00:00' THEN (({0} AT TIME ZONE {1}) AT TIME ZONE {2}) END",
       "the clock of zone c when the clock of zone b shows a, the later of two such moments; literals; NULL before "
       "1970-01-02, when clocks are not known alike",
       literals={1: ZONE, 2: ZONE})  # fmt: skip


def _made(y: Span, m: Span, d: Span) -> Span:
    years = sp.clamp(y, Fraction(1), Fraction(9999))
    assert years.lo is not None
    assert years.hi is not None
    ends = cal.day_number(math.floor(years.lo), 1, 1), cal.day_number(math.floor(years.hi), 12, 31)
    return Span(Fraction(ends[0]), Fraction(ends[1]), True)


def _digits(index: int, lo: int, hi: int) -> str:
    return f"CAST(CASE WHEN {{{index}}} BETWEEN {lo} AND {hi} THEN {{{index}}} END AS VARCHAR)"


define("make_date", "make_date(a, b, c)", "iii", D, _made,
       f"TRY_CAST(lpad({_digits(0, 1, 9999)}, 4, '0') || '-' || {_digits(1, 1, 12)} || '-' || {_digits(2, 1, 31)} "
       "AS DATE)",
       "year, month and day; NULL when there is no such day")  # fmt: skip

# Formats ---------------------------------------------------------------------------------------------------
DIRECTIVES = {
    **dict.fromkeys("YymbBdjaAuwGV%", "day"), "H": "hour", "I": "hour", "p": "hour", "M": "minute", "S": "second",
}  # fmt: skip
"""The directives of strftime, and the least unit that they show."""


def finest(pattern: str) -> str | None:
    """The least unit that a format shows; None when it has something that is not supported.

    Example:
        >>> finest("%Y-%m"), finest("%d %H:00"), finest("%q")
        ('day', 'hour', None)
    """
    shown = re.findall(r"%(.?)", pattern, re.DOTALL)
    if any(directive not in DIRECTIVES for directive in shown):
        return None
    units = {DIRECTIVES[directive] for directive in shown}
    return next((unit for unit in ("second", "minute", "hour") if unit in units), "day")


_FORMAT = Rule(
    f"a literal of 1 to 100 characters, with the directives %{' %'.join(DIRECTIVES)} only",
    "Write strftime(x, '%Y-%m').",
    lambda v: text_up_to(100, "", 1).allows(v) and finest(str(v)) is not None,
    ("%Y-%m", "%Y-%m-%d %H:%M:%S", "%a %A %b %B %d %I %p %j %u %w %y %G %V %%"),
)
define("strftime", "strftime(a, b)", "st", T, lambda a, b: Span(nullable=a.nullable), "strftime({0}, {1})",
       "the format is a literal", literals={1: _FORMAT})  # fmt: skip
