"""Proposals of numbers with their ends where one leaf is likely, as in a heap, and few of its outcomes are.

A proposal of `surrounded_quantile` has a leaf x with its weight w e^(-d/scale) and one of all outcomes, of the weight W
in all. In a heap only the narrowest ends are sure, of a weight of one or so: of W proposals one is taken. So the
likeliest leaf x of a part gets outcomes of its own: with v(o) the weight of an outcome times e^(-(its distance -
d)/scale), where that is the farther one, take integers c(o) >= v(o) of sum C. The leaf gets a weight of w C/W instead
of w, an outcome o is proposed with probability c(o)/C, and taken with probability v(o)/c(o).

Law. The leaf is then drawn with o with probability w e^(-d/scale) v(o)/W but for the common factor, and all other
leaves as before: that is the same law. Weights are whole numbers of 2^-k, so w C/W is rounded up, and a proposal kept
with the quotient, a rational. v(o)/c(o) is 1 where ends are no farther than x; else it is decided by digits of v(o), as
many as are needed: floats only say where few are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from discreet.noise import entropy
from discreet.noise.entropy import undivided
from discreet.noise.weighted_choice import FINER, MOST, below, uniform_below, value

if TYPE_CHECKING:
    from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts
    from discreet.mechanisms.ranks.sparse_counts import SparseCounts

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
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

    def beside(
        self, counts: SparseCounts, parts: Parts, leaf: Integers, outcome: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Lower and upper end, and distance of the ends."""


@dataclass(frozen=True)
class LikelyLeaf:
    """The likeliest leaf of each part, and the proposals with it.

    Attributes:
        candidates: of all parts.
        weights: of the candidates, in 2^-k, with that of the likely leaves.
        gaps: the distances of the candidates.
        candidate: int64 array (parts,): which one is the likely leaf; -1 where there is none.
        kept: (C w, c W), int64 array (parts, 2): a proposal is kept with the quotient of the two.
        shares: c(o), int64 array (parts, outcomes).
        own: the weight of each outcome, likewise.
        farther: by how much the ends are farther than the leaf, likewise.
        scale: of the distances.
    """

    candidates: Candidates
    weights: Integers
    gaps: Integers
    candidate: Integers
    kept: Integers
    shares: Integers
    own: Integers
    farther: Integers
    scale: Fraction

    @classmethod
    def of(cls, mechanism: Proposing, counts: SparseCounts, parts: Parts) -> LikelyLeaf:
        """Find them: those of the greatest weight times e^(-distance/scale), where they are one leaf."""
        some, weights, gaps = mechanism.choices(counts, parts)
        scale, whole, size = mechanism.scale * mechanism.q.denominator, mechanism.weights, len(parts.group)
        with np.errstate(divide="ignore"):
            order = np.lexsort((np.log(weights) - gaps / float(scale), some.part))
        at = order[np.append(some.starts[1:], len(order)) - 1]
        single = (some.stop[at] - some.start[at] == 1) & ~some.far[at]
        part, outcome = np.repeat(np.arange(size), len(whole)), np.tile(np.arange(len(whole)), size)
        leaf = np.where(single, some.start[at], parts.low)[part]
        _, _, beside = mechanism.beside(counts, parts[part], leaf, outcome)
        farther = np.clip(beside - gaps[at][part], 0, mechanism.most)
        own = whole[outcome]
        own[beside >= 1 << 62] = 0  # outside the range
        most = own * np.exp(-farther / float(scale)) * (1 + ROUNDED)
        shares = np.where(farther, np.minimum(own, most.astype(np.int64) + 1), own)
        shares, own, farther = (one.reshape(size, -1) for one in (shares, own, farther))
        total, every = shares.sum(axis=1), int(whole.sum())
        bits = max(
            0, (MOST >> 1).bit_length() - 1 - int(np.add.reduceat(weights, some.starts).max()).bit_length()
        )
        single &= weights[at].astype(np.float64) * 2.0**bits * every < _WIDE
        wanted = np.where(single, weights[at] * total << bits, 0)
        given = -(-wanted // every)
        weights = weights << bits
        weights[at[single]] = given[single]
        kept = np.stack([wanted, given * every], axis=1)
        return cls(some, weights, gaps, np.where(single, at, -1), kept, shares, own, farther, scale)

    def outcomes(self, part: Integers) -> tuple[Integers, Bools]:
        """Draw an outcome for each proposal of the likely leaf of a part, and whether it is taken."""
        ends = np.cumsum(self.shares).reshape(self.shares.shape)
        total = self.shares.sum(axis=1)
        place = uniform_below(total[part]) + (ends[:, -1] - total)[part]
        outcome = np.searchsorted(ends.ravel(), place, "right") - part * self.shares.shape[1]
        taken = uniform_below(self.kept[part, 1]) < self.kept[part, 0]
        farther, own, share = (one[part, outcome] for one in (self.farther, self.own, self.shares))
        units = uniform_below(share << FINER)
        bound = own * np.exp(-farther / float(self.scale)) * 2**FINER
        taken &= (units <= bound * (1 + ROUNDED) + 1) | (farther == 0)
        open_ = taken & (farther > 0) & (units >= bound * (1 - ROUNDED) - 2)
        for at in np.flatnonzero(open_):
            taken[at] = _below(int(units[at]), int(own[at]), Fraction(int(farther[at])) / self.scale)
        return outcome, taken


@undivided
def _below(units: int, weight: int, gap: Fraction) -> bool:
    """Whether so many units and a uniform fraction of one are below weight e^-gap."""
    return below(entropy.system(), units, value(weight, gap))
