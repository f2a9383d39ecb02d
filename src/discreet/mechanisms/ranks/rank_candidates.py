"""The leaves among which a quantile is chosen, those of equal distance together, near the rank that is wanted.

Of a group, or of a part of it, the leaves that hold rows and the gaps between them are candidates as far as `reach`
rows from the rank that is wanted. All farther leaves of a side are one candidate at the distance of the nearest of
them. It is so unlikely that it is hardly ever chosen; then one of its leaves is taken by weight, and kept with the
probability by which it is farther than the nearest, else all begins again: no probability is rounded. So a draw takes
time and memory for the leaves near a quantile, however many there are.

Where far leaves are counted together, as in wide entries of `SparseCounts`, all of this stays: far leaves end with such
an entry instead of its last leaf that holds a row, and those of its leaves that are as near as the nearest are always
kept. Wide entries within reach, or at an end of a part, are counted leaf by leaf first: `SparseCounts.finer`.

To split a part at a quantile, a leaf is cut into `PIECES` places, each with an equal share of its weight. Place k of a
leaf with a rows has floor(a (2k + 1)/(2 PIECES) + 1/2) of them before it: a row more in the leaf is one more on exactly
one side of each place. So a part that is split at a public place gives two parts, of which a row changes but one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.ranks.leaf_measure import MOST_LEAVES, LeafMeasure
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]

PIECES: Final = 256
"""Into how many places a leaf is cut; a power of two."""
AROUND: Final = 5
"""Candidates beside leaves and the gaps before them: a bound and all far leaves at each end, and the last gap."""


@dataclass(frozen=True)
class Parts:
    """Parts of groups: some leaves that stand together, and some rows in the order of their leaves.

    Attributes:
        group: int64 array (n,): of the counts.
        low: int64 array (n,), public: the first leaf that may be chosen.
        high: int64 array (n,), public: the leaf behind the last one.
        first: int64 array (n,): the first row, from 0 in the group; secret.
        last: int64 array (n,): the row behind the last one; secret.
    """

    group: Integers
    low: Integers
    high: Integers
    first: Integers
    last: Integers

    @classmethod
    def whole(cls, counts: SparseCounts, leaves: int) -> Parts:
        """All rows and leaves of each group."""
        group = np.arange(counts.groups)
        return cls(group, 0 * group, 0 * group + leaves, 0 * group, counts.totals)

    def __getitem__(self, some: Integers) -> Parts:
        """Some of them."""
        return Parts(self.group[some], self.low[some], self.high[some], self.first[some], self.last[some])

    @property
    def rows(self) -> Integers:
        """How many rows each has: int64 array (n,)."""
        return self.last - self.first


@dataclass(frozen=True)
class Candidates:
    """The candidates of all parts, in order: a bound, far leaves, gaps and leaves in turn, far leaves, a bound.

    Attributes:
        starts: int64 array (parts,): where the candidates of each part begin.
        start: int64 array (n,): the first leaf; of the lower bound -1, of the upper one the number of leaves.
        stop: int64 array (n,): the leaf behind the last one; of a bound the same as the start.
        below: int64 array (n,): how many rows of the part lie below.
        within: int64 array (n,): how many lie in it; of far leaves those that leave the distance of the nearest.
        total: int64 array (n,): how many rows the part has.
        part: int64 array (n,).
        weight: int64 array (n,), public; of a bound 0.
    """

    starts: Integers
    start: Integers
    stop: Integers
    below: Integers
    within: Integers
    total: Integers
    part: Integers
    weight: Integers

    @classmethod
    def of(
        cls,
        counts: SparseCounts,
        measure: LeafMeasure,
        parts: Parts | None = None,
        rank: Integers | None = None,
        reach: int = 1 << 62,
    ) -> Candidates:
        """The candidates of some parts.

        Args:
            counts: of all groups.
            measure: the weights of the leaves.
            parts: by default all groups.
            rank: int64 array (parts,): the rank that is wanted in each, rounded.
            reach: how many rows from it leaves are candidates by themselves.
        """
        parts = Parts.whole(counts, measure.leaves) if parts is None else parts
        rank = np.zeros_like(parts.first) if rank is None else rank
        rows, size = counts.rows_before, parts.rows
        origin = rows[counts.starts[parts.group]] + parts.first

        def before(entry: Integers, part: Integers | slice = slice(None)) -> Integers:
            return np.asarray(np.clip(rows[entry] - origin[part], 0, size[part]))

        # Entries of the counts that hold rows of the part in leaves that may be chosen, and those near the rank.
        first = np.searchsorted(rows[1:], origin, "right")
        last = np.maximum(first, np.searchsorted(rows[:-1], origin + size))
        first, last = (
            np.clip(counts.entry(parts.group, leaf), first, last) for leaf in (parts.low, parts.high)
        )
        near = origin + np.clip(rank, before(first), before(last))
        begin = np.clip(np.searchsorted(rows[1:], near - min(reach, 1 << 61), "right"), first, last)
        end = np.clip(np.searchsorted(rows[:-1], near + min(reach, 1 << 61)), begin, last)
        if counts.stop is not None and (
            (counts.wide_before[end] > counts.wide_before[begin]).any()
            or counts.inside(parts.group, parts.low)
            or counts.inside(parts.group, parts.high)
        ):
            return cls.of(counts.finer, measure, parts, rank, reach)
        many = end - begin
        sizes = 2 * many + AROUND
        starts = np.cumsum(sizes) - sizes
        part = np.repeat(np.arange(len(sizes)), many)
        entry = np.arange(len(part)) + (begin - (np.cumsum(many) - many))[part]
        place = starts[part] + 2 * (entry - begin[part]) + 3
        start, below, within = (np.zeros(int(sizes.sum()), np.int64) for _ in range(3))
        stop = np.zeros_like(start)
        leaf = np.append(counts.leaf, 0)
        left = np.where(begin > first, np.append(counts.stops, 0)[np.maximum(begin, 1) - 1], parts.low)
        right = np.where(end < last, leaf[end], parts.high)
        start[starts] = stop[starts] = -1
        start[starts + 1], stop[starts + 1], within[starts + 1] = parts.low, left, before(begin)
        start[starts + 2] = left
        start[place] = stop[place - 1] = leaf[entry]
        stop[place] = start[place + 1] = leaf[entry] + 1
        below[place] = below[place - 1] = before(entry, part)
        within[place] = before(entry + 1, part) - below[place]
        ends = starts + sizes - 1
        stop[ends - 2] = start[ends - 1] = right
        stop[ends - 1] = parts.high
        below[ends - 2] = below[ends - 1] = before(end)
        within[ends - 1] = size - below[ends - 1]
        start[ends] = stop[ends] = measure.leaves
        below[ends] = size
        part = np.repeat(np.arange(len(sizes)), sizes)
        return cls(starts, start, stop, below, within, size[part], part, measure.of(start, stop))

    @property
    def far(self) -> npt.NDArray[np.bool_]:
        """Which candidates are the far leaves of a side: bool array (n,)."""
        out = np.zeros(len(self.start), np.bool_)
        out[self.starts + 1] = True
        out[np.append(self.starts[1:], len(out)) - 2] = True
        return out

    def places(self) -> Candidates:
        """The same with the places of each leaf, those with as many rows before them as one; gaps weigh likewise."""
        held = (self.within > 0) & ~self.far
        many = np.where(held, np.minimum(self.within + 1, PIECES), 1)
        candidate = np.repeat(np.arange(len(many)), many)
        number = np.arange(len(candidate)) - (np.cumsum(many) - many)[candidate]
        rows = self.within[candidate]
        few = rows < PIECES
        first = np.where(few, _first_place(number, rows), number)
        behind = np.where(few, _first_place(number + 1, rows), number + 1)
        cut = held[candidate]
        below = self.below[candidate] + np.where(
            cut, rows_before_place(np.minimum(first, PIECES - 1), rows), 0
        )
        starts = (np.cumsum(many) - many)[self.starts]
        weight = self.weight[candidate] * np.where(cut, behind - first, PIECES)
        within = np.where(cut, 0, rows)
        return Candidates(
            starts,
            self.start[candidate],
            self.stop[candidate],
            below,
            within,
            self.total[candidate],
            self.part[candidate],
            weight,
        )

    def distances(self, q: Fraction, margin: Integers) -> Integers:
        """The distances from the rank q n + margin, in rows times the denominator of q: int64 array (n,)."""
        return distance(self.below, self.within, self.total, q, margin[self.part])


def rows_before(counts: SparseCounts, parts: Parts, leaf: Integers, reach: int, q: Fraction) -> Integers:
    """How many rows of a part lie before each of some leaves: int64 array (n,).

    Inside a wide entry they are those before it or those behind it, where both are farther than `reach` rows from the
    quantile, on the same side.

    Args:
        counts: of all groups.
        parts: the part of each.
        leaf: int64 array (n,).
        reach: in rows.
        q: the quantile of the part.
    """
    entry = counts.entry(parts.group, np.clip(leaf, 0, MOST_LEAVES))
    origin = counts.rows_before[counts.starts[parts.group]] + parts.first
    after = np.asarray(np.clip(counts.rows_before[entry] - origin, 0, parts.rows))
    if counts.stop is None or not len(counts.leaf):
        return after
    inside = (entry > counts.starts[parts.group]) & (counts.stop[np.maximum(entry, 1) - 1] > leaf)
    first = np.clip(counts.rows_before[np.maximum(entry, 1) - 1] - origin, 0, parts.rows)
    rank = q.numerator * parts.rows // q.denominator
    near = inside & (first <= rank + reach + 1) & (after >= rank - reach - 1) & (first < after)
    return rows_before(counts.finer, parts, leaf, reach, q) if near.any() else after


def distance(below: Integers, within: Integers, total: Integers, q: Fraction, margin: Integers) -> Integers:
    """By how much leaves lie beside the rank q n + margin, in rows times the denominator of q: int64 array (n,)."""
    unit = q.denominator
    over = below * unit - (q.numerator * total + margin * unit)
    return np.asarray(np.maximum(0, np.maximum(over, -over - within * unit)))


def rows_before_place(place: Integers, rows: Integers) -> Integers:
    """How many of the rows of a leaf lie before one of its places: int64 array (n,)."""
    whole, rest = rows // (2 * PIECES), rows % (2 * PIECES)  # so that products fit 64 bits
    return np.asarray(whole * (2 * place + 1) + (rest * (2 * place + 1) + PIECES) // (2 * PIECES))


def _first_place(before: Integers, rows: Integers) -> Integers:
    """The first place of a leaf that has so many of its rows before it; of few rows."""
    few = np.clip(rows, 1, PIECES)
    return np.asarray(np.clip(-((few - PIECES * (2 * before - 1)) // (2 * few)), 0, PIECES))
