"""Smooth sensitivity of an integer whose local sensitivity a width bounds, exact and rational.

Let f, the width u and the rung B be as for the ladder (`mechanisms.selection.ladder`): B(u + t) bounds the local
sensitivity of all data sets at distance t. For a rational q, 0 < q < 1, S(D) = max over t of q^t B(u(D) + t) is at
least the local sensitivity of D, and q S(D') <= S(D) <= S(D')/q for neighbours: a ln(1/q)-smooth bound (Nissim,
Raskhodnikova and Smith 2007, definition 2.2).

The logarithm of B must be concave from its first positive value on: then q^t B(u + t) rises up to some t and falls
from there, so that t is found by halving. Whether B is 0 for ever is seen at one width for all data sets: if it were
seen so many steps on from each, a data set without noise could have a neighbour with noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.errors import InvalidParameter
from discreet.mechanisms.selection.ladder import Climbed
from discreet.rational import Number

NEVER: Final = 1 << 16
"""A rung that is still 0 for this width is 0 for ever: that of 8-stars begins at 7."""


def smooth_sensitivity(rung: Callable[[int], int], width: int, q: Fraction) -> Fraction:
    """The smooth sensitivity S where this is the width.

    Example:
        >>> smooth_sensitivity(lambda common: min(common, 32), 3, Fraction(4, 5))
        Fraction(16, 5)
    """
    if not rung(NEVER):
        return Fraction(0)
    first = bisect_left(range(max(0, NEVER - width)), True, key=lambda t: rung(width + t) > 0)

    def falls(t: int) -> bool:
        return rung(width + t + 1) * q <= rung(width + t)

    low, step = first, 1  # everything before low rises
    while not falls(low + step - 1):
        low, step = low + step, 2 * step
    high = low + step - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if falls(middle) else (middle + 1, high)
    return rung(width + low) * q**low


class SmoothNoise(ABC):
    """An integer with noise of a scale that its smooth sensitivity sets; a subclass has the law of the noise.

    Attributes:
        most: the largest value there can be, public.
    """

    most: int

    @abstractmethod
    def scale(self, width: int) -> Fraction:
        """The scale of the noise where this is the width; 0 where the function is constant."""

    @abstractmethod
    def half_width(self, confidence: Number = 0.95, width: int = 0) -> int:
        """The least m with P(|noise| <= m) >= confidence where this is the width."""

    @staticmethod
    @abstractmethod
    def _noise(scale: Fraction) -> int:
        """Draw the noise of a positive scale."""

    def release(self, exact: Climbed) -> int:
        """Return the value with noise: an int from 0 to `most`.

        Raises:
            InvalidParameter: it was given something else than `Climbed`.
            EntropyError: the operating system gave no randomness.
        """
        if not isinstance(exact, Climbed):
            raise InvalidParameter("Smooth noise needs a value and a width.", "Give Climbed(value, width).")
        scale = self.scale(exact.width)
        noise = self._noise(scale) if scale else 0
        return min(self.most, max(0, exact.value + noise))

    def half_width_up_to(self, width: int, confidence: Number = 0.95) -> int:
        """The same as `half_width` for all widths up to this one: it rises with the width."""
        return self.half_width(confidence, max(0, width))
