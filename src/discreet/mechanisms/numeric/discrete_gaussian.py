"""The discrete Gaussian mechanism, for those who compose many releases.

With f integer-valued and of L2 sensitivity S, f(D) + Z with independent discrete Gaussian Z_i of parameter
v = S^2/(2 rho) satisfies rho-concentrated differential privacy (zCDP): between neighbours the Renyi divergence of every
order alpha > 1 is at most rho alpha (Canonne, Kamath, Steinke 2020). rho adds up over releases. It implies (epsilon,
delta) with epsilon = rho + 2 sqrt(rho ln(1/delta)) for every delta (Bun and Steinke 2016, proposition 1.3), and no pure
epsilon at all: it is the choice where a delta is granted and many numbers are released.

Reals. Rounding to the grid makes a coordinate that moves by y_i steps move by at most ceil(y_i) < y_i + 1, so a vector
of d moves by at most S/g + sqrt(d) in L2, and a single number by ceil(S/g).

Sums saturate at +-(2^63 - 1) steps.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, SupportsIndex

import numpy as np

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.parameters import read_confidence, read_count, read_granularity, read_sensitivity
from discreet.noise import gaussian, saturating_add
from discreet.noise.gaussian import LARGEST, SMALLEST
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import Concentrated, Neighbours
    from discreet.accounting.zcdp import ZCDP

_SUMMED: Final = 10_000
_SMOOTH: Final = 3
"""From so many steps squared on the variance is v but for a share of 16 pi^2 v e^(-2 pi^2 v) < 2^-53 (Poisson)."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """Release numbers with discrete Gaussian noise of parameter sensitivity^2/(2 rho).

    Privacy: one call of `release` is rho-zCDP, for all values, if they come from a function whose
    L2 sensitivity over neighbouring data sets is at most `sensitivity`: the square root of the sum of the
    squares of all changes. That premise is the caller's to answer for. It is not pure epsilon-DP. Source and
    proof: the module's text.

    Args:
        rho: positive rational; a float is its shortest decimal.
        sensitivity: positive rational in the unit of the values, an upper bound of the L2 sensitivity.
        granularity: None for integer values; for reals the grid, a power of two from 2^-512 to 2^512.

    Raises:
        InvalidParameter: a parameter outside its range, or a v outside 2^-20 to 2^50 steps squared.

    Example:
        >>> counts = DiscreteGaussian(rho="1/200")
        >>> counts.parameter, counts.error(0.95)
        (Fraction(100, 1), 20)
        >>> counts.release([12, 7, 0]).dtype
        dtype('int64')
    """

    rho: Fraction
    sensitivity: Fraction
    granularity: Fraction | None

    def __init__(self, rho: Number, sensitivity: Number = 1, granularity: Number | None = None) -> None:
        object.__setattr__(self, "rho", epsilon_of(rho, "rho"))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "granularity", read_granularity(granularity))
        self._check(1)

    @property
    def loss(self) -> ZCDP:
        """The privacy loss of one release: rho-zCDP."""
        from discreet.accounting.zcdp import ZCDP

        return ZCDP(self.rho)

    def event(self, neighbours: Neighbours) -> Concentrated:
        """The event that accountants price: its parameter is rho, for the standard deviation is no rational.

        Args:
            neighbours: those for which the sensitivity holds.
        """
        from discreet.accounting.events import Concentrated

        return Concentrated(self.loss, neighbours=neighbours)

    @property
    def parameter(self) -> Fraction:
        """The parameter v of the noise of a single number, in the unit of the values squared."""
        return self.parameter_for(1)

    @property
    def variance(self) -> float:
        """The variance of the noise of a single number, in the unit of the values squared.

        It is below the parameter v, by less than a double can tell from 3 grid steps squared on.

        Example:
            >>> noise = DiscreteGaussian(rho=2)
            >>> noise.parameter, round(noise.variance, 3)
            (Fraction(1, 4), 0.215)
        """
        return self.variance_for(1)

    def variance_for(self, d: SupportsIndex) -> float:
        """The variance of the noise of each coordinate of a vector of d: sum k^2 e^(-k^2/2v)/sum e^(-k^2/2v)."""
        grid = float(1 if self.granularity is None else self.granularity)
        steps = float(self._check(read_count(d, "d", "Give the number of coordinates.")))
        if steps >= _SMOOTH:
            return float(self.parameter_for(d))
        k = np.arange(1, math.ceil(40 * math.sqrt(steps)) + 2)
        weights = np.exp(-(k**2) / (2 * steps))
        return float(2 * (k**2 * weights).sum() / (1 + 2 * weights.sum())) * grid**2

    def parameter_for(self, d: SupportsIndex) -> Fraction:
        """The parameter v of the noise of each coordinate of a vector of d.

        For integers it does not depend on d; for reals rounding adds to the sensitivity.

        Raises:
            InvalidParameter: d is not a positive int.
        """
        count = read_count(d, "d", "Give the number of coordinates.")
        moves = self.sensitivity
        if self.granularity is not None:
            steps = moves / self.granularity
            # 2^-32 (isqrt(d 2^64) + 1) is above sqrt(d).
            wide = steps + Fraction(math.isqrt(count << 64) + 1, 1 << 32)
            moves = (Fraction(math.ceil(steps)) if count == 1 else wide) * self.granularity
        return moves**2 / (2 * self.rho)

    def release(self, values: Any) -> Any:
        """Return the values with noise; one call is one rho, however many values.

        Args:
            values: a number, or an array or sequence of them of any shape. Without granularity: integers,
                or floats that are whole. With granularity: ints, floats, Fractions; rounded to the grid.

        Returns:
            Without granularity int, or an int64 array of the same shape. With granularity float, or a
            float64 array of the same shape, every entry exactly a multiple of the granularity.

        Raises:
            InvalidParameter: a value is NaN, infinite, a boolean, not a number, outside int64, more than
                2^62 grid steps from zero, or not whole without granularity. No noise was drawn.
            EntropyError: the operating system gave no randomness.
        """
        return grid_values.released(
            values, self._steps, lambda d: partial(self._noisy, v=self._check(d)), self.granularity is None
        )

    def _steps(self, values: object) -> grid_values.Steps:
        if self.granularity is None:
            return grid_values.integers(values, "Round the values, or give the mechanism a granularity.")
        return grid_values.nearest(values, self.granularity)

    def _noisy(self, steps: grid_values.Steps, v: Fraction) -> Any:
        noisy = saturating_add(steps, gaussian(v, steps.shape))
        return noisy if self.granularity is None else noisy.astype(np.float64) * float(self.granularity)

    def error(self, confidence: Number = 0.95, d: int = 1) -> int | float:
        """Half-width of the interval of one coordinate of a vector of d, in the unit of the values.

        A multiple m of the grid with P(|noise| <= m) >= confidence: the least one up to a v of 10,000
        steps squared, and beyond that at most a step more, since the tail of the normal law bounds this one.

        Raises:
            InvalidParameter: a confidence that is not strictly between 0 and 1, or a d below 1.
        """
        return self._half_width(float(1 - read_confidence(confidence)), d)

    def half_width(self, confidence: Number = 0.95, d: int = 1) -> int | float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(confidence, d)

    def max_error(self, d: int, confidence: Number = 0.95) -> int | float:
        """A multiple m of the grid with P(all |noise| of d coordinates <= m) >= confidence, as in `error`."""
        level = read_confidence(confidence)
        count = read_count(d, "d", "Give the number of coordinates.")
        return self._half_width(-math.expm1(math.log(level) / count), count)

    def _check(self, d: int) -> Fraction:
        steps = self.parameter_for(d) / (1 if self.granularity is None else self.granularity**2)
        if not SMALLEST <= steps <= LARGEST:
            raise InvalidParameter(
                "sensitivity^2/(2 rho), in grid steps squared, is outside 2^-20 to 2^50.",
                "Choose another rho or granularity.",
            )
        return steps

    def _half_width(self, outside: float, d: int) -> int | float:
        steps = half_width_of(float(self._check(d)), outside)
        return steps if self.granularity is None else float(steps * self.granularity)


@lru_cache(maxsize=1024)
def half_width_of(variance: float, outside: float) -> int:
    """An m with P(|Z| > m) <= outside, Z discrete Gaussian of this parameter: see `DiscreteGaussian.error`."""
    if variance > _SUMMED:
        return _normal(math.sqrt(variance), outside)
    k = np.arange(1, math.ceil(40 * math.sqrt(variance)) + 40)
    weights = np.exp(-(k**2) / (2 * variance))
    beyond = np.cumsum(weights[::-1])[::-1]  # from k on, on one side
    return int(np.argmax(2 * beyond / (1 + 2 * beyond[0]) <= outside))


def _normal(sigma: float, outside: float) -> int:
    """The least m with P(|N| > m) <= outside for the normal law."""
    low, high = 0, 64 * math.ceil(sigma)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if math.erfc(middle / (sigma * math.sqrt(2))) > outside else (low, middle)
    return high
