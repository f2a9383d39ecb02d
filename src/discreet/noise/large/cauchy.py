"""Cauchy noise, rounded to integers, exactly.

A point that is uniform in the upper half of the unit disc has a Cauchy quotient u/v: its angle is uniform. More
digits of u and v are drawn until it is certain whether the point lies in the disc, and until all points that begin with
these digits have one rounded quotient. So the result has exactly the law of a rounded Cauchy variable:
P(k) = (arctan((k + 1/2)/s) - arctan((k - 1/2)/s))/pi.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.noise import entropy
from discreet.noise.entropy import RandomSource, undivided
from discreet.rational import Number, exact, positive

_WIDTH = 64


@undivided
def rounded_cauchy(scale: Number) -> int:
    """Draw the nearest integer to scale times a standard Cauchy variable; halves are rounded up.

    Args:
        scale: positive rational.

    Raises:
        InvalidParameter: the scale is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> isinstance(rounded_cauchy(3), int)
        True
    """
    return draw(entropy.system(), positive(exact(scale, "scale"), "scale"))


def draw(source: RandomSource, scale: Fraction, width: int = _WIDTH) -> int:
    """The same from a source of random words; tests choose narrow ones."""
    top, bottom = 2 * scale.numerator, 2 * scale.denominator
    while True:
        x = y = bits = 0
        while True:
            x, y = (
                end << width | int(word) for end, word in zip((x, y), source.words(2, width), strict=True)
            )
            bits += width
            radius = 1 << bits
            # u lies between low and high, and v between y and y + 1, in units of 2^-bits.
            low, high = 2 * x - radius, 2 * x + 2 - radius
            nearest = 0 if low < 0 < high else min(abs(low), abs(high))
            if nearest**2 + y**2 >= radius**2:
                break  # outside of the disc: begin again
            if max(abs(low), abs(high)) ** 2 + (y + 1) ** 2 > radius**2 or not y:
                continue
            # floor(s u/v + 1/2) at the least and the largest quotient
            ends = [
                (top * u + v * scale.denominator) // (bottom * v)
                for u, v in ((low, y if low < 0 else y + 1), (high, y + 1 if high < 0 else y))
            ]
            if ends[0] == ends[1]:
                return ends[0]
