"""The noise of a table that is estimated from noisy marginals of the same rows: the law of each of its integers.

An integer of a cell errs by a sum of independent Laplace variables, one for each cell of each marginal. Few of their
scales differ (`planning.marginals.MeasuredMarginals.weights`), so the law is a short list of scales and how many have
each.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import effective, half_width
from discreet.planning.marginals import Keys, cells
from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.planning.marginal_shares import MarginalStrategy

    Floats = NDArray[np.float64]
    Array = TypeVar("Array", NDArray[np.float64], NDArray[np.int64])

FINE_BITS = 10
"""Estimates are rounded to 2^-10 of the noise, and finer where many of them are added up."""
MOST_BITS = 24
"""So that 2^53 steps, which a double holds, are half a billion rows."""


@dataclass(frozen=True)
class Estimated:
    """How a table is estimated.

    Attributes:
        strategy: which marginals are measured.
        axes: the keys of the table, in its own order.
        scales: of the noise on each measure, if one marginal had the whole epsilon.
        more: the keys whose last value is not shown.
    """

    strategy: MarginalStrategy
    axes: Keys
    scales: tuple[Fraction, ...]
    more: Keys = ()

    @cached_property
    def keys(self) -> Keys:
        """Its keys in the order of the workload."""
        return tuple(sorted(self.axes))

    def shown(self, table: Array) -> Array:
        """The cells that are shown, in the order of the table, of an array (…, n_1, …, n_k, integers) of its keys."""
        first = table.ndim - 1 - len(self.keys)
        turned = table.transpose(
            *range(first), *(first + self.keys.index(key) for key in self.axes), table.ndim - 1
        )
        return turned[(..., *(slice(-1 if key in self.more else None) for key in self.axes), slice(None))]

    @cached_property
    def law(self) -> tuple[Floats, Floats]:
        """The scales of the noise of a cell, for a scale of 1 at the whole epsilon, and how many there are of each."""
        scales, counts = [], []
        measured = self.strategy.measured
        for keys, share in self.strategy.shares:
            own, times = measured.weights(self.keys, keys)
            scales += [abs(weight) / float(share) for weight in own]
            counts += times
        found = np.array(scales, np.float64), np.array(counts, np.float64)
        there = found[0] > 1e-12 * found[0].max()
        return found[0][there], found[1][there]

    @property
    def plain(self) -> bool:
        """Whether it is itself the one marginal that is measured."""
        return [keys for keys, _ in self.strategy.shares] == [self.keys]

    @cached_property
    def variance(self) -> float:
        """Of an integer of the table, for noise of scale 1 at the whole epsilon."""
        scales, counts = self.law
        return float(2 * np.sum(counts * scales**2))

    def half_width(self, weights: Floats, measure: int, confidence: float) -> float:
        """The half-width of a weighted sum of the integers of one measure in a cell: float64 array (integers,)."""
        scales, counts = self.law
        each = np.abs(np.outer(weights, scales)).reshape(-1) * float(self.scales[measure])
        return half_width(each, confidence, np.tile(counts.astype(np.int64), len(weights)))

    def half_widths(self, weights: Floats, measures: NDArray[np.intp], confidence: float) -> Floats:
        """The half-widths of many weighted sums of the integers of a cell.

        As wide as a sum of equal Laplace variables of the same variance and kurtosis (`laplace_sum.weighted`), which is
        right to 3 %.

        Args:
            weights: float64 array (..., integers).
            measures: the measure of each integer.
            confidence: strictly between 0 and 1.
        """
        scales, counts = self.law
        unit = np.array([float(scale) for scale in self.scales])[measures]
        top = np.abs(weights * unit)
        largest = np.maximum(top.max(axis=-1), 1e-300)
        top = top / largest[..., np.newaxis]
        squares = np.sum(top**2, axis=-1) * np.sum(counts * scales**2)
        fourth = np.sum(top**4, axis=-1) * np.sum(counts * scales**4)
        number = squares**2 / np.maximum(fourth, 1e-300)
        return np.asarray(largest * np.sqrt(2 * squares) * effective(np.maximum(number, 1), confidence))

    @property
    def drawn_cells(self) -> int:
        """How many more cells are drawn where all tables of the workload are drawn again."""
        return self.strategy.cells

    def sample_noise(self, measure: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Noise of single cells, drawn anew: n equal Laplace variables are the difference of two gamma ones.

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        out = np.zeros(shape)
        for scale, count in zip(*self.law, strict=True):
            out += scale * (generator.gamma(count, size=shape) - generator.gamma(count, size=shape))
        return out * float(self.scales[measure])

    def bits(self, measure: int) -> int:
        """The integers of a measure are estimated to so many binary places."""
        if len(self.strategy.shares) == 1:
            return 0  # sums of integers
        many = math.ceil(math.log2(cells(self.strategy.sizes, tuple(range(len(self.strategy.sizes))))) / 2)
        return max(0, min(MOST_BITS, FINE_BITS + many - math.floor(math.log2(self.scales[measure]))))
