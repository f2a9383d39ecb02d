"""The error of a whole number, exactly as its noise is drawn: P(Z = k) proportional to e^(-|k|/b), k any integer.

With q = e^(-1/b): E|Z| = 1/sinh(1/b), rms = 1/(sqrt(2) sinh(1/(2b))), P(|Z| > t) = 2 q^(floor(t) + 1)/(1 + q). The
first two are a little below b and sqrt(2) b of a density with the same scale. The third is not: at b = 1 the density
is beyond 2.996 with probability 5 %, and whole numbers with 7.3 %, as 3 is among them. So the radius of a whole
number is taken from this law and from no other.

Numbers that are not whole are drawn on a grid of at most 2^-19 of the scale. Tails of the density differ from theirs
by less than a millionth of themselves.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.mechanisms import Laplace
from discreet.planning import read
from discreet.planning.vector import harmonic
from discreet.rational import Number, decimal, epsilon_of, positive
from discreet.records import dataclass

_SUMMED = 4096
_ROUNDED = 1 + 1e-12


@dataclass(frozen=True)
class WholeError:
    """The effect of discrete noise on d whole numbers that are released together.

    Attributes:
        epsilon: of all of them together.
        sensitivity: L1, of all of them together.
        d: how many there are.

    Raises:
        InvalidParameter: a parameter that is not above zero, or a scale outside 2^-10 to 2^56.

    Example:
        >>> count = WholeError.of(1, epsilon=1)
        >>> count.radius(0.95), round(count.beyond(2.996), 3), round(count.beyond(3), 3)
        (3, 0.073, 0.027)
    """

    epsilon: Fraction
    sensitivity: Fraction
    d: int

    @classmethod
    def of(cls, d: int, epsilon: Number, sensitivity: Number = 1) -> WholeError:
        """The error of d whole numbers whose L1 sensitivity, all together, is `sensitivity`."""
        moves = positive(decimal(sensitivity, "sensitivity"), "sensitivity")
        found = cls(epsilon_of(epsilon), moves, read.people(d, "d"))
        assert found.noise.loss == found.epsilon  # and noise of this scale can be drawn
        return found

    @property
    def noise(self) -> Laplace:
        """The mechanism."""
        return Laplace(self.epsilon, self.sensitivity)

    @property
    def mean_abs(self) -> float:
        """E|Z| of one."""
        return self.noise.distribution.mean_abs

    @property
    def rms(self) -> float:
        """The standard deviation of one."""
        return self.noise.distribution.sd

    def beyond(self, t: Number) -> float:
        """P(|Z| > t) of one."""
        return beyond(float(1 / self.noise.scale), math.floor(decimal(t, "t")))

    def radius(self, confidence: Number = 0.95) -> int:
        """The least whole number that holds |Z| of one with a confidence."""
        return int(self.noise.error(confidence))

    @property
    def expected_max(self) -> float:
        """E max |Z_i|: the sum of P(max > k) over k >= 0, to about 1e-9 of itself.

        For a large scale the sum is an integral plus corrections at its first term (Euler and Maclaurin).
        """
        rate = float(1 / self.noise.scale)
        if 1 / rate > _SUMMED:
            first = 2 / (math.exp(rate) + 1)  # P(|Z| > 0)
            none = 1 - first
            integral = (harmonic(self.d) + math.log(first) + none ** (self.d + 1) / (self.d + 1)) / rate
            return integral + (1 - none**self.d) / 2 + self.d * none ** (self.d - 1) * first * rate / 12
        total, k = 0.0, 0
        while (term := _any(beyond(rate, k), self.d)) > 1e-14:
            total, k = total + term, k + 1
        return total

    def max_radius(self, confidence: Number = 0.95) -> int:
        """The least whole number that holds all |Z_i| with a confidence."""
        return int(self.noise.max_error(self.d, confidence))


def beyond(rate: float, t: int) -> float:
    """P(|Z| > t) for a whole t >= 0 and noise of scale 1/rate."""
    return 2 * math.exp(-rate * (t + 1)) / (1 + math.exp(-rate))


def whole_epsilon_for_rms(rms: Number, sensitivity: Number = 1) -> float:
    """The least epsilon with that rms of a whole number: 2 S asinh(1/(sqrt(2) rms)).

    Example:
        >>> round(whole_epsilon_for_rms(1), 4)  # the density needs 1.4142
        1.317
    """
    spread = read.above_zero(rms, "rms")
    return 2 * read.above_zero(sensitivity, "sensitivity") * math.asinh(1 / (math.sqrt(2) * spread))


def whole_epsilon_for_tail(t: Number, beta: Number, sensitivity: Number = 1) -> float:
    """The least epsilon with P(|Z| > t) <= beta of a whole number, rounded up.

    Example:
        >>> [round(whole_epsilon_for_tail(t, 0.05), 4) for t in (2.9, 3)]  # the density needs 1.033 and 0.9986
        [1.1369, 0.8319]
    """
    least, most = math.floor(read.above_zero(t, "t")), read.probability(beta, "beta")
    low, high = 0.0, 1.0
    while beyond(high, least) > most:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, least) > most else (low, middle)
    return read.above_zero(sensitivity, "sensitivity") * high * _ROUNDED


def _any(tail: float, d: int) -> float:
    """P(at least one of d) for one of probability `tail`."""
    return 1.0 if tail >= 1 else -math.expm1(d * math.log1p(-tail))
