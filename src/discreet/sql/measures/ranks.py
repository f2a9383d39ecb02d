"""A few quantiles of a bounded expression, chosen by rank among the leaves of a fine grid, each with its interval.

The range is cut into up to 2^30 leaves, as wide as a power of two; an integer with a smaller range has a leaf for each
value. The engine counts the rows of each leaf that holds one, and `mechanisms.ranks.quantiles_with_ends` draws
three leaves for each quantile: the number, and the ends of its interval. These are the integers of the measure. Where
no intervals are wanted it draws the number alone; the interval is then the whole range, which is all that is known.

MIN and MAX are the 1 % and the 99 % quantile, as in `quantile_tree`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.records import dataclass
from discreet.sql.expressions.expression import Expression
from discreet.sql.measures.leaf_counts import LeafCounts
from discreet.sql.measures.measure import ValueGrid
from discreet.sql.measures.quantile_tree import quantile_of
from discreet.sql.measures.tree_leaves import leaf_grid, roundest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.events import Neighbours
    from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

TINY = Fraction(1, 1 << 40)
"""The least scale of invented entries: where there is no noise at all, epsilon would be infinite."""


@dataclass(frozen=True, slots=True)
class Ranks(LeafCounts):
    """Leaves chosen by rank.

    Attributes:
        argument: the expression.
        quantiles: which are chosen.
        grid: the leaves: `levels` of them, as wide as `step`, the first one beginning at `lo`.
        part: the number of the part of the release whose rows are counted.
        ends: whether each has an interval.
    """

    argument: Expression
    quantiles: tuple[Fraction, ...]
    grid: ValueGrid
    part: int = 0
    ends: bool = True

    row_sensitivity = 1
    """By how much one row moves the counts of its group: it counts in one leaf."""
    replacing_sensitivity = 2
    """By how much one row in the place of another moves them: one leaf has one less, another one more."""

    @property
    def entries(self) -> int:
        """The number of integers per group."""
        return self.each * len(self.quantiles)

    @property
    def each(self) -> int:
        """The number of integers of a quantile."""
        from discreet.mechanisms.ranks.quantiles_with_ends import EACH

        return EACH if self.ends else 1

    @property
    def name(self) -> str:
        """The name of the measure, for people."""
        many = len(self.quantiles)
        said = f"{many} quantile{'s' * (many > 1)} chosen by rank among {self.grid.levels:,} leaves, "
        if not self.ends:
            return f"{said}without {'an interval' if many == 1 else 'intervals'}"
        return f"{said}with the ends of {'its' if many == 1 else 'their'} interval{'s' * (many > 1)}"

    def mechanism(
        self, epsilon: Fraction, rows: int, neighbours: Neighbours, groups: int
    ) -> QuantilesWithEnds:
        """The mechanism that chooses the leaves."""
        from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
        from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds

        measure = LeafMeasure.over(self.grid.levels, Fraction(self.grid.lo), self.grid.step)
        return QuantilesWithEnds(epsilon, self.quantiles, measure, rows, neighbours, groups, self.ends)

    def from_leaves(self, cells: int, cell: Integers, leaf: Integers, count: Integers) -> Integers:
        """The rows of each group by the remainder of their leaf: a sketch of the counts, to compare them by.

        A row adds 1 to one integer of its group.

        Args:
            cells: how many groups there are.
            cell: int64 array (n,), the group of each count.
            leaf: int64 array (n,), its leaf.
            count: int64 array (n,).

        Returns:
            int64 array (cells, entries).
        """
        out = np.zeros((cells, self.entries), np.int64)
        np.add.at(out, (cell, leaf % self.entries), count)
        return out

    def invented(self, rows: int, scale: float) -> Integers:
        """The entries of a group whose values are spread evenly over the range: int64 array (entries,).

        Args:
            rows: of the group.
            scale: rows of a unit over epsilon.
        """
        from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
        from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds

        made = QuantilesWithEnds(
            Fraction(1) / max(Fraction(scale), TINY),
            self.quantiles,
            LeafMeasure.over(self.grid.levels),
            ends=self.ends,
        )
        out = []
        for q in self.quantiles:
            margin = made.half_widths()[q] / max(1, rows) if self.ends else 0.0
            last = self.grid.levels - 1
            places = (float(q), float(q) - margin, float(q) + margin)[: self.each]
            lowest = (0, -1, 0)
            out += [
                min(max(math.floor(place * self.grid.levels), low), last + (index == 2))
                for index, (place, low) in enumerate(zip(places, lowest, strict=False))
            ]
        return np.array(out, np.int64)

    def relative_variance(self, quantity: str) -> float:
        """The variance of the rank at sensitivity over epsilon 1, in rows squared, four times as for a tree."""
        from discreet.mechanisms.ranks.quantile import share

        return 4 * rank_variances(self.quantiles, self.ends)[share(quantile_of(quantity))]

    def estimate(self, quantity: str, noisy: Floats) -> Floats:
        """The value of a quantile: the roundest of its leaf.

        Args:
            quantity: `min`, `max` or `quantile q`.
            noisy: float64 array (..., entries).

        Returns:
            float64 array (...).
        """
        return self._value(np.clip(noisy[..., self._place(quantity)], 0, self.grid.levels - 1))

    def interval(self, quantity: str, noisy: Floats, confidence: float) -> tuple[Floats, Floats]:
        """The interval of a quantile: from the leaf of its lower end to that of its upper one.

        At another confidence than `LEVEL` it is as much wider or narrower as errors with exponential tails are. A bound
        of the range stays.

        Args:
            quantity: as above.
            noisy: float64 array (n, entries).
            confidence: strictly between 0 and 1.
        """
        from discreet.mechanisms.ranks.quantiles_with_ends import stretch

        value, low, high = self._ends(quantity, noisy)
        times = stretch(confidence) if self.ends else 1.0
        return self._stretched(value, low, times, 0), self._stretched(value, high, times, 1)

    def again(self, quantity: str, noisy: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draw where a quantile may lie, from the distribution whose central parts are its intervals.

        This simulates; it protects nothing, so NumPy's generator will do.

        Returns:
            float64 array (draws, n).
        """
        from discreet.mechanisms.ranks.quantiles_with_ends import LEVEL, farther

        value, low, high = self._ends(quantity, noisy)
        if not self.ends:  # anywhere: as far as the bounds
            return np.where(rng.random((draws, len(value))) < 0.5, low, high)
        sure = np.minimum(rng.random((draws, len(value))), 1 - 1e-9)
        rarer = (1 - LEVEL) / (1 - sure)
        far = np.where(rarer > 1, farther(rarer), 1 - np.log(rarer) / math.log(1 - LEVEL))
        upper = rng.random((draws, len(value))) < 0.5
        place = np.where(upper, value + far * (high - value), value - far * (value - low))
        return np.asarray(np.clip(place, self.grid.lo, self.grid.hi))

    def _place(self, quantity: str) -> int:
        from discreet.mechanisms.ranks.quantile import share

        return self.each * self.quantiles.index(share(quantile_of(quantity)))

    def _ends(self, quantity: str, noisy: Floats) -> tuple[Floats, Floats, Floats]:
        """The value and both ends; the range ends where a bound was drawn."""
        place, step = self._place(quantity), float(self.grid.step)
        value = self.estimate(quantity, noisy)
        if not self.ends:
            return value, np.full(len(value), float(self.grid.lo)), np.full(len(value), float(self.grid.hi))
        low = self.grid.lo + step * noisy[:, place + 1]
        high = self.grid.lo + step * noisy[:, place + 2] + (step - 1 if self.whole else step)
        low = np.where(noisy[:, place + 1] < 0, self.grid.lo, low)
        high = np.where(noisy[:, place + 2] >= self.grid.levels, self.grid.hi, high)
        # Drawn ends lie beside the number; invented leaves may not.
        leaf = self.grid.lo + step * noisy[:, place]
        low = np.clip(np.minimum(low, leaf), self.grid.lo, self.grid.hi)
        high = np.clip(
            np.maximum(high, leaf + (step - 1 if self.whole else step)), self.grid.lo, self.grid.hi
        )
        return value, np.minimum(low, value), np.maximum(high, value)

    def _stretched(self, value: Floats, end: Floats, times: float, upper: int) -> Floats:
        bound = self.grid.hi if upper else self.grid.lo
        moved = np.clip(value + times * (end - value), self.grid.lo, self.grid.hi)
        return np.where(end == bound, end, np.floor(moved + upper * (1 - 2**-20)) if self.whole else moved)

    def _value(self, leaf: Floats) -> Floats:
        start, step = self.grid.lo + float(self.grid.step) * leaf, float(self.grid.step)
        if self.whole:
            return np.clip(start + (step - 1) / 2, self.grid.lo, self.grid.hi)
        value = roundest(start, step, whole=False)
        return np.clip(value, self.grid.lo, self.grid.hi)


def rank_variances(quantiles: Sequence[Fraction], ends: bool) -> dict[Fraction, float]:
    """The variance of the rank of each of some quantiles where values lie densely, at sensitivity over epsilon 1."""
    from discreet.mechanisms.ranks.quantile_order import deviations
    from discreet.mechanisms.ranks.quantiles_with_ends import ERROR

    times = ERROR if ends else 1.0
    return {q: (times * off) ** 2 for q, off in deviations(tuple(quantiles), ends).items()}


def ranks_for(
    argument: Expression, quantiles: Sequence[Fraction], part: int = 0, *, ends: bool = True
) -> Ranks:
    """The measure of some quantiles of a bounded numeric expression, with intervals or without."""
    from discreet.mechanisms.ranks.leaf_measure import MOST_LEAVES

    return Ranks(argument, tuple(quantiles), leaf_grid(argument, MOST_LEAVES), part, ends)
