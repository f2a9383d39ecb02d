"""The error of Laplace noise of scale b, and the scale or epsilon for an error.

E|Z| = b, rms sqrt(2) b, P(|Z| > t) = e^(-t/b). Noise on a whole number is drawn in whole numbers: its expectations
are a little less, but its radius may be more than the one here (`whole` has the exact law). Other numbers are drawn
on a fine grid, and differ from this by less than a millionth.
"""

from __future__ import annotations

import math

from discreet.errors import InvalidParameter
from discreet.planning import read
from discreet.rational import Number
from discreet.records import dataclass


@dataclass(frozen=True)
class LaplaceError:
    """The effect of noise of a scale on one number, in the unit of the number.

    Attributes:
        scale: b.

    Example:
        >>> error = LaplaceError.of(epsilon=0.1, sensitivity=2)
        >>> error.scale, round(error.rms, 2), round(error.radius(0.95), 2)
        (20.0, 28.28, 59.91)
    """

    scale: float

    @classmethod
    def of(cls, epsilon: Number, sensitivity: Number = 1) -> LaplaceError:
        """The error at an epsilon and an L1 sensitivity: b = sensitivity/epsilon.

        Raises:
            InvalidParameter: one of them is not above zero.
        """
        return cls(read.above_zero(sensitivity, "sensitivity") / read.epsilon(epsilon))

    @property
    def mean_abs(self) -> float:
        """E|Z| = b."""
        return self.scale

    @property
    def rms(self) -> float:
        """The standard deviation, sqrt(2) b."""
        return math.sqrt(2) * self.scale

    @property
    def mse(self) -> float:
        """2 b^2: half the epsilon, four times as much."""
        return 2 * self.scale**2

    def beyond(self, t: Number) -> float:
        """P(|Z| > t) = e^(-t/b).

        Example:
            >>> round(LaplaceError.of(0.5, 100).beyond(100), 4)
            0.6065
        """
        return math.exp(-read.above_zero(t, "t") / self.scale)

    def radius(self, confidence: Number = 0.95) -> float:
        """The half-width that holds |Z| with a confidence: b ln(1/(1 - confidence))."""
        return -self.scale * math.log1p(-read.probability(confidence, "confidence"))


def scale_for_rms(rms: Number) -> float:
    """The largest scale with that rms: rms/sqrt(2).

    Example:
        >>> round(scale_for_rms(5), 4)
        3.5355
    """
    return read.above_zero(rms, "rms") / math.sqrt(2)


def scale_for_tail(t: Number, beta: Number) -> float:
    """The largest scale with P(|Z| > t) <= beta: t/ln(1/beta).

    Example:
        >>> round(scale_for_tail(20, 0.001), 4)
        2.8953
    """
    return read.above_zero(t, "t") / -math.log(read.probability(beta, "beta"))


def epsilon_for_rms(rms: Number, sensitivity: Number = 1) -> float:
    """The least epsilon with that rms: sqrt(2) sensitivity/rms.

    Example:
        >>> round(epsilon_for_rms(10), 4)
        0.1414
    """
    return read.above_zero(sensitivity, "sensitivity") / scale_for_rms(rms)


def privacy_loss(output: float, here: float, there: float, scale: Number) -> float:
    """The evidence of one output for one data set against its neighbour: ln(p(y|D)/p(y|D')) = (|y-f'| - |y-f|)/b.

    Args:
        output: y.
        here: f(D).
        there: f(D').
        scale: b.

    Example:
        >>> round(privacy_loss(38.2, 37.9, 38.9, scale=2), 6)
        0.2
    """
    return (abs(output - there) - abs(output - here)) / read.above_zero(scale, "scale")


def linear_gap(epsilon: Number) -> float:
    """By how much e^epsilon is above 1 + epsilon, as a share of the latter.

    Example:
        >>> [f"{100 * linear_gap(e):.2g}" for e in (0.1, 0.5)]
        ['0.47', '9.9']
    """
    e = read.epsilon(epsilon)
    if e > 700:
        raise InvalidParameter("e^epsilon is too large for a double.", "Give an epsilon of at most 700.")
    return (math.expm1(e) - e) / (1 + e)
