"""The noise of a table whose ordered groups are estimated from noisy sums over windows of them: its law.

Each combination of the other keys is a series of its own, measured by the same matrix (`planning.ranges.factors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import effective
from discreet.planning.ranges.factors import UNITS, Factors
from discreet.planning.ranges.families import EACH, Family

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FINE_BITS = 12
"""Estimates are rounded to 2^-12 of the noise, of which thousands may be added up."""
MOST_BITS = 24
"""So that 2^53 steps, which a double holds, are half a billion rows."""
SINGLE = 24
"""How many of the variables that an estimate is made of are drawn by themselves; all others are like a normal one."""


@dataclass(frozen=True)
class Ranged:
    """How a table is estimated.

    Attributes:
        factors: the sums that are measured of each series.
        families: the sums for which it was chosen.
        sizes: how many values each axis of its keys has, in its own order.
        axis: which of these is ordered.
        order: the places of the values of that axis, least first.
        scales: of the noise on each measure, if all of epsilon went into the single groups.
    """

    factors: Factors
    families: tuple[Family, ...]
    sizes: tuple[int, ...]
    axis: int
    order: tuple[int, ...]
    scales: tuple[Fraction, ...]

    plain = False
    """No table of this kind has the noise of a single release."""

    @property
    def others(self) -> tuple[int, ...]:
        """How many values the other axes have."""
        return tuple(size for axis, size in enumerate(self.sizes) if axis != self.axis)

    def in_order(self, table: Integers) -> Integers:
        """The series of a table, least value first: (groups, integers) -> (*others, integers, values)."""
        own = table.reshape(*self.sizes, -1)
        return np.moveaxis(own, self.axis, -1)[..., list(self.order)]

    def as_groups(self, series: NDArray[Any]) -> NDArray[Any]:
        """The reverse: (…, *others, integers, values) -> (…, groups, integers)."""
        back = np.empty_like(series)
        back[..., list(self.order)] = series
        lead = series.ndim - 1 - len(self.sizes)
        moved = np.moveaxis(back, -1, lead + self.axis)
        return moved.reshape(*series.shape[:lead], -1, series.shape[-2])

    @cached_property
    def _worst(self) -> tuple[float, float]:
        """The sums of the squares and of the fourth powers of the weights of the group with the most noise.

        Groups at the ends of a window have more noise than others, by a tenth or so; all have the interval of these.
        """
        squares, fourths = self.factors.law
        worst = int(np.argmax(squares))
        return float(squares[worst]), float(fourths[worst])

    @property
    def variance(self) -> float:
        """The mean variance of an integer of the table, for noise of scale 1 at the whole epsilon."""
        return self.factors.variance(EACH)

    @property
    def drawn_cells(self) -> int:
        """How many more numbers are drawn where the table is drawn again."""
        return self.factors.nodes * int(np.prod(self.others, dtype=np.int64))

    def half_width(self, weights: Floats, measure: int, confidence: float) -> float:
        """The half-width of a weighted sum of the integers of one measure in a group: float64 array (integers,)."""
        return float(self.half_widths(weights, np.full(len(weights), measure), confidence))

    def half_widths(self, weights: Floats, measures: NDArray[np.intp], confidence: float) -> Floats:
        """The half-widths of many weighted sums of the integers of a group, as `Estimated.half_widths` has them."""
        own, fourths = self._worst
        top = np.abs(weights * np.array([float(one) for one in self.scales])[measures])
        largest = np.maximum(top.max(axis=-1), 1e-300)
        top = top / largest[..., np.newaxis]
        squares = np.sum(top**2, axis=-1) * own
        number = squares**2 / np.maximum(np.sum(top**4, axis=-1) * fourths, 1e-300)
        return np.asarray(largest * np.sqrt(2 * squares) * effective(np.maximum(number, 1), confidence))

    def drawn(self, measure: int, shape: tuple[int, ...]) -> Floats:
        """Noise of single groups, drawn anew, each as of the group with the most.

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        generator = np.random.default_rng()
        worst = np.array([int(np.argmax(self.factors.law[0]))])
        scales = np.sort(np.abs(self.factors.weights(worst)[0]))[::-1]
        out = generator.normal(0.0, np.sqrt(2 * np.sum(scales[SINGLE:] ** 2)), shape)
        for scale in scales[:SINGLE]:
            out += generator.laplace(0.0, scale, shape)
        return out * float(self.scales[measure])

    def again(self, measure: int, entries: int, draws: int, seed: int) -> Floats:
        """Noise of the whole table, drawn anew: float64 array (draws, groups, entries).

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        generator = np.random.default_rng([seed, measure])
        noise = generator.laplace(
            0.0, float(self.scales[measure]), (draws, *self.others, entries, self.factors.nodes)
        )
        return self.as_groups(self.factors.estimate(noise * UNITS))

    def bits(self, measure: int) -> int:
        """The integers of a measure are estimated to so many binary places."""
        scale = self.scales[measure]
        magnitude = scale.numerator.bit_length() - scale.denominator.bit_length()
        return max(0, min(MOST_BITS, FINE_BITS - magnitude))
