"""A quantile together with the ends of its interval, in one draw by the exponential mechanism.

An outcome is a leaf x, the number, and ends around it. The distance of x is that of `ranks.quantile`. The ends
stand r leaves below and above x, for r = 0 or one of 1, 2, 3, 4, 6, 8, 12 and so on. Let q n - b be the rows by which
the lower end is below the quantile, with b rows before it, and likewise for the upper end; G(r) is the lesser of the
two. The interval holds the quantile where G >= 0. It is *sure* where G(r) >= M, and the narrowest sure one is wanted:
its distance is

    max(0, M - G(r), G(r') - M),  r' the next smaller radius.

An outcome is drawn with a probability proportional to its public weight times e^(-max of both distances/scale). So
ends cost the number hardly anything: every x has an outcome with ends at distance 0, since G grows with r
and an end beyond the range is surely beyond the quantile. An interval that misses the quantile has G < 0, and is
at least M rows off: it is e^(-M/scale) times as likely as a good one, times the number of radii that are too narrow.
Their weights grow as the square root of the radius, so that these count little. Values may be rounded, or stand in
heaps: the first radius that reaches beyond a heap is the narrowest sure one, however many rows lie in the heap and
however long the gap beside it is, which is not so for ends that are drawn by rank.

Where few rows lie between the quantile and an end of the range, no radius is sure on that side before it reaches the
bound. So outcomes with the bound on one side are possible too, where the other end is the narrowest sure one by
itself. The distance of such a bound is max(0, G - M), G that of the widest radius inside the range. An interval that is
clipped to the range on one side only, and takes its other end from the same radius, weighs least: it is there so that
some outcome always has distance 0.

Proof. A row more or fewer moves q n - b by q or 1 - q, one up, one down; so each G moves by at most
S = max(q, 1 - q), as the distance of x does; constants, differences with M, least and greatest of such numbers
do not move farther. A row replaced by another moves each by at most 1. So an outcome's distance moves by at most
`moves` in all, as in `ranks.quantile`, and its loss is 2 moves/scale = epsilon. Radii, weights and M are
public, and so is which outcomes lie inside the range, given x. In parts of groups the rows of the part count, of which
a row more is one more.

Law. A number is proposed as `ranks.quantile` draws it, an outcome by weight, and it is taken with the probability
e^(-(its distance - that of x)/scale), if that is the farther one: accepted proposals have the law above, and no
probability is rounded. About one proposal in 30 to 10,000 is taken, fewer the finer the grid is for the values; `TRIES`
are made at a time. Where none is, the quantile may lie in a heap, whose narrow ends weigh little: then proposals are
made as `likely_leaf` says, with the same law. How many times depends on the data, as does the time of an engine.

G beyond M and `REACH` scales counts as so much, which changes no bound of the proof and hardly any probability
(e^-48): so rows far from a quantile may be counted together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.ranks import quantile
from discreet.mechanisms.ranks.likely_leaf import LikelyLeaf
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts, rows_before
from discreet.mechanisms.ranks.sparse_counts import MOST, SparseCounts
from discreet.noise.bernoulli import bernoulli_exp
from discreet.noise.weighted_choice import uniform_below, weighted_choices

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MARGIN: Final = Fraction(5)
"""By how many scales an interval is wanted to hold its quantile."""
MORE_ROWS: Final = Fraction(1)
"""And by how many rows more: the quantile lies between two rows, and is interpolated."""
STEPS: Final = 4
"""After so many radii one weighs twice as much: about the square root of a radius."""
TRIES: Final = 512
"""How many proposals are made at a time for each group, fewer for many groups."""
FEWEST: Final = 16
NEVER: Final = 1 << 62
"""The distance of ends that lie outside the range."""
AT_ONCE: Final = 1 << 19
"""How many proposals are made at a time in all."""
BOTH, LOWER, UPPER = range(3)
"""The kinds of outcomes: ends at the same radius; a lower end by itself; an upper end by itself."""


@dataclass(frozen=True)
class Surrounded:
    """A number and its interval for each part: four int64 arrays (parts,).

    Attributes:
        leaf: of the number.
        before: the rows of the part before the place of the number; for the mechanism alone.
        low: the first leaf of the interval, -1 for the lower bound.
        high: the last leaf, the number of leaves for the upper bound.
    """

    leaf: Integers
    before: Integers
    low: Integers
    high: Integers


@dataclass(frozen=True, init=False)
class SurroundedQuantile(ExponentialQuantile):
    """Choose the leaf of one quantile with the ends of its interval, in each of some groups.

    Parameters and guarantee are those of `ExponentialQuantile`. Source and proof: the module's text.

    Example:
        >>> from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
        >>> counts = SparseCounts.of(1, 120, np.zeros(5), np.array([31, 34, 34, 40, 52]), np.ones(5))
        >>> drawn = SurroundedQuantile(10, 0.5, LeafMeasure.over(120)).surround(counts, Parts.whole(counts, 120))
        >>> bool(drawn.low[0] <= drawn.leaf[0] <= drawn.high[0])
        True
    """

    @property
    def sure(self) -> int:
        """By how many rows an interval is sure to hold its quantile, times the denominator of q."""
        return math.ceil(MARGIN * self._scale + MORE_ROWS * self.q.denominator)

    @cached_property
    def radii(self) -> Integers:
        """The radii up to the first that spans the range: int64 array (k,)."""
        powers = 1 << np.arange((self.measure.leaves - 1).bit_length() + 1)
        return np.concatenate([[0, 1], np.stack([powers[1:], powers[1:] // 2 * 3], axis=1).ravel()])

    @cached_property
    def weights(self) -> Integers:
        """The weight of each outcome by kind and radius: int64 array (3 k,)."""
        return np.tile(1 << np.arange(len(self.radii)) // STEPS, 3)

    def surround(self, counts: SparseCounts, parts: Parts) -> Surrounded:
        """Draw for parts of groups.

        Args:
            counts: of all groups.
            parts: of these groups.
        """
        out = Surrounded(*(np.zeros(len(parts.group), np.int64) for _ in range(4)))
        every = np.arange(len(parts.group))
        groups = [every[at : at + AT_ONCE // FEWEST] for at in range(0, len(every), AT_ONCE // FEWEST)]
        left = np.concatenate([every[:0], *(self._round(counts, parts, one, out, False) for one in groups)])
        while left.size:
            some = left[: AT_ONCE // len(self.weights)]
            left = np.concatenate([left[len(some) :], self._round(counts, parts, some, out, True)])
        return out

    def _round(
        self, counts: SparseCounts, parts: Parts, some: Integers, out: Surrounded, again: bool
    ) -> Integers:
        """Make proposals for some parts, by `likely_leaf` once some were made; those of which none is taken."""
        tries = int(min(TRIES, max(FEWEST, AT_ONCE // len(some))))
        part, here = np.repeat(np.arange(len(some)), tries), parts[some]
        likely = LikelyLeaf.of(self, counts, here) if again else None
        leaf, before, off, taken, own = self.propose(counts, here, tries, likely)
        outcome = np.searchsorted(
            np.cumsum(self.weights), uniform_below(0 * part + int(self.weights.sum())), "right"
        )
        if likely is not None:
            outcome[own], kept = likely.outcomes(part[own])
        low, high, beside, light = self.beside(counts, here[part], leaf, outcome)
        # A light outcome weighs one, however heavy its radius is.
        good = bernoulli_exp(np.clip(beside - off, 0, self.most), scale=self._scale)
        good &= ~light | (uniform_below(self.weights[outcome]) == 0)
        if likely is not None:
            good[own] = kept
        taken &= good & (beside < NEVER)
        first = taken.reshape(len(some), tries).argmax(axis=1) + tries * np.arange(len(some))
        done = taken[first]
        to, of = some[done], first[done]
        out.leaf[to], out.before[to], out.low[to], out.high[to] = leaf[of], before[of], low[of], high[of]
        return np.asarray(some[~done])

    def choices(self, counts: SparseCounts, parts: Parts) -> tuple[Candidates, Integers, Integers]:
        """The candidates of each part, their weights and their distances."""
        margin = np.zeros(len(parts.group), np.int64)
        some = self.candidates(counts, parts, margin)
        return some, *self.odds(some, margin)

    def propose(
        self, counts: SparseCounts, parts: Parts, tries: int, likely: LikelyLeaf | None = None
    ) -> tuple[Integers, Integers, Integers, Bools, Bools]:
        """Numbers for each part: leaf, rows before its place, distance, whether it is one, whether the likely leaf."""
        if likely is None:
            some, weights, gaps = self.choices(counts, parts)
        else:
            some, weights, gaps = likely.candidates, likely.weights, likely.gaps
        chosen = weighted_choices(weights, gaps, some.starts, self._scale, tries)
        start, stop = some.start[chosen], some.stop[chosen]
        leaf = self.measure.leaf(start, stop, uniform_below(self.measure.of(start, stop)))
        before, off, taken = some.below[chosen], gaps[chosen], np.ones(len(chosen), np.bool_)
        far = np.flatnonzero(some.far[chosen])
        if far.size:
            here = parts[some.part[chosen[far]]]
            rows, farther = self._far(counts, here, leaf[far], 0 * far, cut=False)
            taken[far] = bernoulli_exp(farther - off[far], scale=self._scale)
            before[far], off[far] = rows, farther
        own = (
            np.zeros(len(chosen), np.bool_)
            if likely is None
            else likely.candidate[some.part[chosen]] == chosen
        )
        return leaf, before, off, taken, own

    def beside(
        self, counts: SparseCounts, parts: Parts, leaf: Integers, outcome: Integers
    ) -> tuple[Integers, Integers, Integers, Bools]:
        """Lower and upper end, distance of the ends, and whether it weighs but one: for each leaf and outcome.

        Args:
            counts: of all groups.
            parts: the part of each.
            leaf: int64 array (n,), the numbers.
            outcome: int64 array (n,): which outcome, as in `weights`.
        """
        kind, at = outcome // len(self.radii), outcome % len(self.radii)
        radius, narrower = self.radii[at], self.radii[np.maximum(at - 1, 0)]
        down, up = leaf - parts.low, parts.high - 1 - leaf  # how many leaves lie beside it
        clipped_low, clipped_high = radius > down, radius > up
        # Of ends at the same radius a clipped one is sure; of an end by itself the other one is the bound.
        low_bound = np.where(kind == BOTH, clipped_low, kind == UPPER)
        high_bound = np.where(kind == BOTH, clipped_high, kind == LOWER)
        below, above = self._below(counts, parts, leaf - radius), self._above(counts, parts, leaf + radius)
        sure, most = self.sure, self.most
        held = np.minimum(np.where(low_bound, most, below), np.where(high_bound, most, above))
        below, above = (
            self._below(counts, parts, leaf - narrower),
            self._above(counts, parts, leaf + narrower),
        )
        inner = np.minimum(
            np.where((kind == UPPER) | (narrower > down), most, below),
            np.where((kind == LOWER) | (narrower > up), most, above),
        )
        inner[at == 0] = -most
        beyond = np.where(
            kind == UPPER,
            self._below(counts, parts, leaf - self._inside(down)),
            self._above(counts, parts, leaf + self._inside(up)),
        )
        beyond[kind == BOTH] = -most
        off = np.maximum(np.maximum(0, sure - held), np.maximum(inner, beyond) - sure)
        off[(kind == LOWER) & clipped_low | (kind == UPPER) & clipped_high] = NEVER
        low = np.where(low_bound, -1, leaf - radius)
        high = np.where(high_bound, self.measure.leaves, leaf + radius)
        return low, high, off, (kind == BOTH) & (clipped_low != clipped_high)

    def _inside(self, leaves: Integers) -> Integers:
        """The widest radius of up to so many leaves."""
        return np.asarray(self.radii[np.searchsorted(self.radii, leaves, "right") - 1])

    @property
    def most(self) -> int:
        """So many rows, times the denominator of q, stand for all that are more."""
        return min(math.ceil(quantile.REACH * self._scale) + self.sure, NEVER // 4)

    @property
    def reach(self) -> int:
        """How many rows from the rank that is wanted leaves are told apart."""
        return min(math.ceil(Fraction(self.most, self.q.denominator)), MOST)

    def _below(self, counts: SparseCounts, parts: Parts, leaf: Integers) -> Integers:
        """By how much the quantile is above the rows before a leaf."""
        return self._clipped(parts, rows_before(counts, parts, leaf, self.reach, self.q), 1)

    def _above(self, counts: SparseCounts, parts: Parts, leaf: Integers) -> Integers:
        """By how much the rows up to a leaf are above the quantile."""
        return self._clipped(parts, rows_before(counts, parts, leaf + 1, self.reach, self.q), -1)

    def _clipped(self, parts: Parts, rows: Integers, sign: int) -> Integers:
        over = self.q.numerator * parts.rows - self.q.denominator * rows
        return np.asarray(np.clip(sign * over, -self.most, self.most))
