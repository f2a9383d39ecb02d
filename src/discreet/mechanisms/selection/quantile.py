"""One quantile by the exponential mechanism on ranks, from sparse exact counts over a fine public grid.

Let n rows lie in the leaves of a public grid, b of them below a leaf and a in it. The distance of a leaf from rank
t = q n + margin is d = max(0, b - t, t - b - a): the leaf that holds the quantile has d = 0. The mechanism takes a leaf
with a probability proportional to its public weight times e^(-d/scale) (McSherry and Talwar 2007; on ranks: Smith
2011). Leaves between two values that occur all have the same d: they are one candidate with the sum of their weights,
so that a grid of 2^30 leaves costs nothing where no row lies.

Proof. A row more or fewer changes b - t by 1 - q or q, and t - b - a by q or 1 - q, so d by at most
S = max(q, 1 - q); a row replaced by another changes n not at all, and d by at most 1. Weights and margin are public.
Let one unit move d by at most `moves` in all: the weight of each leaf changes by a factor of at most
e^(moves/scale), and so does the sum of all; their quotient by e^(2 moves/scale) = e^epsilon with
scale = 2 moves/epsilon. Without the length of gaps in the weights, or on a grid chosen by the data, that is false.

Several groups. Each is drawn by itself, with the scale of all. A unit with r rows in a group changes d there by at most
r S, which costs the part r S/moves of epsilon, and parts add up. So for units of at most m rows in any groups, added
or removed, moves = m S; for one replaced by another, moves = 2 m S, or m where there is but one group: m rows out and m
in change b - t by at most m (1 - q) + m q.

Error. Where values lie densely, a distance d on either side has a density proportional to e^(-d/scale): the rms error
is sqrt(2) scale rows. For any data, d > scale (ln(W/w) + t) has a probability of at most e^-t, with W the sum of all
weights and w that of the right leaf.

Permute-and-flip, which is never worse for candidates of equal weight, has the same law where many leaves are about as
good, and errs less only where a handful of values occur (`benchmarks quantiles`).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_sensitivity
from discreet.mechanisms.selection.leaf_measure import LeafMeasure
from discreet.mechanisms.selection.sparse_counts import SparseCounts, read_counts
from discreet.noise.parameters import read_scale
from discreet.noise.weighted_choice import uniform_below, weighted_choices
from discreet.rational import Number, decimal, epsilon_of

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FINEST: Final = 1 << 20
"""Quantiles are read as fractions with denominators up to it."""
BOUND: Final = 100
"""How many times as heavy a bound is as all leaves together."""


def share(q: Number) -> Fraction:
    """Read which quantile is meant, from 0 to 1, as the nearest fraction with a denominator up to 2^20.

    Raises:
        InvalidParameter: outside 0 to 1.
    """
    read = decimal(q, "q")
    if not 0 <= read <= 1:
        raise InvalidParameter("q is outside 0 to 1.", "Write 0.5 for the median.")
    return read.limit_denominator(FINEST)


def row_moves(q: Fraction) -> Fraction:
    """By how much a row more or fewer moves the distance of a leaf from the q-quantile, at most: max(q, 1 - q)."""
    return max(q, 1 - q)


@dataclass(frozen=True)
class Candidates:
    """The leaves of all groups, those of equal distance that stand together as one; at each end of a group a bound.

    Attributes:
        starts: int64 array (groups,): where the candidates of each group begin.
        start: int64 array (n,): the first leaf; of the lower bound -1, of the upper one the number of leaves.
        stop: int64 array (n,): the leaf behind the last one; of a bound the same as the start.
        below: int64 array (n,): how many rows of the group lie below.
        within: int64 array (n,): how many lie in it.
        total: int64 array (n,): how many rows the group has.
        group: int64 array (n,).
        weight: int64 array (n,), public; of a bound 0.
    """

    starts: Integers
    start: Integers
    stop: Integers
    below: Integers
    within: Integers
    total: Integers
    group: Integers
    weight: Integers

    @classmethod
    def of(cls, counts: SparseCounts, measure: LeafMeasure) -> Candidates:
        """The candidates of some counts."""
        leaves = measure.leaves
        many = np.diff(counts.starts)
        sizes = 2 * many + 3  # a gap before each leaf and behind the last one, and two bounds
        starts = np.cumsum(sizes) - sizes
        size = int(sizes.sum())
        group = np.repeat(np.arange(counts.groups), sizes)
        summed = np.concatenate([[0], np.cumsum(counts.count)])
        total = np.diff(summed[counts.starts])
        start, below, within = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
        stop = np.zeros(size, np.int64)
        own = counts.group
        at = starts[own] + 2 * (np.arange(len(own)) - counts.starts[own]) + 2
        stop[at - 1] = start[at] = counts.leaf
        stop[at] = start[at + 1] = counts.leaf + 1
        within[at] = counts.count
        below[at] = below[at - 1] = summed[:-1] - summed[counts.starts[own]]
        last = starts + sizes - 1
        stop[last - 1] = start[last] = stop[last] = leaves
        below[last - 1] = below[last] = total
        weight = measure.of(start, stop)
        start[starts] = stop[starts] = -1
        return cls(starts, start, stop, below, within, total[group], group, weight)

    def beside(self, measure: LeafMeasure, leaf: Integers, side: int) -> Candidates:
        """The same with only the leaves up to one of each group, or from it on; both bounds stay.

        Args:
            measure: the weights of the leaves.
            leaf: int64 array (groups,), public.
            side: -1 for the leaves up to it, 1 for those from it on.
        """
        limit = leaf[self.group]
        start, stop = self.start, self.stop
        if side < 0:
            stop = np.maximum(start, np.minimum(stop, limit + 1))
        else:
            start = np.minimum(np.maximum(start, limit), stop)
        return dataclasses.replace(self, start=start, stop=stop, weight=measure.of(start, stop))

    def distances(self, q: Fraction, margin: Integers) -> Integers:
        """The distances from the rank q n + margin, in rows times the denominator of q: int64 array (n,)."""
        unit = q.denominator
        rank = q.numerator * self.total + margin[self.group] * unit
        over = self.below * unit - rank
        return np.maximum(0, np.maximum(over, -over - self.within * unit))


@dataclass(frozen=True)
class ExponentialQuantile(PureLoss):
    """Choose the leaf of one quantile in each of some groups, by rank.

    Privacy: one call of `release` is epsilon-differentially private (pure) for neighbours that move the distances of
    any leaf from the quantile by at most `moves`, summed over all groups: m max(q, 1 - q) where a unit of at most m
    rows is added or removed, as the module's text says. That premise is the caller's to answer for, and so is that the
    grid is fixed without the data. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal.
        q: which quantile, from 0 to 1.
        measure: the public weights of the leaves.
        moves: positive rational; None stands for units of one row that are added or removed.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> ages = np.array([31, 34, 34, 40, 52])
        >>> counts = SparseCounts.of(1, 120, np.zeros(5), ages, np.ones(5))
        >>> median = ExponentialQuantile(10, 0.5, LeafMeasure.over(120))
        >>> bool(0 <= median.release(counts)[0] < 120)
        True
        >>> median.scale, median.half_width(0.95)
        (Fraction(1, 10), 0.2995732273553991)
    """

    epsilon: Fraction
    q: Fraction
    measure: LeafMeasure
    moves: Fraction

    def __init__(self, epsilon: Number, q: Number, measure: LeafMeasure, moves: Number | None = None) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "q", share(q))
        object.__setattr__(self, "measure", measure)
        object.__setattr__(self, "moves", row_moves(self.q) if moves is None else read_sensitivity(moves))
        read_scale(self._scale, "The scale, in parts of a row,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """A leaf that is farther by so many rows is e times less likely."""
        return 2 * self.moves / self.epsilon

    @property
    def _scale(self) -> Fraction:
        return self.scale * self.q.denominator

    def half_width(self, confidence: Number = 0.95) -> float:
        """By how many rows the rank errs at most with this confidence, where values lie densely."""
        return float(self.scale) * -math.log(1 - read_confidence(confidence))

    def release(self, counts: SparseCounts) -> Integers:
        """Choose a leaf for each group: int64 array (groups,). One call is one epsilon for all groups together.

        Raises:
            InvalidParameter: these are no counts.
            EntropyError: the operating system gave no randomness.
        """
        some = Candidates.of(read_counts(counts), self.measure)
        return self.choose(some, np.zeros(counts.groups, np.int64))

    def choose(self, some: Candidates, margin: Integers, bound: int = 0) -> Integers:
        """The same, so many rows beside the quantile.

        Args:
            some: the candidates.
            margin: int64 array (groups,): rows, public.
            bound: -1 or 1 where the lower or the upper bound of the grid is a candidate, `BOUND` times as heavy as all
                leaves together; it stands at the distance of an end of all rows.

        Returns:
            int64 array (groups,): a leaf; -1 for the lower bound, and the number of leaves for the upper one.
        """
        weights, gaps = self.odds(some, margin, bound)
        chosen = weighted_choices(weights, gaps, some.starts, self._scale)
        start, stop = some.start[chosen], some.stop[chosen]
        inside = start < stop
        out = start.copy()
        place = uniform_below(self.measure.of(start[inside], stop[inside]))
        out[inside] = self.measure.leaf(start[inside], stop[inside], place)
        return np.asarray(out)

    def odds(self, some: Candidates, margin: Integers, bound: int = 0) -> tuple[Integers, Integers]:
        """Weight and distance of each candidate, in rows times the denominator of q: int64 arrays (n,)."""
        weights = some.weight
        gaps = some.distances(self.q, margin)
        if bound:
            weights = weights.copy()
            last = np.append(some.starts[1:], len(some.start)) - 1
            weights[some.starts if bound < 0 else last] = BOUND * self.measure.whole
        return weights, gaps

    def probabilities(
        self, counts: SparseCounts, margin: int = 0, bound: int = 0
    ) -> tuple[Candidates, Floats]:
        """The law of `release`, right to about 1e-12: a function of the counts, and therefore not private."""
        some = Candidates.of(counts, self.measure)
        return some, self.law(some, np.full(counts.groups, margin, np.int64), bound)

    def law(self, some: Candidates, margin: Integers, bound: int = 0) -> Floats:
        """The law of `choose`, likewise: float64 array (n,)."""
        weights, gaps = self.odds(some, margin, bound)
        with np.errstate(divide="ignore"):
            logs = np.log(weights.astype(np.float64)) - gaps / float(self._scale)
        logs -= np.maximum.reduceat(logs, some.starts)[some.group]
        law = np.exp(logs)
        law /= np.add.reduceat(law, some.starts)[some.group]
        return np.asarray(law)
