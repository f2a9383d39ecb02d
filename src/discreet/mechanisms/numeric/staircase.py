"""The staircase mechanism: less error than Laplace noise when epsilon is large, for one number.

P(k) falls in flat steps (`noise.staircase`): it never grows with |k|, and P(|k| + w) = e^-epsilon P(k) for the width w.
Let w be the sensitivity in steps of the grid. Between neighbours the answer moves by s with |s| <= w, and
|k + s| <= |k| + w, so P(k + s) >= P(|k| + w) = e^-epsilon P(k): epsilon-differentially private. Among all noise that is
added to one number the staircase has the least expected size (Geng and Viswanath 2014); for
w = 1 it is discrete Laplace noise.

The gain, as E|noise| of Laplace over that of the staircase, both in the limit of a fine grid, is
(e^epsilon - 1)/(epsilon e^(epsilon/2)): 1.04 at epsilon 1, 1.42 at 3, 2.42 at 5, 14.8 at 10.

One number. In a vector a neighbour may move every coordinate a little, and each little move can cross a step of the
staircase, at the full price of epsilon each. Laplace noise charges each only for its share.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_granularity, read_sensitivity
from discreet.noise.parameters import read_scale
from discreet.noise.staircase import mass, staircase
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

_LIMIT: Final = (1 << 63) - 1


@dataclass(frozen=True)
class Staircase(PureLoss):
    """Release one number with discrete staircase noise.

    Privacy: one call of `release` is epsilon-differentially private (pure) if the number comes from a function
    that moves by at most `sensitivity` between neighbouring data sets. That premise is the caller's to answer
    for. A vector is refused: the guarantee would not hold. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal.
        sensitivity: positive rational, in the unit of the value.
        granularity: None for an integer; for a real number the grid, a power of two from 2^-512 to 2^512. A
            fine one is needed for the gain: sensitivity/granularity is the width of the steps.

    Raises:
        InvalidParameter: a parameter outside its range, or sensitivity/epsilon outside 2^-10 to 2^56 steps.

    Example:
        >>> total = Staircase(epsilon=5, sensitivity=1000)
        >>> isinstance(total.release(123_456), int)
        True
        >>> round(total.mean_abs, 1), round(1000 / 5, 1)  # E|noise|, and that of Laplace noise
        (82.6, 200.0)
    """

    epsilon: Fraction
    sensitivity: Fraction
    granularity: Fraction | None

    def __init__(self, epsilon: Number, sensitivity: Number = 1, granularity: Number | None = None) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "granularity", read_granularity(granularity))
        read_scale(self.sensitivity / self._grid / self.epsilon, "sensitivity/epsilon, in grid steps,")
        read_scale(1 / self.epsilon, "1/epsilon")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    @property
    def width(self) -> int:
        """The width of a step of the staircase, in steps of the grid: the sensitivity."""
        return math.ceil(self.sensitivity / self._grid)

    @property
    def inner(self) -> int:
        """How much of a step belongs to the level inside, in grid steps: where E|noise| is least, about."""
        optimum = self.width / (1 + math.exp(self.epsilon / 2))
        choices = {min(max(1, r), self.width) for r in (math.floor(optimum), math.ceil(optimum))}
        return min(choices, key=self._mean_abs)  # any choice is private

    def release(self, value: Any) -> Any:
        """Return the value with noise.

        Args:
            value: one integer (or whole float); with granularity any real number, rounded to the grid.

        Returns:
            An int, at most 2^63 - 1 in size; with granularity a float on the grid.

        Raises:
            InvalidParameter: not a single number, NaN, infinite, a boolean, not whole without granularity.
                Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        if not grid_values.is_scalar(value):
            raise InvalidParameter("The staircase mechanism is for one number.", "Use Laplace for a vector.")
        if self.granularity is None:
            steps = int(grid_values.integers(value, "Round it, or give the mechanism a granularity."))
        else:
            steps = int(grid_values.nearest(value, self.granularity))
        noisy = steps + staircase(self.epsilon, self.width, self.inner, 1)[0]
        noisy = min(max(noisy, -_LIMIT), _LIMIT)  # a function of the exact sum: post-processing
        return noisy if self.granularity is None else float(noisy * self.granularity)

    def pmf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(noise = x), which is 0 off the grid; same shape as x."""
        k = np.asarray(x, np.float64) / float(self._grid)
        here = mass(k, self.epsilon, self.width, self.inner)
        probability: npt.NDArray[np.float64] = np.where(k == np.floor(k), here, 0.0)[()]
        return probability

    @property
    def mean_abs(self) -> float:
        """E|noise|, in the unit of the value."""
        return self._mean_abs(self.inner) * float(self._grid)

    def error(self, confidence: Number = 0.95) -> int | float:
        """The least m on the grid, to rounding of floats, with P(|noise| <= m) >= confidence, in the unit of the value.

        Raises:
            InvalidParameter: a confidence that is not strictly between 0 and 1.
        """
        outside = float(1 - read_confidence(confidence))
        low, high = -1, 1
        while self._at_least(high + 1) > outside:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._at_least(middle + 1) > outside else (low, middle)
        return high if self.granularity is None else float(high * self.granularity)

    def half_width(self, confidence: Number = 0.95) -> int | float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(confidence)

    @property
    def _grid(self) -> Fraction:
        return Fraction(1) if self.granularity is None else self.granularity

    def _mean_abs(self, r: int) -> float:
        """2 times the sum of k P(k): over blocks, a geometric sum and its derivative."""
        q, rest, w = math.exp(-self.epsilon), -math.expm1(-self.epsilon), self.width
        level = r + q * (w - r)
        inside = r * (r - 1) / 2 + q * (w * (w - 1) - r * (r - 1)) / 2
        return 2 * (w * level * q / rest + inside) / (2 * level - rest)

    def _at_least(self, m: int) -> float:
        """P(|noise| >= m) for m >= 0."""
        if m == 0:
            return 1.0
        q, rest, w, r = math.exp(-self.epsilon), -math.expm1(-self.epsilon), self.width, self.inner
        level = r + q * (w - r)
        block, place = divmod(m, w)
        here = max(0, r - place) + q * (w - max(place, r))
        return 2 * math.exp(-self.epsilon * block) * (here * rest + q * level) / (2 * level - rest)
