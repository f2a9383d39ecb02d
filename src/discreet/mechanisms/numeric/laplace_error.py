"""The error of the Laplace mechanism in formulas: of one coordinate, of all, and of the largest.

With |Z|/b exponential of mean 1: E|Z| = b, the mean square is 2 b^2, P(|Z| > x) = e^(-x/b). For d independent
coordinates the L1 norm has mean d b. The largest of d exponential variables has mean H_d = 1 + 1/2 + ... + 1/d,
since the first of d to end takes 1/d in the mean, the next 1/(d - 1), and so on (Renyi 1953); the union bound gives
P(largest > b (ln d + t)) <= e^-t, and so a mean of at most b (ln d + 1).

These are the formulas of the continuous law, to which the discrete one converges on a fine grid; its expectations are
a little smaller (E|Z| = grid/sinh(grid/b)), by less than a step of the grid. `Laplace.error` and
`Laplace.max_error` are exact for the discrete law. The tails are no bounds for it: at b = 1 a whole number is beyond
2.996 with probability 7.3 % where the density says 5 %. Ask `Laplace.distribution.survival`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import InvalidParameter
from discreet.records import dataclass

_SUMMED = 1000
_EULER = 0.5772156649015329


@dataclass(frozen=True)
class ExpectedLaplaceError:
    """Expected errors at scale b for d coordinates, in the unit of the values. Made by `Laplace.expected`.

    Attributes:
        scale: b.
        d: the number of coordinates.

    Example:
        >>> error = ExpectedLaplaceError(Fraction(20), 3143)  # counties, epsilon 0.1, neighbours replace one
        >>> error.mean_abs, round(error.rms, 2), round(error.mean_max, 2), round(error.mean_max_bound, 2)
        (20.0, 28.28, 172.61, 181.06)
    """

    scale: Fraction
    d: int

    @property
    def mean_abs(self) -> float:
        """E|Z| = b, of one coordinate."""
        return float(self.scale)

    @property
    def mse(self) -> float:
        """E Z^2 = 2 b^2, of one coordinate: four times as much for half the epsilon."""
        return float(2 * self.scale**2)

    @property
    def rms(self) -> float:
        """The square root of `mse`, sqrt(2) b."""
        return math.sqrt(2) * float(self.scale)

    @property
    def mean_l1(self) -> float:
        """E of the sum of all |Z_i|, d b."""
        return float(self.d * self.scale)

    @property
    def mean_max(self) -> float:
        """E of the largest |Z_i|, exactly b H_d."""
        return float(self.scale) * harmonic(self.d)

    @property
    def mean_max_bound(self) -> float:
        """The bound b (ln d + 1) of `mean_max`."""
        return float(self.scale) * (math.log(self.d) + 1)

    def tail(self, x: float) -> float:
        """P(|Z| > x) = e^(-x/b), of one coordinate.

        Raises:
            InvalidParameter: a negative x.
        """
        if not x >= 0:
            raise InvalidParameter("x is negative or NaN.", "Give a distance.")
        return math.exp(-x / float(self.scale))

    def max_tail(self, x: float) -> float:
        """P(largest |Z_i| > x), exactly 1 - (1 - e^(-x/b))^d; at most e^-t at x = b (ln d + t)."""
        inside = -math.expm1(-x / float(self.scale)) if self.tail(x) < 1 else 0.0
        return -math.expm1(self.d * math.log(inside)) if inside else 1.0


def harmonic(d: int) -> float:
    """H_d = 1 + 1/2 + ... + 1/d, to rounding of floats.

    Example:
        >>> harmonic(4) == 25 / 12
        True
    """
    if d <= _SUMMED:
        return math.fsum(1 / k for k in range(1, d + 1))
    # Euler and Maclaurin; the next term is below 10^-20.
    return math.log(d) + _EULER + 1 / (2 * d) - 1 / (12 * d**2) + 1 / (120 * d**4)
