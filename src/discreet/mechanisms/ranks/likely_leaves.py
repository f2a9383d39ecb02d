"""Proposals of numbers with their ends, by outcomes of the likely leaves alone: a heap, several, or few values.

A proposal of `surrounded_quantile` has a leaf x with its weight w e^(-d/scale) and one of all outcomes, of the weight W
in all. Where values lie in a small part of a fine grid only narrow ends are sure, of a weight of one or so: of W
proposals one is taken. So the leaves of a part that are near the quantile get outcomes of their own, the same for all
of them. With v(x, o) the weight of an outcome times e^(-(its distance - d)/scale), where that is the farther one, take
integers c(o) >= v(x, o) for each such leaf, of sum C. Each of these leaves gets a weight of w C/W instead of w, an
outcome o is proposed with probability c(o)/C, and taken with probability v(x, o)/c(o).

Law. Such a leaf is then drawn with o with probability w e^(-d/scale) v(x, o)/W but for the common factor, and all other
leaves as before: that is the same law, whichever leaves are taken for likely. Weights are whole numbers of 2^-k, so
w C/W is rounded up, and a proposal kept with the quotient, a rational. v(x, o)/c(o) is 1 where ends are no farther than
x; else it is decided by digits of v(x, o), as many as are needed: floats only say where few are enough.

Time. The likely leaves are those up to so many of `WITHIN` scales from the quantile that fewest proposals are expected,
p C + (1 - p) W with p their chance. c(o) comes from the least distance of the outcome around any of them, which is
found from the first and the last leaf: rows before a leaf only grow. Ends as narrow as those leaves stand wide, or up
to four times as wide, get a part of C, and weights grow with the radius, so that hardly more than ten of them count.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from discreet.noise import entropy
from discreet.noise.entropy import undivided
from discreet.noise.weighted_choice import FINER, MOST, below, uniform_below, value
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts
    from discreet.mechanisms.ranks.sparse_counts import SparseCounts

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
WITHIN: Final = (0, 1, 4, 16)
"""Leaves up to so many scales from the quantile are tried as the likely ones."""
ROUNDED: Final = 1e-9
"""A part that floats are surely off by less."""
_WIDE: Final = 1 << 61


class Proposing(Protocol):
    """The parts of `surrounded_quantile.SurroundedQuantile` that proposals are made of."""

    @property
    def scale(self) -> Fraction:
        """Of distances in rows."""

    @property
    def q(self) -> Fraction:
        """Which quantile."""

    @property
    def weights(self) -> Integers:
        """Of the outcomes."""

    @property
    def most(self) -> int:
        """The distance that stands for all that are more."""

    def choices(self, counts: SparseCounts, parts: Parts) -> tuple[Candidates, Integers, Integers]:
        """The candidates of each part, their weights and their distances."""

    def least(
        self, counts: SparseCounts, parts: Parts, first: Integers, last: Integers, outcome: Integers
    ) -> Integers:
        """The least distance of the ends around any leaf from the first to the last."""


@dataclass(frozen=True)
class LikelyLeaves:
    """The likely leaves of each part, and the proposals with them.

    Attributes:
        candidates: of all parts.
        weights: of the candidates, in 2^-k, with those of the likely leaves.
        gaps: the distances of the candidates.
        likely: bool array (candidates,): which are likely leaves.
        kept: (C w, c W), int64 array (candidates, 2): a proposal of a likely leaf is kept with the quotient of the two.
        shares: c(o), int64 array (parts, outcomes).
        own: the weight of each outcome, int64 array (outcomes,).
        scale: of the distances.
    """

    candidates: Candidates
    weights: Integers
    gaps: Integers
    likely: Bools
    kept: Integers
    shares: Integers
    own: Integers
    scale: Fraction

    @classmethod
    def of(cls, mechanism: Proposing, counts: SparseCounts, parts: Parts) -> LikelyLeaves:
        """Find them."""
        some, weights, gaps = mechanism.choices(counts, parts)
        scale, own, every = (
            mechanism.scale * mechanism.q.denominator,
            mechanism.weights,
            int(mechanism.weights.sum()),
        )
        heaviest = int(np.add.reduceat(weights, some.starts).max())
        bits = max(0, (MOST >> 1).bit_length() - 1 - heaviest.bit_length())
        possible = (weights > 0) & ~some.far & (weights.astype(np.float64) * 2.0**bits * float(every) < _WIDE)
        weighed = weights * np.exp(-gaps / float(scale))
        chance = weighed / np.add.reduceat(weighed, some.starts)[some.part]
        likely = np.zeros(len(weights), np.bool_)
        shares, fewest = np.tile(own, (len(parts.group), 1)), np.full(len(parts.group), float(every))
        for within in WITHIN:
            tried = possible & (gaps <= math.floor(within * scale))
            mine = _shares(mechanism, counts, parts, some, gaps, tried)
            inside = np.add.reduceat(np.where(tried, chance, 0.0), some.starts)
            expected = inside * mine.sum(axis=1) + (1 - inside) * float(every)
            better = expected < fewest
            fewest, shares = np.where(better, expected, fewest), np.where(better[:, None], mine, shares)
            likely = np.where(better[some.part], tried, likely)
        weights = weights << bits
        wanted = np.where(likely, np.where(likely, weights, 0) * shares.sum(axis=1)[some.part], 0)
        given = -(-wanted // every)
        weights[likely] = given[likely]
        return cls(some, weights, gaps, likely, np.stack([wanted, given * every], axis=1), shares, own, scale)

    def outcomes(self, part: Integers) -> Integers:
        """Draw an outcome for each proposal of a likely leaf of a part."""
        ends = np.cumsum(self.shares).reshape(self.shares.shape)
        total = self.shares.sum(axis=1)
        place = uniform_below(total[part]) + (ends[:, -1] - total)[part]
        return np.asarray(np.searchsorted(ends.ravel(), place, "right") - part * self.shares.shape[1])

    def taken(self, chosen: Integers, outcome: Integers, farther: Integers) -> Bools:
        """Whether each of these proposals is taken.

        Args:
            chosen: which candidate has the leaf.
            outcome: as drawn by `outcomes`.
            farther: by how much the ends are farther than the leaf.
        """
        out = np.asarray(uniform_below(self.kept[chosen, 1]) < self.kept[chosen, 0])
        own, share = self.own[outcome], self.shares[self.candidates.part[chosen], outcome]
        units = uniform_below(share << FINER)
        bound = own * np.exp(-farther / float(self.scale)) * 2**FINER
        out &= (units <= bound * (1 + ROUNDED) + 1) | (farther == 0)
        open_ = out & (farther > 0) & (units >= bound * (1 - ROUNDED) - 2)
        for proposal in np.flatnonzero(open_):
            out[proposal] = _below(
                int(units[proposal]), int(own[proposal]), Fraction(int(farther[proposal])) / self.scale
            )
        return out


def _shares(
    mechanism: Proposing, counts: SparseCounts, parts: Parts, some: Candidates, gaps: Integers, likely: Bools
) -> Integers:
    """An integer c(o) for each outcome, at least its v(x, o) for each likely leaf: int64 array (parts, outcomes)."""
    scale, whole, size = mechanism.scale * mechanism.q.denominator, mechanism.weights, len(parts.group)
    first = np.minimum.reduceat(np.where(likely, some.start, 1 << 62), some.starts)
    last = np.maximum.reduceat(np.where(likely, some.stop - 1, -1), some.starts)
    none = last < 0
    first, last = (np.where(none, parts.low, leaf) for leaf in (first, last))
    farthest = np.maximum.reduceat(np.where(likely, gaps, 0), some.starts)
    part, outcome = np.repeat(np.arange(size), len(whole)), np.tile(np.arange(len(whole)), size)
    least = mechanism.least(counts, parts[part], first[part], last[part], outcome)
    farther = np.clip(least - farthest[part], 0, mechanism.most)
    own = whole[outcome]
    most = own * np.exp(-farther / float(scale)) * (1 + ROUNDED)
    out = np.where(farther, np.minimum(own, most.astype(np.int64) + 1), own)
    out[least >= 1 << 62] = 0  # outside the range
    return np.asarray(np.where(none[:, None], whole, out.reshape(size, -1)))


@undivided
def _below(units: int, weight: int, gap: Fraction) -> bool:
    """Whether so many units and a uniform fraction of one are below weight e^-gap."""
    return below(entropy.system(), units, value(weight, gap))
