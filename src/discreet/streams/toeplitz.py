"""The square root of the prefix sums: a factorisation A = L R with L and R about alike, best for Gaussian noise.

A is the lower triangular Toeplitz matrix of 1/(1 - x). Its root has the coefficients of (1 - x)^(-1/2), c_j =
C(2j, j)/4^j (Fichtenberger, Henzinger and Upadhyay 2023; Henzinger, Upadhyay and Upadhyay 2023: a mean squared error
within a factor 1 + o(1) of the best of all factorisations under Gaussian noise). R here has the coefficients
round(2^bits c_j), integers, so that its noise is discrete and its column norms are exact; L = A R^-1, of which
rounding is post-processing.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.streams.strategy import Floats, Integers

BITS: Final = 8
"""Of the coefficients behind the point; the error is then within a part in 1,000 of that of more."""


class SquareRoot(Strategy):
    """The square-root factorisation, in integers.

    Args:
        periods: T.
        bits: of the coefficients of R behind the point.

    Example:
        >>> from discreet.streams.direct import PerPeriod
        >>> from discreet.streams.tree import Tree
        >>> root = SquareRoot(365)
        >>> root.gaussian() < PerPeriod(365).gaussian(), root.gaussian() < Tree(365).gaussian()
        (True, True)
    """

    name = "root"
    words = "the square root of the matrix of prefix sums"
    most = 4096

    def __init__(self, periods: int, bits: int = BITS) -> None:
        super().__init__(periods)
        self.bits = bits

    @cached_property
    def _right(self) -> Integers:
        """The coefficients of R, the first one 2^bits."""
        c = np.ones(self.periods)
        j = np.arange(1, self.periods)
        c[1:] = np.cumprod((2 * j - 1) / (2 * j))
        return np.round(c * (1 << self.bits)).astype(np.int64)

    @cached_property
    def _inverse(self) -> Floats:
        """The coefficients of 1/R, which fall off as j^(-3/2)."""
        r = self._right.astype(np.float64)
        out = np.zeros(self.periods)
        out[0] = 1 / r[0]
        for n in range(1, self.periods):
            out[n] = -(r[1 : n + 1] @ out[n - 1 :: -1][:n]) / r[0]
        return out

    @cached_property
    def _left(self) -> Floats:
        """The coefficients of L = A/R."""
        return np.cumsum(self._inverse)

    @property
    def l1(self) -> int:
        """The sum of the coefficients: those of the first column."""
        return int(self._right.sum())

    @property
    def row(self) -> int:
        """The same, those of the last row."""
        return self.l1

    @property
    def l2_squared(self) -> int:
        """The sum of their squares."""
        return sum(int(coefficient) ** 2 for coefficient in self._right)

    def exact(self, t: int, counts: Integers) -> Integers:
        """The counts so far, each with its coefficient."""
        return (self._right[t - 1 :: -1] @ counts[:t])[np.newaxis]

    def weights(self, t: int) -> Floats:
        """The coefficients of L, backwards."""
        return self._left[t - 1 :: -1].copy()

    @property
    def gains(self) -> Floats:
        """The running sums of the squares of the coefficients of L."""
        return np.cumsum(self._left**2)

    def weights_of_period(self, t: int) -> Floats:
        """The coefficients of 1/R, backwards."""
        return self._inverse[t - 1 :: -1].copy()

    def window_gains(self, window: int) -> Floats:
        """The running sums of the squares of the differences of the coefficients of L."""
        own = self._left.copy()
        own[window:] -= self._left[:-window] if window < self.periods else 0
        return np.cumsum(own**2)
