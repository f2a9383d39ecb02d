"""Numbers that privacy depends on are exact rationals; this module reads them.

Two readings of a float exist and must not be mixed up. Of a scale of noise, `exact` takes the binary value. Of an
epsilon that a person wrote, `decimal` takes the shortest decimal that prints the same, so that 0.1 means 1/10 and
three times 0.1 fits into 0.3.

No number here is nearer to zero than 2^-1074 or as far from it as 2^1024 - 2^970: those are the ends of doubles, so
that everything that was read can be written and compared as one. A text and a Decimal are held to that before
the integers of a Fraction are made: of "1e20000000" they would have twenty million digits.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Final, TypeAlias

from discreet.errors import InvalidParameter

Number: TypeAlias = int | float | Fraction | Decimal | str
"""The types that the public API accepts wherever an exact number is wanted; NumPy scalars are read too."""

LARGEST: Final = Fraction((1 << 1024) - (1 << 970))
"""Numbers lie nearer to zero than this: from here on a number rounds to no double."""
SMALLEST: Final = Fraction(1, 1 << 1074)
"""Numbers other than zero lie at least this far from it."""

_PLAIN: Final = 1 << 512

_DIGITS: Final = 2000
"""A text or a Decimal has at most so many characters; a double that is written out has 1,077."""
_EXPONENT: Final = 1100
_WRITTEN: Final = re.compile(
    r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)", re.ASCII
)


def exact(value: object, name: str = "value") -> Fraction:
    """Read a finite number at its exact value; a float is its binary value.

    Args:
        value: int, Fraction, Decimal, float or NumPy scalar; a string such as "1/3" or "0.1" is read as
            the rational that it writes.
        name: the name of the number in an error.

    Raises:
        InvalidParameter: not a number, a boolean, NaN, infinite, or outside the range of doubles.

    Example:
        >>> exact(0.5), exact("0.1")
        (Fraction(1, 2), Fraction(1, 10))
        >>> exact(0.1) == Fraction(1, 10)
        False
    """
    if type(value) is Fraction:  # most values are Fractions, and the tests below take longer than all else
        return _within(value, name)
    if type(value) is int:  # nearly all others
        return _within(Fraction(value), name)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        raise InvalidParameter(f"{name} is a boolean.", "Give a number.")
    if type(value).__name__ == "timedelta64":  # which NumPy counts among its integers
        raise InvalidParameter(f"{name} is a duration.", "Convert it to a number of a unit, such as seconds.")
    if isinstance(value, Integral):
        return _within(Fraction(int(value)), name)
    if isinstance(value, Rational):
        return _within(Fraction(int(value.numerator), int(value.denominator)), name)
    if isinstance(value, Decimal):
        return _of_decimal(value, name)
    if isinstance(value, str):
        return _read(value, name)
    if isinstance(value, Real):
        number = float(value)
        if not math.isfinite(number):
            raise InvalidParameter(f"{name} is not finite.", "Give a finite number.")
        if number != value:  # a float of more than 64 bits
            raise InvalidParameter(f"{name} is of type {type(value).__name__}.", "Give a Fraction.")
        return Fraction(number)
    raise InvalidParameter(
        f"{name} is of type {type(value).__name__}, not a number.", "Give an int, Fraction, Decimal or float."
    )


def decimal(value: object, name: str = "value") -> Fraction:
    """Read a finite number as people write it: a float is its shortest decimal, so 0.1 is 1/10.

    Args and errors are those of `exact`.

    Example:
        >>> decimal(0.1), 3 * decimal(0.1) == decimal(0.3)
        (Fraction(1, 10), True)
    """
    if type(value) not in (Fraction, int) and (
        isinstance(value, Real) and not isinstance(value, Rational) and math.isfinite(value)
    ):
        # str() of a NumPy scalar prints the shortest decimal of its own width: float32(0.1) is 1/10 too.
        return _read(str(value), name)
    return exact(value, name)


def positive(value: Fraction, name: str) -> Fraction:
    """Return the value when it is above zero.

    Raises:
        InvalidParameter: zero or negative.
    """
    if value <= 0:
        raise InvalidParameter(f"{name} must be above zero.", f"Give a positive {name}.")
    return value


def epsilon_of(value: object, name: str = "epsilon") -> Fraction:
    """Read an epsilon: a positive rational, a float as its shortest decimal.

    Example:
        >>> epsilon_of(0.25)
        Fraction(1, 4)
    """
    return positive(decimal(value, name), name)


def small(value: Fraction) -> str:
    """Write a delta for people and programs, as the shortest decimal that is read back as the same double.

    Example:
        >>> small(Fraction(1, 10**9)), small(Fraction(0))
        ('1e-09', '0')
    """
    return repr(float(value)) if value else "0"


def show(value: Fraction, digits: int = 6) -> str:
    """Write a rational for people, as a decimal rounded to `digits` significant digits; it never fails.

    Example:
        >>> show(Fraction(3, 10)), show(Fraction(2)), show(Fraction(1, 3)), show(Fraction(10**400))
        ('0.3', '2', '0.333333', '1e+400')
    """
    if not value or SMALLEST * 2**52 <= abs(value) < LARGEST:
        return f"{float(value):.{digits}g}"
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    head, _, power = f"{float(value / Fraction(10) ** size):.{digits - 1}e}".partition("e")
    return f"{head.rstrip('0').rstrip('.') if '.' in head else head}e{int(power) + size:+d}"


def _read(text: str, name: str) -> Fraction:
    said = text.strip()
    found = _WRITTEN.fullmatch(said) if len(said) <= _DIGITS else None
    if found is None:
        raise InvalidParameter(f"{name} is not a number.", 'Write it like "0.1", "1/3" or "2".')
    exponent = found["exponent"]
    if exponent is not None and (len(exponent) > 6 or abs(int(exponent)) > _EXPONENT):
        raise _outside(name)
    try:
        return _within(Fraction(said), name)
    except ZeroDivisionError:
        raise InvalidParameter(f"{name} is not a number.", 'Write it like "0.1", "1/3" or "2".') from None


def _of_decimal(value: Decimal, name: str) -> Fraction:
    if not value.is_finite():
        raise InvalidParameter(f"{name} is not finite.", "Give a finite number.")
    _, digits, exponent = value.as_tuple()
    if not any(digits):
        return Fraction(0)
    if len(digits) > _DIGITS or abs(value.adjusted()) > _EXPONENT or abs(int(exponent)) > 2 * _DIGITS:
        raise _outside(name)
    return _within(Fraction(value), name)


def _within(value: Fraction, name: str) -> Fraction:
    if -_PLAIN < value.numerator < _PLAIN and value.denominator < _PLAIN:
        return value  # well within, which whole numbers tell sooner than rationals
    if value and not SMALLEST <= abs(value) < LARGEST:
        raise _outside(name)
    return value


def _outside(name: str) -> InvalidParameter:
    return InvalidParameter(
        f"{name} is outside the range of doubles.", "Give 0, or a number of 1e-300 to 1e300 in size."
    )
