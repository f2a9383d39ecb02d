"""Rationals as text that reads back as the same number, and the words for a delta."""

from __future__ import annotations

from fractions import Fraction


def exact(value: Fraction) -> str:
    """Write a rational exactly and so that it is read back.

    Example:
        >>> exact(Fraction(3, 10)), exact(Fraction(2)), exact(Fraction(1, 3))
        ('0.3', '2', '1/3')
    """
    rest, places = value.denominator, 0
    while rest % 10 == 0 or rest % 5 == 0 or rest % 2 == 0:
        rest //= 10 if rest % 10 == 0 else 5 if rest % 5 == 0 else 2
        places += 1
    if rest != 1 or places > 18:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, fraction = (digits[:-places], digits[-places:].rstrip("0")) if places else (digits, "")
    return ("-" if value < 0 else "") + whole + (f".{fraction}" if fraction else "")


def flavour(delta: Fraction) -> str:
    """The kind of differential privacy in words.

    Example:
        >>> flavour(Fraction(0))
        'pure differential privacy'
    """
    return "approximate differential privacy" if delta else "pure differential privacy"
