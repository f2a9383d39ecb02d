"""Laplace noise by everybody for themselves, on bounded values.

A person's value is clamped to [low, high], rounded to a public grid, and given discrete Laplace noise of scale
(high - low)/epsilon, the width being that of the bounds on the grid. Any two values differ by at most that width, so
each report is epsilon-differentially private for the person who gives it (the argument of `laplace`, for one number).

Error. The noise of the mean of n reports has standard deviation sqrt(2) (high - low)/(epsilon sqrt(n)); its interval
comes from the exact law of a sum of n Laplace variables (`laplace_sum`). The grid is at most 2^-20 of the scale, and
so is the relative difference of the discrete law from that one. Clamping is a bias that no interval covers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.laplace_sum import half_width
from discreet.mechanisms.mechanism import OfPeople
from discreet.mechanisms.parameters import read_confidence, read_count, read_granularity
from discreet.noise import add_laplace
from discreet.noise.parameters import read_scale
from discreet.rational import Number, decimal, epsilon_of, positive
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import LaplaceNoise, Neighbours


@dataclass(frozen=True)
class LocalMean:
    """The mean of people's values, as estimated from their reports.

    Attributes:
        people: how many reports there were.
        value: the estimate, unbiased for the mean of the clamped values.
        scale: the scale of the noise of one report.

    Example:
        >>> mean = LocalMean(people=500, value=170.0, scale=Fraction(70))
        >>> round(mean.sd, 2), [round(end, 1) for end in mean.interval(0.95)]
        (4.43, [161.3, 178.7])
    """

    people: int
    value: float
    scale: Fraction

    @property
    def sd(self) -> float:
        """The standard deviation of the noise of `value`."""
        return math.sqrt(2 / self.people) * float(self.scale)

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Where the mean of the clamped values is, at a confidence that holds for any number of people.

        It covers the noise; not clamping, nor how the people were chosen.

        Raises:
            InvalidParameter: a confidence that is not strictly between 0 and 1.
        """
        reach = half_width.equal(self.people, read_confidence(confidence))
        half = float(self.scale) * reach / self.people
        return self.value - half, self.value + half


@dataclass(frozen=True)
class LocalLaplace(OfPeople):
    """Let each person report a bounded number with Laplace noise.

    Privacy: each report is epsilon-differentially private for the person who gives it, against everybody,
    including those who collect it (the local model). A person who reports twice spends epsilon twice. Source
    and proof: the module's text.

    Args:
        epsilon: positive rational, for one report of one person; a float is its shortest decimal.
        low: the least value that is told apart; below it a value is clamped.
        high: the largest, above `low`.

    Raises:
        InvalidParameter: an epsilon that is not positive, or bounds that are not finite or not in order.

    Example:
        >>> heights = LocalLaplace(epsilon=1, low=140, high=210)
        >>> heights.scale
        Fraction(70, 1)
        >>> mean = heights.estimate(heights.release([165.2, 178.0, 171.5] * 1000))
        >>> low, high = mean.interval(0.999999)
        >>> low <= 171.56 <= high
        True
        >>> heights.sample_size(1)  # for a standard deviation of 1
        9800
    """

    epsilon: Fraction
    low: Fraction
    high: Fraction

    def __init__(self, epsilon: Number, low: Number, high: Number) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "low", decimal(low, "low"))
        object.__setattr__(self, "high", decimal(high, "high"))
        if self.low >= self.high:
            raise InvalidParameter("low is not below high.", "Give the bounds in order.")
        read_granularity(self.granularity)  # it is within the range of all grids, and so of doubles
        low_step, high_step = self._ends
        if max(-low_step, high_step) > grid_values.FARTHEST:
            raise InvalidParameter(
                "The bounds are too far from zero for their distance.", "Subtract an offset."
            )
        read_scale(self.scale / self.granularity, "The scale, in grid steps,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one report for the person who gives it: pure epsilon."""
        return self.epsilon

    def event(self, neighbours: Neighbours) -> LaplaceNoise:
        """The event that accountants price, for each person: the noise itself.

        Args:
            neighbours: any, for a person gives one report.
        """
        from discreet.accounting.events import LaplaceNoise

        low, high = self._ends
        grid = self.granularity
        return LaplaceNoise(self.scale, (high - low) * grid, grid, neighbours=neighbours)

    @property
    def granularity(self) -> Fraction:
        """The grid of the reports: the largest power of two that is at most 2^-20 of (high - low)/epsilon."""
        wanted = min(1 / self.epsilon, Fraction(1)) * (self.high - self.low) / (1 << 20)
        exponent = wanted.numerator.bit_length() - wanted.denominator.bit_length()
        return Fraction(2) ** (exponent if Fraction(2) ** exponent <= wanted else exponent - 1)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a report, in the unit of the values."""
        low, high = self._ends
        return (high - low) * self.granularity / self.epsilon

    def release(self, values: Any) -> npt.NDArray[np.float64]:
        """Randomise the values of many people, one for each, independently.

        Args:
            values: flat sequence or array of finite numbers (n,), one for each person.

        Returns:
            float64 array (n,), every entry on the grid.

        Raises:
            InvalidParameter: not a flat sequence, NaN, infinite, a boolean, or 2^62 grid steps from zero.
                Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        steps = grid_values.nearest(values, self.granularity)
        if steps.ndim != 1:
            raise InvalidParameter("The values are not a flat sequence.", "Give one value for each person.")
        # Rounding keeps order, so that clamping after it is clamping before it.
        clamped = np.clip(steps, *self._ends)
        noisy = add_laplace(clamped, self.scale / self.granularity)
        return noisy.astype(np.float64) * float(self.granularity)

    def estimate(self, reports: Any) -> LocalMean:
        """Estimate the mean of the clamped values. Post-processing: it costs nothing.

        Raises:
            InvalidParameter: no report, or one that is not a finite number.
        """
        array = np.asarray(reports)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise InvalidParameter(
                "The reports are none, or not finite numbers.", "Give the reports that release returned."
            )
        return LocalMean(array.size, float(array.mean(dtype=np.float64)), self.scale)

    def rms(self, people: int) -> float:
        """Root mean square error of the mean."""
        return math.sqrt(2 / read_count(people, "people", "Give their number.")) * float(self.scale)

    def error(self, people: int, confidence: Number = 0.95) -> float:
        """Half-width of the interval of the mean, known before anybody is asked."""
        n = read_count(people, "people", "Give their number.")
        return float(self.scale) * half_width.equal(n, read_confidence(confidence)) / n

    def sample_size(self, error: Number) -> int:
        """How many people are needed for a root mean square error of the mean of at most `error`.

        Raises:
            InvalidParameter: an error that is not positive.
        """
        return math.ceil(2 * (self.scale / positive(decimal(error, "error"), "error")) ** 2)

    @property
    def _ends(self) -> tuple[int, int]:
        half = Fraction(1, 2)
        return math.floor(self.low / self.granularity + half), math.floor(self.high / self.granularity + half)
