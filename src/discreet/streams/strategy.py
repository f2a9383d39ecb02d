"""Running totals of a stream under one charge: a matrix of nodes, and the weights that lead back to the totals.

Let x be the counts of T periods, known one after the other, and A the matrix of prefix sums: A x are the running
totals. A strategy is an integer matrix R and weights L with L R = A. R x + Z is released, a node as soon as its last
period has closed, with independent noise Z of one scale; the running totals are L (R x + Z) = A x + L Z, which is
post-processing, without bias, of variance Var(Z) times the row sums of squares of L, known before any data (the matrix
mechanism: Li, Hay, Rastogi, Miklau and McGregor 2010).

Privacy. One row of period t moves R x by column t of R: by at most `l1` in L1 and the root of `l2_squared` in L2, the
largest norms of a column, over all nodes of the whole stream together. A unit of at most r rows moves it by at most r
times as much, by the triangle inequality, whichever periods the rows are of. So Laplace noise of scale r l1/epsilon on
each node is epsilon-private for the whole stream (`mechanisms.LaplaceVector`). That holds too where later rows are
chosen after earlier outputs were seen: for fixed outputs y the rows are functions of a prefix of y, the ratio of the
densities is the product over nodes of exp(|y_i - R_i x'| - |y_i - R_i x|)/b, and each sum above bounds its exponent
for these rows. Since R has integer entries and x integer counts, the noise is discrete and exact.

With Gaussian noise of variance r^2 l2_squared/(2 rho) on each node the stream is rho-zCDP
(`mechanisms.GaussianVector`), and that too composes where later rows depend on earlier outputs (Denisov, McMahan, Rush,
Smith and Guha Thakurta 2022, theorem 2.1). R has no entry below zero, so where no row adds less than zero and a unit is
replaced, the images of its rows and of those of its successor have an inner product of at least zero: their difference
is at most the root of 2 as long as the longer one.

Groups with public keys share one R: a row is in one group, so it moves one column of nodes and the bound is the same.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

MOST_PERIODS: Final = 1 << 20
"""So many periods has a stream at most."""


class Strategy(ABC):
    """A way to release running totals. Periods are numbered from 1; those up to t have closed "at t".

    Args:
        periods: T, at least 1.

    Raises:
        InvalidParameter: no such number of periods.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    most: ClassVar[int] = MOST_PERIODS

    def __init__(self, periods: int) -> None:
        if type(periods) is not int or not 1 <= periods <= self.most:
            raise InvalidParameter(
                f"The number of periods is not a whole number from 1 to {self.most:,}.",
                "Choose longer periods, or an earlier end.",
            )
        self.periods = periods

    @property
    @abstractmethod
    def l1(self) -> int:
        """The largest sum of absolute values of a column of R."""

    @property
    @abstractmethod
    def l2_squared(self) -> int:
        """The largest sum of squares of a column of R."""

    def nodes(self, t: int) -> int:
        """How many nodes are complete at t; they are numbered in this order."""
        return t

    @abstractmethod
    def exact(self, t: int, counts: Integers) -> Integers:
        """The values of the nodes that are completed by period t.

        Args:
            t: the period that closes.
            counts: (T, groups) of all periods up to t, each at most `cap` in size; later rows are not read.

        Returns:
            int64 array (nodes(t) - nodes(t - 1), groups).
        """

    @abstractmethod
    def weights(self, t: int) -> Floats:
        """Row t of L: the weights, on the nodes that are complete at t, of the running total."""

    @property
    @abstractmethod
    def gains(self) -> Floats:
        """The sums of squares of `weights(t)` for t = 1 … T in closed form: variances of the totals, for noise of 1."""

    def between(self, s: int, t: int) -> Floats:
        """The weights of the total of the periods s + 1 to t."""
        new = self.weights(t)
        if s:
            old = self.weights(s)
            new[: len(old)] -= old
        return new

    def weights_of_period(self, t: int) -> Floats:
        """The weights of the count of period t alone."""
        return self.between(t - 1, t)

    def window_gains(self, window: int) -> Floats:
        """The sums of squares of `between(t - window, t)` for t = 1 … T."""
        made = (self.between(max(0, t - window), t) for t in range(1, self.periods + 1))
        return np.array([float(weights @ weights) for weights in made])

    @property
    def row(self) -> int:
        """At least the largest sum of absolute values of a row of R."""
        return self.periods

    @property
    def cap(self) -> int:
        """Counts are clamped to this size, so that no node leaves 64 bits. Clamping moves no count by more."""
        return (1 << 61) // self.row

    def rms(self, window: int = 0) -> float:
        """The root of the mean of `gains`; or of `window_gains`, for the totals of so many periods."""
        return math.sqrt(float((self.window_gains(window) if window else self.gains).mean()))

    def laplace(self, window: int = 0) -> float:
        """The rms error of the totals times epsilon, for units of one row and Laplace noise.

        It is the error of a density of this scale; whole numbers have a little less.
        """
        return math.sqrt(2) * self.l1 * self.rms(window)

    def gaussian(self, window: int = 0) -> float:
        """The rms error of the totals times the root of 2 rho, for units of one row and Gaussian noise."""
        return math.sqrt(self.l2_squared) * self.rms(window)
