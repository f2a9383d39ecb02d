"""The error of d numbers with independent Laplace noise of one scale b: in all, and of the worst of them.

E||Z||_1 = d b. The largest |Z_i| has expectation exactly b H_d, H_d = 1 + 1/2 + ... + 1/d (the spacings of exponential
variables; Renyi 1953), which is at most b (ln d + 1); and P(max > b (ln d + t)) <= e^-t by a union bound.
"""

from __future__ import annotations

import math

from discreet.planning import read
from discreet.planning.laplace import LaplaceError
from discreet.rational import Number
from discreet.records import dataclass

_EULER = 0.57721566490153286


@dataclass(frozen=True)
class VectorError:
    """The effect of noise of a scale on d numbers.

    Attributes:
        scale: b, the same for each.
        d: how many.

    Example:
        >>> counties = VectorError.of_counts(3143, epsilon=0.1, neighbours="replace_one")
        >>> round(counties.expected_max, 2), round(counties.bound_max, 2)
        (172.61, 181.06)
    """

    scale: float
    d: int

    @classmethod
    def of(cls, d: int, epsilon: Number, sensitivity: Number = 1) -> VectorError:
        """The error of a vector whose L1 sensitivity, of all coordinates together, is `sensitivity`.

        Raises:
            InvalidParameter: d is no positive whole number, or another parameter is not above zero.
        """
        return cls(LaplaceError.of(epsilon, sensitivity).scale, read.people(d, "d"))

    @classmethod
    def of_counts(cls, d: int, epsilon: Number, neighbours: str) -> VectorError:
        """The error of a histogram: a unit is in one of d groups, so the sensitivity is 1, or 2 for replace_one.

        Args:
            d: groups.
            epsilon: of the whole histogram.
            neighbours: `add_remove` or `replace_one`.
        """
        return cls.of(d, epsilon, read.sensitivity_of(neighbours))

    @property
    def one(self) -> LaplaceError:
        """The error of one of them."""
        return LaplaceError(self.scale)

    @property
    def expected_l1(self) -> float:
        """E||Z||_1 = d b."""
        return self.d * self.scale

    @property
    def expected_max(self) -> float:
        """E max |Z_i| = b H_d, exactly."""
        return self.scale * harmonic(self.d)

    @property
    def bound_max(self) -> float:
        """The bound b (ln d + 1) on the expectation of the largest."""
        return self.scale * (math.log(self.d) + 1)

    def max_beyond(self, t: float) -> float:
        """P(max > b (ln d + t)), exactly: 1 - (1 - e^-t/d)^d. The union bound e^-t is never less.

        Example:
            >>> round(VectorError(20, 3143).max_beyond(3), 4), round(math.exp(-3), 4)
            (0.0486, 0.0498)
        """
        tail = min(1.0, math.exp(-t) / self.d)
        return 1.0 if tail == 1 else -math.expm1(self.d * math.log1p(-tail))

    def max_radius(self, confidence: Number = 0.95) -> float:
        """The bound that all |Z_i| keep, with a confidence: -b ln(1 - confidence^(1/d))."""
        level = read.probability(confidence, "confidence")
        return -self.scale * math.log(-math.expm1(math.log(level) / self.d))


def epsilon_for_expected_max(error: Number, d: int, sensitivity: Number = 1) -> float:
    """The least epsilon with E max |Z_i| at most an error: sensitivity H_d/error.

    Example:
        >>> round(epsilon_for_expected_max(172.61, 3143, 2), 4)
        0.1
    """
    return read.above_zero(sensitivity, "sensitivity") * harmonic(d) / read.above_zero(error, "error")


def harmonic(d: int) -> float:
    """H_d = 1 + 1/2 + ... + 1/d.

    Example:
        >>> harmonic(1), round(harmonic(3143), 4)
        (1.0, 8.6303)
    """
    n = read.people(d, "d")
    if n <= 1000:
        return math.fsum(1 / k for k in range(1, n + 1))
    # Euler and Maclaurin; the remainder is below 1/(120 n^4) < 1e-14
    return math.log(n) + _EULER + 1 / (2 * n) - 1 / (12 * n * n)
