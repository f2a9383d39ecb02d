"""The noise of a table whose ordered groups are estimated from noisy sums over windows of them: its law.

Each combination of the other keys is a series of its own, measured by the same matrix (`planning.ranges.factors`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.planning.ranges.factors import Weighted
from discreet.planning.ranges.families import EACH, RangeFamily
from discreet.records import dataclass
from discreet.sql.plan.workloads.linear import LinearLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SeriesLaw(LinearLaw):
    """How a table is estimated.

    Attributes:
        factors: the sums that are measured of each series.
        families: the sums for which it was chosen.
        sizes: how many values each axis of its keys has, in its own order.
        axis: which of these is ordered.
        order: the places of the values of that axis, least first.
        scales: of the noise on each measure, if all of epsilon went into the single groups, as `LinearLaw` has them.
        gaussian: whether it is Gaussian noise.
    """

    factors: Weighted
    families: tuple[RangeFamily, ...]
    sizes: tuple[int, ...]
    axis: int
    order: tuple[int, ...]
    scales: tuple[Fraction, ...]
    gaussian: bool = False

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
    def heaviest(self) -> Floats:
        """The weights of the group with the most noise: groups at the ends of a window have a tenth or so more."""
        worst = np.array([int(np.argmax(self.factors.law[0]))])
        return np.asarray(self.factors.weights(worst)[0])

    @property
    def variance(self) -> float:
        """The mean variance of an integer of the table, for noise of scale 1 at the whole epsilon."""
        return self.factors.variance(EACH)

    @property
    def drawn_cells(self) -> int:
        """How many more numbers are drawn where the table is drawn again."""
        return self.factors.nodes * int(np.prod(self.others, dtype=np.int64))

    def again(self, measure: int, entries: int, draws: int, seed: int) -> Floats:
        """Noise of the whole table, drawn anew: float64 array (draws, groups, entries).

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        generator = np.random.default_rng([seed, measure])
        noise = self.noise(generator, measure, (draws, *self.others, entries, self.factors.nodes))
        return self.as_groups(self.factors.estimate(noise * self.factors.units))
