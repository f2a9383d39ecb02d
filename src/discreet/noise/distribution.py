"""The discrete Laplace distribution as an object: probabilities, quantiles, draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise.laplace import laplace
from discreet.noise.parameters import Size, read_scale
from discreet.rational import positive
from discreet.records import dataclass

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DiscreteLaplace:
    """grid * Z with P(Z = k) = (1 - q)/(1 + q) q^|k| and q = e^(-grid/scale), k any integer.

    The numbers returned here are float64, right to a few units in the last place at every scale (no
    difference of nearly equal numbers is ever formed); `draws` alone is exact, and draws decide privacy.
    As grid/scale goes to 0 it becomes the Laplace distribution with density e^(-|x|/scale)/(2 scale).

    Attributes:
        scale: in the unit of the values; scale/grid is from 2^-10 to 2^56.
        grid: the distance of neighbouring values; positive.

    Raises:
        InvalidParameter: a grid that is not positive, or scale/grid outside its range.

    Example:
        >>> noise = DiscreteLaplace(Fraction(20))
        >>> round(float(noise.pmf(0)), 6), round(noise.sd, 3)
        (0.024995, 28.281)
    """

    scale: Fraction
    grid: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        read_scale(self.steps)

    @property
    def steps(self) -> Fraction:
        """The scale in grid steps."""
        return self.scale / positive(self.grid, "grid")

    @property
    def mean(self) -> float:
        """0, by symmetry."""
        return 0.0

    @property
    def mean_abs(self) -> float:
        """E|X| = grid/sinh(grid/scale), a little below `scale`."""
        return float(self.grid) * 2 * math.exp(-self._rate) / -math.expm1(-2 * self._rate)

    @property
    def sd(self) -> float:
        """The standard deviation, grid/(sqrt(2) sinh(grid/(2 scale))), a little below sqrt(2) scale."""
        return float(self.grid) * math.sqrt(2) * math.exp(-self._rate / 2) / -math.expm1(-self._rate)

    def pmf(self, x: npt.ArrayLike) -> Floats:
        """P(X = x), which is 0 off the grid; same shape as x."""
        k = self._position(x)
        mass = math.tanh(self._rate / 2) * np.exp(-self._rate * np.abs(k))
        return np.where(k == np.floor(k), mass, 0.0)[()]

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(X <= x), same shape as x."""
        return self._at_most(np.floor(self._position(x)))[()]

    def survival(self, x: npt.ArrayLike) -> Floats:
        """P(X > x), same shape as x, precise far out where the cdf is 1."""
        return self._at_most(-np.floor(self._position(x)) - 1)[()]  # P(Z > k) = P(Z <= -k - 1)

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """The least x on the grid with P(X <= x) >= p, same shape as p.

        Raises:
            InvalidParameter: a p that is not strictly between 0 and 1.
        """
        level = np.asarray(p, np.float64)
        if not ((level > 0) & (level < 1)).all():
            raise InvalidParameter("p is not strictly between 0 and 1.", "Give probabilities.")
        # q^-k/(1 + q) >= p below zero; above, the tail q^(k + 1)/(1 + q) must be at most 1 - p.
        spread = math.log1p(math.exp(-self._rate))
        below = np.ceil((np.log(level) + spread) / self._rate)
        above = np.ceil(-(np.log1p(-level) + spread) / self._rate) - 1
        k = np.where(below < 0, below, np.maximum(above, 0.0))
        k = np.where(self._at_most(k - 1) >= level, k - 1, k)  # the logarithm may be off by a rounding
        k = np.where(self._at_most(k) < level, k + 1, k)
        return ((k + 0.0) * float(self.grid))[()]

    def draws(self, size: Size = None) -> Any:
        """Draw exactly and secretly: ints (int64 array) when the grid is 1, else floats (float64 array)."""
        steps = laplace(self.steps) if size is None else laplace(self.steps, size)
        return steps if self.grid == 1 else steps * float(self.grid)

    @property
    def _rate(self) -> float:
        return float(1 / self.steps)

    def _position(self, x: npt.ArrayLike) -> Floats:
        return np.asarray(x, np.float64) / float(self.grid)

    def _at_most(self, k: Floats) -> Floats:
        head = 1 / (1 + math.exp(-self._rate))
        tail = head * np.exp(-self._rate * np.where(k < 0, -k, k + 1))
        return np.where(k < 0, tail, 1 - tail)
