"""Quantiles, MIN and MAX of a bounded expression, from a tree of noisy counts over its range.

The range is cut into at most 4,096 pieces, the leaves, as wide as a power of two; where an integer has a smaller range
the leaves are the integers themselves. Above them stand d levels of nodes (`count_tree`). A row whose value is not
NULL adds 1 to one node on each level, the one that its value lies in, so one row moves all entries together by
exactly d in L1, and a unit with max_rows rows by max_rows * d. The tree is one Laplace release with that sensitivity,
and every quantile of the expression is read off the same tree (Hay, Rastogi, Miklau and Suciu 2010).

The q-quantile lies where S_j = (1 - q) (rows below boundary j) - q (rows above) changes its sign. MIN and MAX are the
1 % and the 99 % quantile: a single row decides the true ones, so no private answer can be near them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import QueryRefused
from discreet.mechanisms.laplace_sum import half_width
from discreet.records import dataclass
from discreet.sql.expressions.expression import Expression
from discreet.sql.functions.aggregates import EXTREME
from discreet.sql.measures import count_tree as ct
from discreet.sql.measures.leaf_counts import LeafCounts
from discreet.sql.measures.measure import ValueGrid
from discreet.sql.measures.tree_leaves import leaf_grid, roundest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_LEAVES = 4096
FEWEST_LEAVES = 16
MOST_ENTRIES = 20_000_000
"""The most integers that the trees of all groups of one query may have."""
CALIBRATED, REPEATED = 8, 400
"""On how many groups and how many draws the width of intervals is calibrated."""
HEAP = 3
"""A leaf with so many times the rows of those beside it holds a value that many rows have."""
BLOCK = 2_000_000
"""How many numbers are worked on at a time."""


def quantile_of(quantity: str) -> Fraction:
    """The q of a quantity: `min`, `max`, or `quantile 1/2`."""
    return EXTREME[quantity] if quantity in EXTREME else Fraction(quantity.removeprefix("quantile "))


@dataclass(frozen=True, slots=True)
class QuantileTree(LeafCounts):
    """Counts of the values of an expression, on all nodes of a tree over its range.

    Attributes:
        argument: the expression.
        grid: the leaves: `levels` of them, as wide as `step`, the first one beginning at `lo`.
        shape: of the tree, with room for at least so many leaves.
        part: the number of the part of the release whose rows are counted.
    """

    argument: Expression
    grid: ValueGrid
    shape: ct.TreeShape
    part: int = 0

    @property
    def entries(self) -> int:
        """The number of integers per group: the nodes."""
        return ct.node_count(self.shape)

    @property
    def row_sensitivity(self) -> int:
        """By how much one row moves the integers of its group, in L1: 1 on each level."""
        return len(self.shape)

    @property
    def replacing_sensitivity(self) -> int:
        """By how much one row in the place of another moves them: by 2 on each level where rows can lie apart."""
        apart: int = sum(level.stop - level.start > 1 for level in ct.levels_of(self.shape))
        return max(self.row_sensitivity, 2 * apart)

    @property
    def name(self) -> str:
        """The name of the measure, for people."""
        depth = len(self.shape)
        return f"counts on a tree of {self.grid.levels:,} leaves and {depth} level{'s' * (depth > 1)}"

    def from_leaves(self, cells: int, cell: Integers, leaf: Integers, count: Integers) -> Integers:
        """All nodes of all groups, from the counts of the engine.

        Args:
            cells: how many groups there are.
            cell: int64 array (n,), the group of each count.
            leaf: int64 array (n,), its leaf.
            count: int64 array (n,).

        Returns:
            int64 array (cells, entries).
        """
        leaves = np.zeros((cells, math.prod(self.shape)), dtype=np.int64)
        # The engine has clamped already; a leaf that is none would be an error that the data can cause.
        np.add.at(leaves, (cell, np.clip(leaf, 0, self.grid.levels - 1)), count)
        return np.asarray(ct.nodes(leaves, self.shape), dtype=np.int64)

    def invented(self, rows: int) -> Integers:
        """The entries of a group whose values are spread evenly over the range: int64 array (entries,)."""
        n = self.grid.levels
        below = np.arange(n + 1, dtype=np.int64) * rows // n
        leaves = np.zeros(math.prod(self.shape), dtype=np.int64)
        leaves[:n] = np.diff(below)
        return np.asarray(ct.nodes(leaves, self.shape), dtype=np.int64)

    def relative_variance(self, quantity: str) -> float:
        """Of the noise at sensitivity over epsilon 1, for one row spread evenly, relative to half the range."""
        return 4 * ct.rank_variance(self.shape, float(quantile_of(quantity)))

    def estimate(self, quantity: str, noisy: Floats) -> Floats:
        """Estimate a quantile.

        Args:
            quantity: `min`, `max` or `quantile q`.
            noisy: float64 array (..., entries).

        Returns:
            float64 array (...); NaN where the noisy entries hold no row to speak of.
        """
        flat = noisy.reshape(-1, self.entries)
        if _alike(flat):
            return np.full(noisy.shape[:-1], self.estimate(quantity, flat[0]))
        out = np.empty(len(flat))
        for part, below in self._blocks(flat):
            below = ct.increasing(below)
            out[part] = self._at_heaps(below, self._crossing(below, float(quantile_of(quantity))))
        return out.reshape(noisy.shape[:-1])

    def interval(
        self, quantity: str, noisy: Floats, scale: float, confidence: float
    ) -> tuple[Floats, Floats]:
        """The interval of a quantile, by inverting a test.

        A leaf is left out when S at its lower end is greater than zero, or at its upper end less than zero, by more
        than the half-width of the noise there; the leaf that holds the quantile is, with probability 1 - confidence
        at most. The rest may have holes where there are few rows. The interval is as long as the rest, with
        its ends where they would be if ranks never fell (the rearrangement of Chernozhukov, Fernandez-Val and
        Galichon 2009); where a quantile is so extreme that the rows beyond it drown in noise, it is the hull.

        Args:
            quantity: as above.
            noisy: float64 array (n, entries).
            scale: of the Laplace noise on each entry.
            confidence: strictly between 0 and 1.
        """
        if _alike(noisy):
            ends = self.interval(quantity, noisy[:1], scale, confidence)
            return np.repeat(ends[0], len(noisy)), np.repeat(ends[1], len(noisy))
        q = float(quantile_of(quantity))
        deviation, effective = ct.rank_noise(self.shape, q)
        width = scale * deviation * half_width.effective(effective, confidence)
        factor = self.calibration(q, noisy, scale, width, confidence)
        low, high = np.empty(len(noisy)), np.empty(len(noisy))
        for part, below in self._blocks(noisy):
            low[part], high[part] = self._ends(below, q, width, factor)
        return low, high

    def _ends(self, below: Floats, q: float, width: Floats, factor: float) -> tuple[Floats, Floats]:
        total = below[:, -1]
        ranks = below - q * total[:, None]
        # A rank far from both ends: as many leaves as are held, where they would lie if ranks never fell.
        far = self.far(q, total, width)
        allowed = np.where(far, factor, 1.0)[:, None] * width
        over = ranks[:, :-1] > allowed[:, :-1]
        under = ranks[:, 1:] < -allowed[:, 1:]
        held = ~(over | under)
        first, last = held.argmax(axis=1), held.shape[1] - held[:, ::-1].argmax(axis=1)
        low = np.where(far, under.sum(axis=1), first)
        high = np.where(far, held.shape[1] - over.sum(axis=1), last)
        low, high = np.minimum(low, high), np.maximum(low, high)
        drowned = (total <= 0) | (~held.any(axis=1) & ~far)
        low[drowned], high[drowned] = 0, self.grid.levels
        return self._value(low, 0), self._value(high, 1)

    @staticmethod
    def far(q: float, total: Floats, width: Floats) -> NDArray[np.bool_]:
        """Whether the rows on both sides of a quantile stand out of the noise: bool array (n,)."""
        return np.asarray(min(q, 1 - q) * total > np.mean(width))

    def calibration(self, q: float, noisy: Floats, scale: float, width: Floats, confidence: float) -> float:
        """How much of the half-width of the noise at one boundary the interval needs, between 0.2 and 1.

        Counting boundaries averages their noise, so that with the whole half-width the interval would hold the
        quantile more often than is claimed. The noise is drawn again around some of the groups, with their
        fitted ranks, and the least factor is taken with which the intervals hold as often as they should. The fitted
        rows still have heaps and gaps that the noise made and that seem to need less; around smoothed rows, true heaps
        are gone, too: the greater of both factors is taken.

        Args:
            q: which quantile.
            noisy: float64 array (n, entries).
            scale: of the Laplace noise on each entry.
            width: half-widths at the boundaries, float64 array (L + 1,).
            confidence: strictly between 0 and 1.
        """
        if not len(noisy) or REPEATED * (1 - confidence) < 2:
            return 1.0  # so high a confidence does not show in so few draws: the whole half-width is enough
        picked = noisy[:: max(1, len(noisy) // CALIBRATED)][:CALIBRATED]
        fitted = ct.below(ct.fit(picked, self.shape))
        picked = picked[self.far(q, fitted[:, -1], width)]
        if not len(picked):
            return 1.0
        steps = np.maximum(np.diff(ct.increasing(ct.below(ct.fit(picked, self.shape))), axis=1), 0)
        runs = max(1, REPEATED // len(picked))
        noise, reach = ct.noise_below(self.shape, REPEATED)

        def factor(of: Iterable[Floats]) -> float:
            needed = [
                self._needed(
                    q, ct.below(counts), noise[index * runs : (index + 1) * runs], scale, width, scale * reach
                )
                for index, counts in enumerate(of)
            ]
            return float(np.clip(np.quantile(needed, confidence, method="higher"), 0.2, 1.0))

        sharp = list(steps)
        smooth = [_smoothed(counts, q, width) for counts in sharp]
        if all(counts is other for counts, other in zip(sharp, smooth, strict=True)):
            return factor(sharp)  # so little noise crosses no leaf
        return max(factor(sharp), factor(smooth))

    def _needed(
        self, q: float, below: Floats, noise: Floats, scale: float, width: Floats, reach: Floats
    ) -> Floats:
        """The least factor with which the interval holds the true quantile, in some draws.

        Args:
            q: which quantile.
            below: the true rows below each boundary, float64 array (L + 1,).
            noise: on these, of scale 1, float64 array (draws, L + 1).
            scale: of the noise.
            width: half-widths at the boundaries, float64 array (L + 1,).
            reach: the most noise that a rank has in any draw, float64 array (L + 1,).

        Returns:
            float64 array (draws,), exact between -1 and 1.
        """
        # Where no noise reaches, a boundary is on the same side with every factor up to 1, and is counted at once.
        ranks = below - q * below[-1]
        first = int((ranks >= -(width + reach)).argmax())
        last = len(ranks) - int((ranks <= width + reach)[::-1].argmax())
        near = slice(first, last)
        again = (ranks[near] + scale * (noise[:, near] - q * noise[:, -1:])) / width[near]
        # The lower end is not above the truth when at most so many ranks lie below minus the factor, that is when the
        # next of them in order does not; and the upper end likewise.
        truth, step = float(self._crossing(below[None], q)[0]), float(self.grid.step)
        under = math.floor((truth - self.grid.lo) / step)
        over = math.floor(len(ranks) - 1 - (truth - self.grid.lo + self.whole) / step)
        # Of the ranks without the first, and of those without the last from above.
        lower = _nth(again[:, max(0, 1 - first) :], under - max(0, first - 1))
        upper = _nth(-again[:, : min(last, len(ranks) - 1) - first], over - max(0, len(ranks) - 1 - last))
        return np.maximum(-lower, -upper)

    def _blocks(self, noisy: Floats) -> Iterator[tuple[slice, Floats]]:
        """The rows below each boundary by least squares, for some groups at a time."""
        size = max(1, BLOCK // self.entries)
        for start in range(0, len(noisy), size):
            part = slice(start, start + size)
            yield part, ct.below(ct.fit(noisy[part], self.shape))

    def _crossing(self, below: Floats, q: float) -> Floats:
        """Where (rows below) - q (rows) changes its sign; the middle where it is zero for a while."""
        total = below[:, -1]
        ranks = below - q * total[:, None]
        row = np.arange(len(below))
        last = np.maximum((ranks < 0).sum(axis=1) - 1, 0)  # ranks increase, so those below zero come first
        first = np.minimum((ranks <= 0).sum(axis=1), ranks.shape[1] - 1)
        lower = np.minimum(last, ranks.shape[1] - 2)
        upper = np.maximum(first, 1)
        if self.whole:
            place = (lower + upper) / 2  # from the start of one leaf to the end of another
            value = self.grid.lo + float(self.grid.step) * (place - 0.5) + (float(self.grid.step) - 1) / 2
        else:
            ends = []
            for left in (lower, upper - 1):
                here, there = ranks[row, left], ranks[row, left + 1]
                with np.errstate(divide="ignore", invalid="ignore"):
                    share = np.where(there > here, -here / (there - here), 0.5)
                ends.append(left + np.clip(share, 0, 1))
            value = self.grid.lo + float(self.grid.step) * (ends[0] + ends[1]) / 2
        return np.where(total > 0, np.clip(value, self.grid.lo, self.grid.hi), np.nan)

    def _at_heaps(self, below: Floats, value: Floats) -> Floats:
        """The values, but where a leaf holds far more rows than those beside it the roundest of the leaf.

        Then most of its rows have one value, as zero, and people round: a value between the ends of the leaf would
        have all of them on one side.
        """
        step, row = float(self.grid.step), np.arange(len(below))
        leaf = np.nan_to_num((value - self.grid.lo) // step).astype(np.int64).clip(0, self.grid.levels - 1)
        rows = np.diff(below, axis=1, prepend=below[:, :1], append=below[:, -1:])  # none beyond the ends
        beside = np.maximum(rows[row, leaf], rows[row, np.minimum(leaf + 2, rows.shape[1] - 1)])
        round_ = roundest(self.grid.lo + step * leaf, step, whole=self.whole)
        heap = (rows[row, leaf + 1] > HEAP * beside) & ~np.isnan(value)
        return np.where(heap, np.clip(round_, self.grid.lo, self.grid.hi), value)

    def _value(self, boundary: Floats, upper: int) -> Floats:
        """The value at a boundary; of an integer the last one below it when it is an upper end."""
        value = self.grid.lo + float(self.grid.step) * boundary - (upper if self.whole else 0)
        return np.clip(value, self.grid.lo, self.grid.hi)


def _smoothed(steps: Floats, q: float, width: Floats) -> Floats:
    """The rows of each leaf, each the mean of as many leaves around it as the noise of a quantile may cross.

    Args:
        steps: the rows of each leaf, float64 array (L,).
        q: which quantile.
        width: half-widths at the boundaries, float64 array (L + 1,).
    """
    ranks = ct.below(steps)
    half = int((np.abs(ranks - q * ranks[-1]) < width).sum()) // 2
    if not half:
        return steps
    sums = ct.below(np.pad(steps, half, mode="edge"))
    return np.asarray((sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1))


def _nth(rows: Floats, n: int) -> Floats:
    """The n-th smallest number of each row, from 0; infinite where a row is not so long, or n is below 0."""
    if 0 <= n < rows.shape[1]:
        return np.asarray(np.partition(rows, n, axis=1)[:, n])
    return np.full(len(rows), -np.inf if n < 0 else np.inf)


def _alike(noisy: Floats) -> bool:
    """Whether all groups have the same entries, as invented ones do: one stands for all of them."""
    return len(noisy) > 1 and bool((noisy[0] == noisy[-1]).all()) and bool((noisy == noisy[0]).all())


def tree_for(argument: Expression, cells: int, part: int = 0) -> QuantileTree:
    """The tree for an expression in a query with so many groups.

    Args:
        argument: a bounded numeric expression.
        cells: the number of groups.
        part: the number of the part of the release whose rows are counted.

    Raises:
        QueryRefused: there are too many groups for any tree.
    """
    most = MOST_LEAVES
    while most >= FEWEST_LEAVES:
        grid = leaf_grid(argument, most)
        shape = ct.shape_for(grid.levels)
        if cells * ct.node_count(shape) <= MOST_ENTRIES:
            return QuantileTree(argument, grid, shape, part)
        most //= 2
    raise QueryRefused(f"Quantiles, MIN and MAX of {cells:,} groups need more than {MOST_ENTRIES:,} counts.",
                       "Group by fewer or coarser keys.")  # fmt: skip
