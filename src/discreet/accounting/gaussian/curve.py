"""The privacy curve of Gaussian noise, exact but for a part in 10^20, and never below it.

A vector of which neighbours differ by at most S in L2, with normal noise of standard deviation s in each coordinate, is
(epsilon, delta)-private if and only if, with mu = S/s,

    delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

(Balle and Wang 2018, theorem 8). This rises with mu, and with mu alone (Dong, Roth and Su 2022, corollary 2.13).

Both terms are summed from Phi(t) = 1/2 + phi(t) (t + t^3/3 + t^5/(3 5) + ...), whose terms have one sign, in decimals
that have sixty digits more than the subtractions cancel. So all machines agree.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

GUARD: Final = 60
"""Digits beyond those that cancel."""
MARGIN: Final = Fraction(1, 10**20)
"""A part that is added, far more than the rounding of so many digits."""
DEEPEST: Final = 40
"""So many standard deviations out, a bound is enough: a delta of 10^-347."""
MOST_EPSILON: Final = 200
"""The curve of a larger epsilon is not computed: its digits would be too many."""


def delta_of(square: Fraction, epsilon: Fraction) -> Fraction:
    """The delta of Gaussian noise at an epsilon, rounded up by a part in 10^20; at most 1.

    Args:
        square: of mu, the sensitivity in standard deviations; positive.
        epsilon: from 0 to MOST_EPSILON.

    Example:
        >>> round(float(delta_of(Fraction(1), Fraction(1))), 6)
        0.126937
    """
    mu = math.sqrt(square)
    first = mu / 2 - float(epsilon) / mu if mu else -math.inf
    if first < -DEEPEST:  # delta is at most Phi of this, and that at most e^-(40^2/2)
        return Fraction(1, 10**346)
    if first > DEEPEST:
        return Fraction(1)
    exponent = (first - mu) ** 2 / 2 + float(epsilon)
    context = Context(prec=GUARD + math.ceil(exponent / 2))  # more than e^-exponent cancels
    root = context.sqrt(_decimal(square, context))
    moved = context.divide(_decimal(epsilon, context), root)
    half = context.divide(root, Decimal(2))
    above = _phi(context.subtract(half, moved), context)
    below = _phi(context.minus(context.add(half, moved)), context)
    grown = context.multiply(context.exp(_decimal(epsilon, context)), below)
    found = Fraction(max(Decimal(0), context.subtract(above, grown)))
    return min(Fraction(1), found * (1 + MARGIN))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _phi(t: Decimal, context: Context) -> Decimal:
    """The distribution function of the normal law."""
    square = context.multiply(t, t)
    term, total, odd = t, t, 1
    least = Decimal(10) ** -context.prec
    while True:
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
        if 2 * square < odd and abs(term) <= least * abs(total):  # the rest is less than this term
            break
    density = context.divide(context.exp(context.divide(square, Decimal(-2))), _root_two_pi(context.prec))
    return context.add(Decimal("0.5"), context.multiply(density, total))


@lru_cache(maxsize=64)
def _root_two_pi(digits: int) -> Decimal:
    context = Context(prec=digits + 5)
    return context.sqrt(context.multiply(Decimal(2), _pi(context)))


def _pi(context: Context) -> Decimal:
    """By Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    unit: int = 10 ** (context.prec + 5)

    def arctan(inverse: int) -> int:
        power = unit // inverse
        total, square, divisor = power, inverse * inverse, 1
        while power:
            power //= -square
            divisor += 2
            total += power // divisor
            if abs(power) <= 1:  # floor division of a negative number stays at -1
                break
        return total

    return context.divide(Decimal(16 * arctan(5) - 4 * arctan(239)), Decimal(unit))
