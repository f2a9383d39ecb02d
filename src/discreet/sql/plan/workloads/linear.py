"""The noise of tables whose integers are linear estimates from weighted sums: intervals and draws of it.

Each integer is a weighted sum of the noise of all nodes of a matrix (`planning.ranges.factors`). All integers of a
table have the interval of the one with the most noise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import effective

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FINE_BITS = 12
"""Estimates are rounded to 2^-12 of the noise, of which thousands may be added up."""
MOST_BITS = 24
"""So that 2^53 steps, which a double holds, are half a billion rows."""
SINGLE = 24
"""How many of the variables that an estimate is made of are drawn by themselves; all others are like a normal one."""


class LinearLaw:
    """The law of the integers of a table.

    Attributes:
        scales: of the noise on each measure, if all of epsilon went into the single values; of Gaussian noise that of
            Laplace noise of the same variance.
        gaussian: whether it is Gaussian noise.
    """

    scales: tuple[Fraction, ...]
    gaussian: bool = False
    plain = False
    """No table of this kind has the noise of a single release."""

    @property
    def variance(self) -> float:
        """The mean variance of an integer of the table, for noise of scale 1 at the whole epsilon."""
        raise NotImplementedError

    @cached_property
    def heaviest(self) -> Floats:
        """The weights of the noise of the nodes in the integer with the most noise: float64 (nodes,)."""
        raise NotImplementedError

    @cached_property
    def _worst(self) -> tuple[float, float]:
        """The sums of the squares and of the fourth powers of these."""
        return float(np.sum(self.heaviest**2)), float(np.sum(self.heaviest**4))

    def half_width(self, weights: Floats, measure: int, confidence: float) -> float:
        """The half-width of a weighted sum of the integers of one measure in a group: float64 array (integers,)."""
        return float(self.half_widths(weights, np.full(len(weights), measure), confidence))

    def half_widths(self, weights: Floats, measures: NDArray[np.intp], confidence: float) -> Floats:
        """The half-widths of many weighted sums of the integers of a group, as `Estimated.half_widths` has them."""
        own, fourths = self._worst
        top = np.abs(weights * np.array([float(scale) for scale in self.scales])[measures])
        largest = np.maximum(top.max(axis=-1), 1e-300)
        top = top / largest[..., np.newaxis]
        squares = np.sum(top**2, axis=-1) * own
        if self.gaussian:
            return np.asarray(largest * np.sqrt(2 * squares) * NormalDist().inv_cdf((1 + confidence) / 2))
        number = squares**2 / np.maximum(np.sum(top**4, axis=-1) * fourths, 1e-300)
        return np.asarray(largest * np.sqrt(2 * squares) * effective(np.maximum(number, 1), confidence))

    def sample_noise(self, measure: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Noise of single groups, drawn anew, each as of the group with the most.

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        if self.gaussian:
            spread = np.sqrt(2 * np.sum(self.heaviest**2))
            return generator.normal(0.0, spread * float(self.scales[measure]), shape)
        scales = np.sort(np.abs(self.heaviest))[::-1]
        out = generator.normal(0.0, np.sqrt(2 * np.sum(scales[SINGLE:] ** 2)), shape)
        for scale in scales[:SINGLE]:
            out += generator.laplace(0.0, scale, shape)
        return out * float(self.scales[measure])

    def noise(self, generator: np.random.Generator, measure: int, shape: tuple[int, ...]) -> Floats:
        """Noise of the nodes, drawn anew; this simulates, too."""
        scale = float(self.scales[measure])
        if self.gaussian:
            return generator.normal(0.0, np.sqrt(2) * scale, shape)
        return generator.laplace(0.0, scale, shape)

    def bits(self, measure: int) -> int:
        """The integers of a measure are estimated to so many binary places."""
        scale = self.scales[measure]
        magnitude = scale.numerator.bit_length() - scale.denominator.bit_length()
        return max(0, min(MOST_BITS, FINE_BITS - magnitude))
