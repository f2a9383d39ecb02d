"""A quantile together with the ends of its interval, in one draw by the exponential mechanism.

An outcome is a leaf x, the number, and ends around it. The distance of x is that of `ranks.quantile`. The ends
stand r leaves below and above x, for r = 0, a power of two or 3/2 of one. Let q n - b be the rows by which the lower
end is below the quantile, with b rows before it, and likewise for the upper end; G(r) is the lesser of the two, and an
end beyond the range is surely beyond the quantile. The ends are as sure as

    s(r) = least of G(r) - M and G(t r) - M - m, for `RUNGS` (t, m),

and the narrowest with s >= 0 are wanted: their distance is max(0, -s(r), s(r/2)).

Where few rows lie between the quantile and an end of the range, no radius is sure on that side before it reaches the
bound. So outcomes with the bound on one side are possible too, where the other end is the narrowest sure one by itself.
Unless r reaches beyond that bound, their distance is G - M at least, G of the side of the bound and the widest radius
inside the range. And there is the whole range, at a distance of max(0, G - M), G the greater one of both sides. An
outcome is drawn with a probability proportional to its public weight times e^(-max of both distances/scale).

Some outcome around each x has distance 0, so ends cost the number little: where neither side is sure within the
range, the whole range; where one is not, the narrowest sure end of the other side; else a radius that is sure on both
sides, or, where that reaches beyond the range, the narrowest sure end of the side that needs it.

Coverage. An interval that misses the quantile has G < 0, and is at least M rows off: with M of `MARGIN` scales it is
e^-MARGIN times as likely as a good one, times the number of radii that are too narrow. In a gap without rows all that
do not reach its edge are equally so, but for G(t r): of a radius t times too narrow or more, m more is missing. So
these count little, without the weight of wide radii having to grow much: weights of wide radii favour numbers far from
the quantile, around which more radii have distance 0. As much holds of intervals that are stretched for a confidence
above 95 %: one that misses when it is t times as wide is e^-m times as likely again. Outcomes with a bound have
`BOUNDED` scales more, and weigh more: with few rows, almost all radii are too narrow. Values may be rounded, or stand
in heaps: the first radius that reaches beyond a heap is the narrowest sure one, however many rows lie in the heap and
however long the gap beside it is, which is not so for ends that are drawn by rank. The interpolated quantile lies
between two rows, so that ends with G up to max(q, 1 - q) - 1/d may miss it, d the denominator of q. A scale that is
not wider than a row is therefore as wide as one, and so much, for one of the scales of the margin.

Proof. A row more or fewer moves q n - b by q or 1 - q, one up, one down; so each G moves by at most S = max(q, 1 - q),
as the distance of x does; constants, differences with them, least and greatest of such numbers do not move farther. A
row replaced by another moves each by at most 1. So an outcome's distance moves by at most `moves` in all, as in
`ranks.quantile`, and its loss is 2 moves/scale = epsilon. Radii, rungs, weights and M are public, and so is which
outcomes lie inside the range, given x. In parts of groups the rows of the part count, of which a row more is one more.

Law. A number is proposed as `ranks.quantile` draws it, an outcome by weight, and it is taken with the probability
e^(-(its distance - that of x)/scale), if that is the farther one: accepted proposals have the law above, and no
probability is rounded. About one proposal in 30 to 10,000 is taken, fewer the finer the grid is for the values; `TRIES`
are made at a time. Where none is, values may lie in heaps or in a small part of the grid, whose narrow ends weigh
little: then proposals are made as `likely_leaves` says, with the same law. One of a few hundred is then taken at worst.
How many are made depends on the data, as does the time of an engine.

G beyond M and `REACH` scales counts as so much, which changes no bound of the proof and hardly any probability
(e^-48): so rows far from a quantile may be counted together.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.ranks import quantile
from discreet.mechanisms.ranks.likely_leaves import LikelyLeaves
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts, rows_before
from discreet.mechanisms.ranks.sparse_counts import MOST, SparseCounts
from discreet.noise.bernoulli import bernoulli_exp
from discreet.noise.weighted_choice import uniform_below, weighted_choices
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MARGIN: Final = Fraction(31, 10)
"""By how many scales an interval is wanted to hold its quantile."""
RUNGS: Final = ((2, Fraction(1)), (8, Fraction(3)))
"""By how many scales more when it is so many times as wide."""
BOUNDED: Final = Fraction(2)
"""By how many scales more where it ends at a bound."""
POWER: Final = 0.35
"""Weights grow as this power of the radius."""
WEIGHTS: Final = 64, 96, 96, 192
"""How much ends at the same radius weigh, an end by itself, and the whole range, all for a radius of one."""
TRIES: Final = 512
"""How many proposals are made at a time for each group, fewer for many groups."""
FEWEST: Final = 16
NEVER: Final = 1 << 62
"""The distance of ends that lie outside the range."""
AT_ONCE: Final = 1 << 19
"""How many proposals are made at a time in all."""
BOTH, LOWER, UPPER, NONE = range(4)
"""The kinds of outcomes: ends at the same radius; a lower end by itself; an upper end by itself; the whole range."""


@dataclass(frozen=True)
class Surrounded:
    """A number and its interval for each part: three int64 arrays (parts,).

    Attributes:
        leaf: of the number.
        low: the first leaf of the interval, -1 for the lower bound.
        high: the last leaf, the number of leaves for the upper bound.
    """

    leaf: Integers
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

    @cached_property
    def sure(self) -> int:
        """By how many rows an interval is wanted to hold its quantile, times the denominator of q."""
        # An end that misses lies at most max(q, 1 - q) - 1/d rows on the right side of q n.
        q, unit = self.q.numerator, self.q.denominator
        rows = unit + max(q, unit - q) - 1
        scale = self._scale
        return math.ceil((MARGIN - 1) * scale + (scale if scale > rows else rows))

    @cached_property
    def radii(self) -> Integers:
        """0, the powers of two and 3/2 of them, within the range: int64 array (k,)."""
        powers = 1 << np.arange((self.measure.leaves - 1).bit_length())
        every = np.concatenate([[0, 1], np.stack([powers[1:], powers[1:] // 2 * 3], axis=1).ravel()])
        return every[every < self.measure.leaves]

    @cached_property
    def weights(self) -> Integers:
        """The weight of each outcome by kind and radius, and of the whole range: int64 array (3 k + 1,)."""
        powers = np.maximum(self.radii, 0.5) ** POWER
        both, lower, upper, whole = WEIGHTS
        every = np.concatenate([both * powers, lower * powers, upper * powers, whole * powers[-1:]])
        return np.asarray(every.astype(np.int64))

    def surround(self, counts: SparseCounts, parts: Parts) -> Surrounded:
        """Draw for parts of groups.

        Args:
            counts: of all groups.
            parts: of these groups.
        """
        out = Surrounded(*(np.zeros(len(parts.group), np.int64) for _ in range(3)))
        every = np.arange(len(parts.group))
        groups = [
            every[begin : begin + AT_ONCE // FEWEST] for begin in range(0, len(every), AT_ONCE // FEWEST)
        ]
        left = np.concatenate(
            [every[:0], *(self._round(counts, parts, group, out, False) for group in groups)]
        )
        while left.size:
            some = left[: AT_ONCE // len(self.weights)]
            left = np.concatenate([left[len(some) :], self._round(counts, parts, some, out, True)])
        return out

    def _round(
        self, counts: SparseCounts, parts: Parts, some: Integers, out: Surrounded, again: bool
    ) -> Integers:
        """Make proposals for some parts, by `likely_leaves` once some were made; those of which none is taken."""
        tries = int(min(TRIES, max(FEWEST, AT_ONCE // len(some))))
        part, here = np.repeat(np.arange(len(some)), tries), parts[some]
        likely = LikelyLeaves.of(self, counts, here) if again else None
        leaf, off, taken, chosen = self.propose(counts, here, tries, likely)
        outcome = np.searchsorted(
            np.cumsum(self.weights), uniform_below(0 * part + int(self.weights.sum())), "right"
        )
        own = np.flatnonzero(likely.likely[chosen]) if likely is not None else part[:0]
        if likely is not None:
            outcome[own] = likely.outcomes(part[own])
        low, high, beside = self.beside(counts, here[part], leaf, outcome)
        farther = np.clip(beside - off, 0, self.most)
        good = bernoulli_exp(farther, scale=self._scale)
        if likely is not None:
            good[own] = likely.taken(chosen[own], outcome[own], farther[own])
        taken &= good & (beside < NEVER)
        first = taken.reshape(len(some), tries).argmax(axis=1) + tries * np.arange(len(some))
        done = taken[first]
        to, of = some[done], first[done]
        out.leaf[to], out.low[to], out.high[to] = leaf[of], low[of], high[of]
        return np.asarray(some[~done])

    def choices(self, counts: SparseCounts, parts: Parts) -> tuple[Candidates, Integers, Integers]:
        """The candidates of each part, their weights and their distances."""
        margin = np.zeros(len(parts.group), np.int64)
        some = self.candidates(counts, parts, margin)
        return some, *self.odds(some, margin)

    def propose(
        self, counts: SparseCounts, parts: Parts, tries: int, likely: LikelyLeaves | None = None
    ) -> tuple[Integers, Integers, Bools, Integers]:
        """Numbers for each part: leaf, distance, whether it is one, and its candidate."""
        if likely is None:
            some, weights, gaps = self.choices(counts, parts)
        else:
            some, weights, gaps = likely.candidates, likely.weights, likely.gaps
        chosen = weighted_choices(weights, gaps, some.starts, self._scale, tries)
        start, stop = some.start[chosen], some.stop[chosen]
        leaf = self.measure.leaf(start, stop, uniform_below(self.measure.of(start, stop)))
        off, taken = gaps[chosen], np.ones(len(chosen), np.bool_)
        far = np.flatnonzero(some.far[chosen])
        if far.size:
            here = parts[some.part[chosen[far]]]
            _, farther = self._far(counts, here, leaf[far], 0 * far, cut=False)
            taken[far] = bernoulli_exp(farther - off[far], scale=self._scale)
            off[far] = farther
        return leaf, off, taken, chosen

    def beside(
        self, counts: SparseCounts, parts: Parts, leaf: Integers, outcome: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Lower and upper end, and distance of the ends, for each leaf and outcome.

        Args:
            counts: of all groups.
            parts: the part of each.
            leaf: int64 array (n,), the numbers.
            outcome: int64 array (n,): which outcome, as in `weights`.
        """
        kind, radius = outcome // len(self.radii), self.radii[outcome % len(self.radii)]
        to_low, to_high = (kind == UPPER) | (kind == NONE), (kind == LOWER) | (kind == NONE)
        low, high = np.where(to_low, -1, leaf - radius), np.where(to_high, self.measure.leaves, leaf + radius)
        return low, high, self.least(counts, parts, leaf, leaf, outcome)

    def least(
        self, counts: SparseCounts, parts: Parts, first: Integers, last: Integers, outcome: Integers
    ) -> Integers:
        """At most the distance of the ends around any leaf from the first to the last, and that of one leaf.

        The quantile is above a lower end by fewer rows the higher the leaf is, and below an upper end by more.
        """
        kind, index = outcome // len(self.radii), outcome % len(self.radii)
        radius, narrower = self.radii[index], self.radii[index] // 2
        down, up = last - parts.low, parts.high - 1 - first  # at most so many leaves lie beside one
        to_low, to_high = (kind == UPPER) | (kind == NONE), (kind == LOWER) | (kind == NONE)
        most = self.most

        def held(ends: Integers, below: Integers, above: Integers) -> Integers:
            beyond_low, beyond_high = (
                to_low | (ends > below - parts.low),
                to_high | (ends > parts.high - 1 - above),
            )
            lower = np.where(beyond_low, most, self._below(counts, parts, below - ends))
            return np.minimum(lower, np.where(beyond_high, most, self._above(counts, parts, above + ends)))

        def surely(ends: Integers, below: Integers, above: Integers) -> Integers:
            out = held(ends, below, above)
            for times, more in RUNGS:
                wider = held(times * np.maximum(ends, 1), below, above)
                out = np.minimum(out, wider - math.ceil(more * self._scale))
            return np.asarray(out - sure)

        sure = self.sure + np.where(kind == BOTH, 0, math.ceil(BOUNDED * self._scale))
        inner = surely(narrower, last, first)
        inner[(index == 0) | (kind == NONE)] = -most
        beyond = self._beyond(counts, parts, first, last, kind, radius) - sure
        off = np.maximum(np.maximum(0, -surely(radius, first, last)), np.maximum(inner, beyond))
        off[(~to_low & (radius > down)) | (~to_high & (radius > up))] = NEVER
        return np.asarray(off)

    def _beyond(
        self,
        counts: SparseCounts,
        parts: Parts,
        first: Integers,
        last: Integers,
        kind: Integers,
        radius: Integers,
    ) -> Integers:
        """How sure the widest ends inside the range would be, where an outcome has a bound in their place."""
        down, up = first - parts.low, parts.high - 1 - last
        below = self._below(counts, parts, last - self._inside(down))
        above = self._above(counts, parts, first + self._inside(up))
        below[(kind == BOTH) | (kind == LOWER) | ((kind == UPPER) & (radius > down))] = -self.most
        above[(kind == BOTH) | (kind == UPPER) | ((kind == LOWER) & (radius > up))] = -self.most
        return np.asarray(np.maximum(below, above))

    def _inside(self, leaves: Integers) -> Integers:
        """The widest radius of up to so many leaves."""
        return np.asarray(self.radii[np.searchsorted(self.radii, leaves, "right") - 1])

    @cached_property
    def most(self) -> int:
        """So many rows, times the denominator of q, stand for all that are more; so sure is each bound."""
        scales = quantile.REACH, BOUNDED, RUNGS[-1][1]
        return min(sum(math.ceil(scale * self._scale) for scale in scales) + self.sure, NEVER // 4)

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
