"""Sums of ordered values that are measured together: each value, and smooth windows of several widths.

**Matrix.** Level l has windows in the form of a hat, m_l values apart: the window around c has the weight
w_l (1 - |j - c|/m_l) at the value j within m_l of it, so that neighbouring hats add up to w_l at each value. The value
itself has the rest of the weight, S less the hats that it is in, which is 1 or more. So each column of the matrix B of
non-negative integers adds up to S exactly. The last hat is left out where sums reach from the first value on: there a
value counts in few of them, and is measured all the better itself (`fade`).

**Privacy.** Let one neighbour step move the values x by at most d in L1. It moves Bx by at most S d, as B has the L1
norm S: Laplace noise of scale S d/epsilon on each integer of Bx is epsilon-DP. The estimate is post-processing.

**Estimate.** With y = Bx + noise of equal variance, the values are (B'B)^-1 B'y (least squares), and every sum is the
sum of these values: running totals and single values agree exactly. With D the weights of the values themselves and C
the hats, B'B = D^2 + C'C, whose inverse needs one inverse of the size of the number of hats (Woodbury):

    (B'B)^-1 = D^-2 - D^-2 C' K C D^-2,   K = (1 + C D^-2 C')^-1.

**Source.** The form [D; C] with columns of norm one is that of the strategies that HDMM searches (McKenna, Miklau, Hay
and Machanavajjhala 2018, p-identity). Its search over all entries ends in overlapping windows like these: for the
running total of 365 days it reaches 7.9, hats 8.2, the best levels of disjoint blocks 8.9, single days 19.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.planning.ranges.families import RangeFamily, counted, number, sums
from discreet.planning.saturating import saturated
from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

WHOLE_WEIGHT = 128
"""S: the weights of a value add up to so many units."""
BLOCK = 512
"""How many values have their weights worked out at a time."""


class Weighted:
    """A matrix B of non-negative integers whose columns have one sum: each value, and weighted sums beside them.

    Attributes:
        size: how many values there are.
    """

    size: int

    @property
    def units(self) -> int:
        """S."""
        return WHOLE_WEIGHT

    @cached_property
    def hats(self) -> Integers:
        """C."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        """How many integers are measured: the values, then the hats."""
        return self.size + len(self.hats)

    @cached_property
    def own(self) -> Integers:
        """D, in units: int64 array (size,)."""
        return np.asarray(self.units - self.hats.sum(axis=0))

    def measured(self, values: Integers) -> Integers:
        """Bx, which saturates at +-2^62: int64 (…, size) -> (…, nodes)."""
        return saturated(values, lambda part: _weighted(part, self))

    @cached_property
    def length(self) -> int:
        """The square of the length of the longest column."""
        return int((self.own**2 + (self.hats**2).sum(axis=0)).max())

    @property
    def norm(self) -> int:
        """The largest sum of the entries of a column."""
        return self.units

    @property
    def known_as(self) -> object:
        """A name that no other matrix has."""
        return self

    @cached_property
    def solved(self) -> tuple[Floats, Floats, Floats]:
        """D^-2 and C as shares of the whole, and K."""
        inverse = (self.units / self.own) ** 2
        hats = self.hats / self.units
        return (
            inverse,
            hats,
            np.asarray(np.linalg.inv(np.eye(len(hats)) + (hats * inverse) @ hats.T), np.float64),
        )

    def estimate(self, noisy: Floats) -> Floats:
        """The values of least squares from noisy integers in units: float64 (…, nodes) -> (…, size)."""
        inverse, hats, kernel = self.solved
        own, more = noisy[..., : self.size] / self.units, noisy[..., self.size :] / self.units
        once = (own * (self.own / self.units) + more @ hats) * inverse
        return np.asarray(once - (((once @ hats.T) @ kernel) @ hats) * inverse)

    def variance(self, family: RangeFamily, every: int = 1) -> float:
        """The mean variance of the sums of a family, for noise of scale one at the whole epsilon.

        Args:
            family: the sums.
            every: whether each of them is looked at, or each second one, and so on.
        """
        inverse, hats, kernel = self.solved
        parts = sums((hats * inverse).T, family, every)
        total = counted(family, self.size, every) @ inverse - np.sum(kernel * (parts.T @ parts))
        return 2 * float(total) / max(1, number(family, self.size, every))

    def of_sums(self, wanted: Floats) -> Floats:
        """The variance of some sums of values, for noise of scale one at the whole epsilon: float64 (sums,)."""
        inverse, hats, kernel = self.solved
        parts = (wanted * inverse) @ hats.T
        return np.asarray(2 * (wanted**2 @ inverse - np.sum((parts @ kernel) * parts, axis=1)))

    @cached_property
    def law(self) -> tuple[Floats, Floats]:
        """Of each value the sums of the squares and of the fourth powers of the weights of its estimate."""
        squares, fourths = np.empty(self.size), np.empty(self.size)
        for start in range(0, self.size, BLOCK):
            part = slice(start, start + BLOCK)
            weights = self.weights(np.arange(self.size)[part])
            squares[part], fourths[part] = (weights**2).sum(axis=1), (weights**4).sum(axis=1)
        return squares, fourths

    def weights(self, values: Integers) -> Floats:
        """By how much the noise of each node enters the estimates of some values: float64 (values, nodes)."""
        wanted = np.zeros((len(values), self.size))
        wanted[np.arange(len(values)), values] = 1
        return self.weights_of(wanted)

    def weights_of(self, wanted: Floats) -> Floats:
        """The same for weighted sums of the values, float64 (sums, values): float64 (sums, nodes)."""
        inverse, hats, kernel = self.solved
        unit = wanted * inverse
        rows = unit - ((unit @ hats.T) @ kernel @ hats) * inverse
        return np.concatenate([rows * (self.own / self.units), rows @ hats.T], axis=1)


@dataclass(frozen=True)
class Factors(Weighted):
    """A matrix B with its estimates and their errors.

    Attributes:
        size: how many values there are.
        levels: of each level how far its hats are apart, and its weight in units.
        fade: the end where the last hats are left out: 1 the last values, -1 the first, 0 none.
    """

    size: int
    levels: tuple[tuple[int, int], ...]
    fade: int = 0

    @cached_property
    def hats(self) -> Integers:
        """C, in units: int64 array (hats, size)."""
        levels = [self._level(apart, weight) for apart, weight in self.levels]
        found = np.concatenate([np.zeros((0, self.size), np.int64), *levels])
        found = found[found.any(axis=1)]
        return found[:, ::-1] if self.fade < 0 else found

    def _level(self, apart: int, weight: int) -> Integers:
        """The hats of one level; before the first centre its own has the whole weight."""
        place = 2 * np.arange(self.size) + 1 - apart  # twice the distance to the first centre
        rows = math.ceil(max(0, int(place[-1])) / (2 * apart)) + (0 if self.fade else 1)
        away = np.abs(place - 2 * apart * np.arange(max(1, rows))[:, np.newaxis])
        hats = weight * np.maximum(0, 2 * apart - away) // (2 * apart)
        hats[0, place < 0] = weight
        return np.asarray(hats, np.int64)


def _weighted(values: Integers, factors: Weighted) -> Integers:
    return np.concatenate([values * factors.own, values @ factors.hats.T], axis=-1)


def single(size: int) -> Factors:
    """The values by themselves.

    Example:
        >>> from discreet.planning.ranges.families import EACH, RUNNING
        >>> single(3).variance(EACH), single(3).variance(RUNNING)
        (2.0, 4.0)
    """
    return Factors(size, ())


def error(factors: Factors, families: Sequence[RangeFamily], every: int = 1) -> float:
    """The geometric mean of the standard deviations of some families of sums."""
    logs = [math.log(max(factors.variance(family, every), 1e-300)) for family in families]
    return math.exp(sum(logs) / len(logs) / 2)
