"""The values that an expression can take: an interval, whether NULL occurs, and the finite list if there is one.

Spans choose the scale of the noise and the public keys. They are not trusted for privacy: every measure is
clamped into its span again where it is scaled to integers, so a span that is wrong costs accuracy, never
privacy.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from discreet.records import dataclass

Value: TypeAlias = int | float | str | bool | dt.date | dt.datetime
"""A public value: a literal of the query or a key of the policy."""

EPOCH = dt.date(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The values an expression can take.

    Attributes:
        lo: least value, or None when there is no bound. Dates count days and time stamps microseconds from
            1970-01-01; texts have no bounds.
        hi: greatest value, or None.
        nullable: whether NULL can occur.
        domain: every value but NULL, when they are few and known from the text or the policy.
        listed: whether the policy lists them as the keys of a column, so that no other value is a group.
        items: of a list, the span of its items; `lo` and `hi` are then those of its length.
    """

    lo: Fraction | None = None
    hi: Fraction | None = None
    nullable: bool = True
    domain: tuple[Value, ...] | None = None
    listed: bool = False
    items: Span | None = None

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return self.lo is not None and self.hi is not None

    @property
    def width(self) -> Fraction:
        """The difference of the ends of a bounded span."""
        assert self.lo is not None
        assert self.hi is not None
        return self.hi - self.lo

    def within(self, lo: int, hi: int) -> bool:
        """Whether every value lies in [lo, hi]."""
        return self.lo is not None and self.hi is not None and lo <= self.lo and self.hi <= hi

    def excludes_zero(self) -> bool:
        """Whether zero cannot occur."""
        return (self.lo is not None and self.lo > 0) or (self.hi is not None and self.hi < 0)

    def null(self, nullable: bool = True) -> Span:
        """The same values, with NULL possible or not."""
        return Span(self.lo, self.hi, nullable, self.domain, items=self.items)

    def monotone(self, f: Callable[[Fraction], Fraction]) -> Span:
        """The span of an increasing function of the values."""
        return Span(
            None if self.lo is None else f(self.lo), None if self.hi is None else f(self.hi), self.nullable
        )


ANY = Span()
BOOLEANS = Span(nullable=True, domain=(False, True))


def number(value: Value) -> Fraction | None:
    """The place of a value on the line that spans are measured on; None for texts and booleans."""
    if isinstance(value, bool | str):
        return None
    if isinstance(value, dt.datetime):
        naive = (
            value.replace(tzinfo=None)
            if value.tzinfo is None
            else value.astimezone(dt.UTC).replace(tzinfo=None)
        )
        return Fraction((naive - dt.datetime(1970, 1, 1)) // MICROSECOND)
    if isinstance(value, dt.date):
        return Fraction((value - EPOCH).days)
    return Fraction(value) if math.isfinite(value) else None


def point(value: Value) -> Span:
    """The span of a literal."""
    place = number(value)
    return Span(place, place, nullable=False, domain=(value,))


def of_values(values: Iterable[Value], nullable: bool = True) -> Span:
    """The span of a list of public values."""
    domain = tuple(values)
    places = [number(value) for value in domain]
    known = [place for place in places if place is not None]
    whole = bool(known) and len(known) == len(places)
    return Span(min(known) if whole else None, max(known) if whole else None, nullable, domain)


def hull(spans: Iterable[Span]) -> Span:
    """The least span that holds all of these: the result of a CASE."""
    everything = list(spans)
    nullable = any(s.nullable for s in everything)
    several = [s for s in everything if s.domain != ()]  # a NULL adds no value
    if not several:
        return Span(nullable=nullable, domain=())
    los, his = [s.lo for s in several], [s.hi for s in several]
    domain: tuple[Value, ...] | None = None
    if all(s.domain is not None for s in several):
        domain = tuple(dict.fromkeys(value for s in several for value in s.domain or ()))
    return Span(
        None if None in los else min(lo for lo in los if lo is not None),
        None if None in his else max(hi for hi in his if hi is not None),
        nullable,
        domain,
    )


def add(a: Span, b: Span) -> Span:
    """The span of a sum."""
    lo = None if a.lo is None or b.lo is None else a.lo + b.lo
    hi = None if a.hi is None or b.hi is None else a.hi + b.hi
    return Span(lo, hi, a.nullable or b.nullable)


def negate(a: Span) -> Span:
    """The span of the opposite."""
    return Span(None if a.hi is None else -a.hi, None if a.lo is None else -a.lo, a.nullable)


def subtract(a: Span, b: Span) -> Span:
    """The span of a difference."""
    return add(a, negate(b))


def multiply(a: Span, b: Span) -> Span:
    """The span of a product; unbounded unless both factors are bounded."""
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return Span(nullable=a.nullable or b.nullable)
    corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]
    return Span(min(corners), max(corners), a.nullable or b.nullable)


def divide(a: Span, b: Span) -> Span:
    """The span of a quotient; NULL where the divisor is zero, unbounded where it can come near zero."""
    if b.excludes_zero() and b.lo is not None and b.hi is not None:
        return multiply(a, Span(1 / b.hi, 1 / b.lo, b.nullable))
    return Span(nullable=True)


def truncate(a: Span) -> Span:
    """The span of the integer part, towards zero."""
    return a.monotone(lambda x: Fraction(math.trunc(x)))


def integer_divide(a: Span, b: Span) -> Span:
    """The span of an integer quotient: no larger than the dividend when the divisor is an integer."""
    if b.excludes_zero():
        exact = divide(a, b)
        if exact.bounded:
            return truncate(exact)
    magnitude = magnitude_of(a)
    return Span(None if magnitude is None else -magnitude, magnitude, nullable=True)


def remainder(a: Span, b: Span) -> Span:
    """The span of a remainder that has the sign of the dividend."""
    limits = [m for m in (magnitude_of(a), magnitude_of(b)) if m is not None]
    if not limits:
        return ANY
    most = min(limits)
    lo = Fraction(0) if a.lo is not None and a.lo >= 0 else -most
    hi = Fraction(0) if a.hi is not None and a.hi <= 0 else most
    return Span(lo, hi, nullable=a.nullable or b.nullable or not b.excludes_zero())


def absolute(a: Span) -> Span:
    """The span of the absolute value."""
    lo = Fraction(0)
    if a.lo is not None and a.lo > 0:
        lo = a.lo
    elif a.hi is not None and a.hi < 0:
        lo = -a.hi
    return Span(lo, magnitude_of(a), a.nullable)


def magnitude_of(a: Span) -> Fraction | None:
    """The largest absolute value, or None."""
    return None if a.lo is None or a.hi is None else max(abs(a.lo), abs(a.hi))


def least(spans: list[Span]) -> Span:
    """The span of LEAST: NULLs are passed over, so one bounded argument that is never NULL bounds the top."""
    his = [s.hi for s in spans if s.hi is not None and not s.nullable]
    everyone = [s.hi for s in spans]
    if None not in everyone:
        his.append(max(hi for hi in everyone if hi is not None))
    los = [s.lo for s in spans]
    lo = None if None in los else min(lo for lo in los if lo is not None)
    return Span(lo, min(his) if his else None, all(s.nullable for s in spans))


def greatest(spans: list[Span]) -> Span:
    """The span of GREATEST, the mirror of `least`."""
    return negate(least([negate(s) for s in spans]))


def clamp(a: Span, lo: Fraction | None, hi: Fraction | None) -> Span:
    """The span of a value clamped into [lo, hi]."""
    low = lo if a.lo is None else a.lo if lo is None else max(a.lo, lo)
    high = hi if a.hi is None else a.hi if hi is None else min(a.hi, hi)
    if low is not None and high is not None and low > high:
        edge = hi if hi is not None and a.lo is not None and a.lo > hi else lo
        return Span(edge, edge, a.nullable)
    return Span(low, high, a.nullable)


def through(f: Callable[[float], float], a: Span) -> Span:
    """The span of an increasing real function, widened by a few units in the last place."""

    def moved(x: Fraction, direction: float) -> Fraction | None:
        try:
            y = f(float(x))
        except (OverflowError, ValueError):
            return None
        if not math.isfinite(y):
            return None
        for _ in range(4):
            y = math.nextafter(y, direction)
        return Fraction(y)

    return Span(
        None if a.lo is None else moved(a.lo, -math.inf),
        None if a.hi is None else moved(a.hi, math.inf),
        a.nullable,
    )


def widened(a: Span, places: int = 4) -> Span:
    """A span of doubles with room for a few units in the last place, for functions that round more than once."""

    def moved(x: Fraction, direction: float) -> Fraction:
        try:
            y = float(x)
        except OverflowError:
            return x
        for _ in range(places):
            y = math.nextafter(y, direction)
        return Fraction(y) if math.isfinite(y) else x

    return Span(
        None if a.lo is None else moved(a.lo, -math.inf),
        None if a.hi is None else moved(a.hi, math.inf),
        a.nullable,
        a.domain,
    )
