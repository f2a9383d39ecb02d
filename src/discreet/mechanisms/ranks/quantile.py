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

Leaves farther than `REACH` scales from the rank are drawn as `rank_candidates` says, with the same law.
Permute-and-flip errs less where a handful of values are possible: `flipped_quantile`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_sensitivity
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.rank_candidates import (
    PIECES,
    Candidates,
    Parts,
    distance,
    rows_before_place,
)
from discreet.mechanisms.ranks.sparse_counts import SparseCounts, read_counts
from discreet.noise.bernoulli import bernoulli_exp
from discreet.noise.parameters import read_scale
from discreet.noise.weighted_choice import uniform_below, weighted_choices
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FINEST: Final = 1 << 20
"""Quantiles are read as fractions with denominators up to it."""
BOUND: Final = 100
"""How many times as heavy a bound is as all leaves together."""
REACH: Final = 48
"""How many scales from the rank leaves are candidates by themselves: the others have a chance of e^-20 or so."""
_MOST_REACH: Final = 1 << 61


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

    @cached_property
    def _scale(self) -> Fraction:
        return self.scale * self.q.denominator

    @property
    def reach(self) -> int:
        """How many rows from the rank that is wanted leaves are candidates by themselves."""
        return min(math.ceil(REACH * self.scale), _MOST_REACH)

    def half_width(self, confidence: Number = 0.95) -> float:
        """By how many rows the rank errs at most with this confidence, where values lie densely."""
        return float(self.scale) * -math.log(1 - read_confidence(confidence))

    def release(self, counts: SparseCounts) -> Integers:
        """Choose a leaf for each group: int64 array (groups,). One call is one epsilon for all groups together.

        Raises:
            InvalidParameter: these are no counts.
            EntropyError: the operating system gave no randomness.
        """
        parts = Parts.whole(read_counts(counts), self.measure.leaves)
        return self.choose(counts, parts, np.zeros(counts.groups, np.int64))

    def choose(self, counts: SparseCounts, parts: Parts, margin: Integers, bound: int = 0) -> Integers:
        """The same for parts of groups, so many rows beside the quantile of each.

        Args:
            counts: of all groups.
            parts: of these groups.
            margin: int64 array (parts,): rows, public.
            bound: -1 or 1 where the lower or the upper bound of the grid is a candidate, `BOUND` times as heavy as all
                leaves together; it stands at the distance of an end of all rows.

        Returns:
            int64 array (parts,): a leaf; -1 for the lower bound, and the number of leaves for the upper one.
        """
        return self._draw(counts, parts, margin, bound, cut=False)[0]

    def split(self, counts: SparseCounts, parts: Parts) -> tuple[Integers, Integers]:
        """Choose the place of the quantile, to split each part there.

        Returns:
            The leaves, and how many rows of each part lie before the place, which is for the caller alone: two int64
            arrays (parts,). The parts before and behind it are `rank_candidates.Parts` of which a row moves one.
        """
        return self._draw(counts, parts, np.zeros(len(parts.group), np.int64), 0, cut=True)

    def _draw(
        self, counts: SparseCounts, parts: Parts, margin: Integers, bound: int, *, cut: bool
    ) -> tuple[Integers, Integers]:
        """Leaves, and, where a quantile is cut out, the rows of the part before it."""
        leaf, before = np.zeros(len(margin), np.int64), np.zeros(len(margin), np.int64)
        left = np.arange(len(margin))
        while left.size:
            here = parts[left]
            some = self.candidates(counts, here, margin[left])
            some = some.places() if cut else some
            weights, gaps = self.odds(some, margin[left], bound)
            chosen = weighted_choices(weights, gaps, some.starts, self._scale)
            start, stop = some.start[chosen], some.stop[chosen]
            inside = start < stop
            drawn = start.copy()
            place = uniform_below(self.measure.of(start[inside], stop[inside]))
            drawn[inside] = self.measure.leaf(start[inside], stop[inside], place)
            leaf[left], before[left] = drawn, some.below[chosen]
            again = some.far[chosen]
            if again.any():
                indices = np.flatnonzero(again)
                rows, off = self._far(counts, here[indices], drawn[indices], margin[left[indices]], cut)
                before[left[indices]] = rows
                again[indices] = ~np.asarray(bernoulli_exp(off - gaps[chosen[indices]], scale=self._scale))
            left = left[again]
        return leaf, before

    def candidates(self, counts: SparseCounts, parts: Parts, margin: Integers) -> Candidates:
        """The candidates of some parts, by themselves where they are near enough to be chosen."""
        rank = self.q.numerator * parts.rows // self.q.denominator + margin
        return Candidates.of(counts, self.measure, parts, rank, self.reach)

    def _far(
        self, counts: SparseCounts, parts: Parts, leaf: Integers, margin: Integers, cut: bool
    ) -> tuple[Integers, Integers]:
        """The rows before a place of each of some leaves, drawn here, and its distance."""
        if counts.inside(parts.group, leaf) or counts.inside(parts.group, leaf + 1):
            counts = counts.finer
        entry, origin = (
            counts.entry(parts.group, leaf),
            counts.rows_before[counts.starts[parts.group]] + parts.first,
        )
        held = np.append(counts.leaf, -1)[entry] == leaf
        held &= entry < counts.starts[parts.group + 1]
        ends = (counts.rows_before[position] for position in (entry, np.where(held, entry + 1, entry)))
        below, until = (np.clip(rows - origin, 0, parts.rows) for rows in ends)
        within = until - below
        if cut:
            below = below + rows_before_place(uniform_below(0 * leaf + PIECES), within)
            within = np.zeros_like(below)
        return below, distance(below, within, parts.rows, self.q, margin)

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
        logs -= np.maximum.reduceat(logs, some.starts)[some.part]
        law = np.exp(logs)
        law /= np.add.reduceat(law, some.starts)[some.part]
        return np.asarray(law)
