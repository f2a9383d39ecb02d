"""The direction in which a number is rounded when its formula is not rational.

A formula with exp or log is evaluated in floats, and the result is moved by 2^-40 of itself: up where it is a
loss, down where it is a permission. The formulas here are written so that they lose less than 2^-45 of
themselves (expm1 and log1p instead of differences), so the returned number is on the safe side of the truth.
Rational formulas are not rounded at all.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal

MARGIN = Fraction(1, 2**40)


def up(value: float) -> Fraction:
    """A rational that is not below the number that the float stands for, by 2^-40 of itself.

    Raises:
        InvalidParameter: the loss is infinite.

    Example:
        >>> up(0.5) > Fraction(1, 2)
        True
    """
    return _finite(value) * (1 + MARGIN)


def down(value: float) -> Fraction:
    """A rational that is not above the number that the float stands for, by 2^-40 of itself; not below zero.

    Example:
        >>> Fraction(49, 100) < down(0.5) < Fraction(1, 2)
        True
    """
    return max(Fraction(0), _finite(value) * (1 - MARGIN))


def fraction_of_one(value: Number, name: str, *, zero: bool = True, one: bool = True) -> Fraction:
    """Read an exact number from 0 to 1, with or without its ends.

    Raises:
        InvalidParameter: outside.
    """
    found = decimal(value, name)
    if not 0 <= found <= 1 or (found == 0 and not zero) or (found == 1 and not one):
        raise InvalidParameter(f"{name} is outside its range.", "Give a number between 0 and 1.")
    return found


def whole(value: object, name: str) -> int:
    """Read a positive whole number.

    Raises:
        InvalidParameter: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"{name} is not a positive whole number.", f"Give {name}=10, say.")
    return value


def _finite(value: float) -> Fraction:
    if not math.isfinite(value):
        raise InvalidParameter("The loss is too large to be computed.", "Give smaller losses.")
    return Fraction(value)
