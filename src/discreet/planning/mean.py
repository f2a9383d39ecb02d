"""The error of a mean of values that are clamped into [lo, hi], R = hi - lo.

Public n, neighbours that replace one person: the mean moves by R/n, so b = R/(n epsilon). Private n, neighbours that
add or remove one: `discreet` releases the sums of t and R - t (t = value - lo) as one vector of sensitivity R. The
rms of their ratio is sqrt(m^2 + (1 - m)^2) times the one here, m being where in [0, 1] the mean lies: 0.71 to 1
times, to first order in the noise. Clamping adds a bias that no formula here covers.
"""

from __future__ import annotations

import math

from discreet.errors import InvalidParameter
from discreet.planning import read
from discreet.planning.laplace import LaplaceError
from discreet.rational import Number, decimal


def mean_error(bounds: tuple[Number, Number], n: int, epsilon: Number) -> LaplaceError:
    """The error of the noise in a mean of n people, n public, for neighbours that replace one.

    Args:
        bounds: least and greatest value, to which values are clamped.
        n: people.
        epsilon: of the mean.

    Raises:
        InvalidParameter: bounds that are not in order, or another parameter out of range.

    Example:
        >>> education = mean_error((1, 16), 1500, epsilon=0.1)
        >>> round(education.scale, 4), round(education.radius(0.95), 4)
        (0.1, 0.2996)
    """
    return LaplaceError(_width(bounds) / (read.people(n) * read.epsilon(epsilon)))


def sample_size_for_mean(bounds: tuple[Number, Number], error: Number, epsilon: Number) -> int:
    """The least n that keeps the rms error of the noise at `error`: sqrt(2) R/(error epsilon).

    Example:
        >>> sample_size_for_mean((1, 16), 0.1, 0.1)
        2122
    """
    return read.least_whole(
        math.sqrt(2) * _width(bounds) / (read.above_zero(error, "error") * read.epsilon(epsilon))
    )


def epsilon_for_mean(bounds: tuple[Number, Number], error: Number, n: int) -> float:
    """The least epsilon that keeps the rms error of the noise at `error` with n people.

    Example:
        >>> round(epsilon_for_mean((1, 16), 0.1, 2122), 4)
        0.1
    """
    return math.sqrt(2) * _width(bounds) / (read.above_zero(error, "error") * read.people(n))


def _width(bounds: tuple[Number, Number]) -> float:
    lo, hi = (decimal(each, "a bound") for each in bounds)
    if lo >= hi:
        raise InvalidParameter("The bounds are not in order.", "Give the least value first, as (0, 120).")
    return read.above_zero(hi - lo, "the distance of the bounds")
