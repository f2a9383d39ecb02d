"""A privacy loss: an exact pair (epsilon, delta). With delta 0 it is pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import cast

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal
from discreet.records import dataclass

UNIT = math.lcm(10**18, 2**60, *range(1, 65))
"""Losses in a ledger are multiples of 1/UNIT, so that a sum of a million of them is still a short number.

Every decimal of up to 18 places, every binary fraction down to 2^-60 and every p/q with q up to 64 is a multiple of
1/UNIT, and so is any sum of them. UNIT has 55 decimal digits.
"""

_PLAIN = 1 << 512
"""Up to here a denominator is so small that its rational, if it is not too large, is in range."""

LARGEST = 10**18
"""An epsilon beyond this is a mistake, and its digits would only bloat the ledger."""


@dataclass(frozen=True, init=False)
class Loss:
    """A privacy loss (epsilon, delta), exact; a float is read as its shortest decimal, so 0.1 is 1/10.

    Losses add up coordinate by coordinate. This is sequential composition (Dwork, Kenthapadi, McSherry,
    Mironov and Naor 2006, theorem 1; for adaptive questions, Dwork and Roth 2014, theorem 3.16): answers
    of losses (e1, d1), (e2, d2) have together the loss (e1 + e2, d1 + d2).

    Attributes:
        epsilon: rational, 0 to 10^18.
        delta: rational, 0 to 10^18; a sum of deltas may pass 1, where it promises nothing.

    Raises:
        InvalidParameter: not a number, negative, or above 10^18.

    Example:
        >>> Loss(0.1) + Loss(0.1) + Loss(0.1) == Loss(0.3)
        True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        for name, given in (("epsilon", epsilon), ("delta", delta)):
            # The denominators of nearly all rationals here are small, and then nothing is left to be read.
            known = type(given) is Fraction and given.denominator <= _PLAIN
            value = cast(Fraction, given) if known else decimal(given, name)
            if not 0 <= value.numerator <= LARGEST * value.denominator:  # whole numbers compare sooner
                raise InvalidParameter(f"{name} must be from 0 to 10^18.", f"Give a smaller positive {name}.")
            object.__setattr__(self, name, value)

    def __add__(self, other: Loss) -> Loss:
        """Compose two losses."""
        return Loss(self.epsilon + other.epsilon, self.delta + other.delta)

    def __str__(self) -> str:
        """Write the loss as people read it: as decimals of at most 9 significant digits, rounded up.

        Example:
            >>> str(Loss("1/10")), str(Loss("1/3", "1e-9"))
            ('epsilon 0.1', 'epsilon 0.333333334, delta 1e-09')
        """
        return f"epsilon {at_least(self.epsilon)}" + (f", delta {at_least(self.delta)}" if self.delta else "")

    def __repr__(self) -> str:
        """Write it as `Loss(0.1, 1e-09)`, rounded like `str`; the attributes are exact."""
        return f"Loss({at_least(self.epsilon)}" + (f", {at_least(self.delta)})" if self.delta else ")")

    def within(self, limit: Loss) -> bool:
        """Say whether neither coordinate exceeds that of the limit; the comparison is exact.

        Example:
            >>> Loss("1/3").within(Loss("0.333"))
            False
        """
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta

    def left_of(self, limit: Loss) -> Loss:
        """Return the rest of the limit when this loss is spent; no coordinate is below zero."""
        return Loss(
            max(limit.epsilon - self.epsilon, Fraction(0)), max(limit.delta - self.delta, Fraction(0))
        )

    def rounded_up(self) -> Loss:
        """Round both coordinates up to a multiple of 1/UNIT: against the analyst, never for them."""
        return self if self._whole else Loss(rounded_up(self.epsilon), rounded_up(self.delta))

    def rounded_down(self) -> Loss:
        """Round both coordinates down to a multiple of 1/UNIT; a multiple is within this if within that."""
        return self if self._whole else Loss(_down(self.epsilon), _down(self.delta))

    @property
    def _whole(self) -> bool:
        """Whether both coordinates are multiples of 1/UNIT, as most are."""
        return not (UNIT % self.epsilon.denominator or UNIT % self.delta.denominator)


def at_most(value: Fraction) -> str:
    """Write a loss for people as a decimal of 9 significant digits that is not above it.

    Example:
        >>> at_most(Fraction(1, 3)), at_most(Fraction(3, 10)), at_most(Fraction(0))
        ('0.333333333', '0.3', '0')
    """
    return _digits(value, math.floor)


def at_least(value: Fraction) -> str:
    """Write a loss for people as a decimal of 9 significant digits that is not below it.

    Example:
        >>> at_least(Fraction(1, 3)), at_least(Fraction(1, 10**9))
        ('0.333333334', '1e-09')
    """
    return _digits(value, math.ceil)


def rounded_up(value: Fraction) -> Fraction:
    """Round a rational up to a multiple of 1/UNIT."""
    return Fraction(math.ceil(value * UNIT), UNIT)


def _down(value: Fraction) -> Fraction:
    return Fraction(math.floor(value * UNIT), UNIT)


def _digits(value: Fraction, rounding: Callable[[Fraction], int]) -> str:
    if value == 0:
        return "0"
    # The guess of the exponent may be off by one at a power of ten; then there is one digit more or less.
    exponent = len(str(value.numerator)) - len(str(value.denominator)) - 9
    step = Fraction(10) ** exponent
    # Ten digits survive a float unchanged, and it writes them the way people do.
    return f"{float(rounding(value / step) * step):.10g}"
