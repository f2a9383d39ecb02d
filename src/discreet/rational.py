"""Numbers that privacy depends on are exact rationals; this module reads them.

Two readings of a float exist and must not be mixed up. Of a scale of noise, `exact` takes the binary
value as it is. Of an epsilon that a person wrote, `decimal` takes the shortest decimal that prints the
same, so that 0.1 means 1/10 and three times 0.1 fits into 0.3.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from discreet.errors import InvalidParameter

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What the public API accepts wherever an exact number is wanted; NumPy scalars are read too."""


def exact(value: object, name: str = "value") -> Fraction:
    """Read a finite number at its exact value; a float is its binary value.

    Args:
        value: int, Fraction, Decimal, float or NumPy scalar; a string such as "1/3" or "0.1" is read as
            the rational that it writes.
        name: what the number is called in an error.

    Raises:
        InvalidParameter: not a number, a boolean, NaN or infinite.

    Example:
        >>> exact(0.5), exact("0.1")
        (Fraction(1, 2), Fraction(1, 10))
        >>> exact(0.1) == Fraction(1, 10)
        False
    """
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        raise InvalidParameter(f"{name} is a boolean.", "Give a number.")
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidParameter(f"{name} is not finite.", "Give a finite number.")
        return Fraction(value)
    if isinstance(value, str):
        return _read(value, name)
    if isinstance(value, Real):
        number = float(value)
        if not math.isfinite(number):
            raise InvalidParameter(f"{name} is not finite.", "Give a finite number.")
        return Fraction(number)
    raise InvalidParameter(
        f"{name} is of type {type(value).__name__}, not a number.", "Give an int, Fraction, Decimal or float."
    )


def decimal(value: object, name: str = "value") -> Fraction:
    """Read a finite number as it is written: a float is its shortest decimal, so 0.1 is 1/10.

    Args and errors are those of `exact`.

    Example:
        >>> decimal(0.1), 3 * decimal(0.1) == decimal(0.3)
        (Fraction(1, 10), True)
    """
    if isinstance(value, Real) and not isinstance(value, Rational) and math.isfinite(value):
        # str() of a NumPy scalar prints the shortest decimal of its own width: float32(0.1) is 1/10 too.
        return Fraction(str(value))
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
    """Write a rational for people: exactly when that is short, else rounded to `digits` significant digits.

    Example:
        >>> show(Fraction(3, 10)), show(Fraction(2)), show(Fraction(1, 3))
        ('0.3', '2', '0.333333')
    """
    return f"{float(value):.{digits}g}"


def _read(text: str, name: str) -> Fraction:
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter(f"{name} is not a number.", 'Write it like "0.1", "1/3" or "2".') from None
