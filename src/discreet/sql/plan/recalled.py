"""The noise of a table that is made of integers released before: the law of each of its integers.

An integer is the mean of several independent estimates of it, each with a sum of Laplace variables as its noise,
weighted by the inverse of their variances. No unbiased weighted mean of them has less variance (Gauss and Markov).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import effective, half_width
from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Law: TypeAlias = tuple[tuple[float, int], ...]
"""Of the noise of an estimate: independent Laplace variables are added up, so many of each scale."""


@dataclass(frozen=True)
class Recalled:
    """How the measures of a table are made of integers that were released.

    Attributes:
        laws: of each measure: for each estimate the law of its noise. Where groups have different ones, such as sums of
            different numbers of cells, that of the largest: the intervals hold all the more.
    """

    laws: tuple[tuple[Law, ...], ...]

    plain = False
    """No table of this kind has the noise of a single release."""

    @cached_property
    def weights(self) -> tuple[Floats, ...]:
        """Of each estimate, by measure; they add up to one."""
        return tuple(_weights(law) for law in self.laws)

    @cached_property
    def variances(self) -> Floats:
        """Of an integer of each measure: float64 array (measures,)."""
        return np.array([variance(law) for law in self.laws])

    @cached_property
    def _fourths(self) -> Floats:
        """The sum of the fourth powers of the weighted scales, by measure."""
        found = [counts * scales**4 for scales, counts in map(self.law, range(len(self.laws)))]
        return np.array([float(powers.sum()) for powers in found])

    def law(self, measure: int) -> tuple[Floats, Floats]:
        """The weighted scales of the noise of an integer, and how many variables have each."""
        each = zip(self.laws[measure], self.weights[measure], strict=True)
        pairs = [(scale * weight, count) for law, weight in each for scale, count in law]
        return np.array([scale for scale, _ in pairs]), np.array([float(count) for _, count in pairs])

    @property
    def drawn_cells(self) -> int:
        """How many more cells are drawn where it is drawn again."""
        return 0

    def half_width(self, weights: Floats, measure: int, confidence: float) -> float:
        """The half-width of a weighted sum of the integers of one measure in a cell: float64 array (integers,)."""
        used = np.abs(weights[weights != 0])
        scales, counts = self.law(measure)
        if len(used) == 1 and counts.tolist() == [1.0]:
            # One discrete Laplace variable, as in a release by itself.
            from discreet.mechanisms.numeric.laplace import float_half_width

            return float(used[0]) * float_half_width(float(scales[0]), 1 - confidence)
        each = np.abs(np.outer(weights, scales)).reshape(-1)
        return half_width(each, confidence, np.tile(counts.astype(np.int64), len(weights)))

    def half_widths(self, weights: Floats, measures: NDArray[np.intp], confidence: float) -> Floats:
        """The half-widths of many weighted sums of the integers of a cell, as `Estimated.half_widths` has them."""
        top = np.abs(weights)
        largest = np.maximum(top.max(axis=-1), 1e-300)
        top = top / largest[..., np.newaxis]
        squares = np.sum(top**2 * self.variances[measures] / 2, axis=-1)
        fourth = np.sum(top**4 * self._fourths[measures], axis=-1)
        number = squares**2 / np.maximum(fourth, 1e-300)
        return np.asarray(largest * np.sqrt(2 * squares) * effective(np.maximum(number, 1), confidence))

    def sample_noise(self, measure: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Noise of single cells, drawn anew; different cells are sums of different ones.

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        out = np.zeros(shape)
        for scale, count in zip(*self.law(measure), strict=True):
            out += scale * (generator.gamma(count, size=shape) - generator.gamma(count, size=shape))
        return out


def variance(laws: Sequence[Law]) -> float:
    """Of the mean of some estimates."""
    return 1 / sum(1 / _variance(law) for law in laws)


def scaled(law: Law, factor: float) -> Law:
    """The law of so many times the noise."""
    return tuple((scale * factor, count) for scale, count in law)


def _variance(law: Law) -> float:
    return max(sum(2 * scale * scale * count for scale, count in law), 1e-300)


def _weights(laws: Sequence[Law]) -> Floats:
    found = np.array([1 / _variance(law) for law in laws])
    return np.asarray(found / found.sum())
