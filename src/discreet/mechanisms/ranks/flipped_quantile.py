"""One quantile by permute-and-flip on ranks, for grids of few leaves.

A coin is tossed for each leaf, True with probability e^(-(d - d*)/scale), d its distance from the quantile as in
`quantile` and d* the least; of the leaves whose coin is True one is taken uniformly, which is the first of them in a
random order (McKenna and Sheldon 2020). The leaf at d* is always one of them.

Proof. All leaves weigh the same, and one unit moves each distance by at most `moves` in all: permute-and-flip with
scores -d is private as `permute_and_flip` proves, at the price of the exponential mechanism, 2 moves/scale. In several
groups the parts add up, as there.

Error. Never more than that of the exponential mechanism in the mean, and down to a half where few leaves are good:
where the quantile lies D rows inside of many equal values, the next value is taken with a probability of e^(-D/scale)/2
instead of 1/(1 + e^(D/scale)).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.noise.bernoulli import bernoulli_exp
from discreet.noise.weighted_choice import uniform_below
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FEW: Final = 256
"""Up to so many leaves of equal weight a coin is tossed for each."""
COINS: Final = 1 << 20
"""How many coins are tossed at a time."""


@dataclass(frozen=True, init=False)
class FlippedQuantile(ExponentialQuantile):
    """The same, by permute-and-flip; parameters, guarantee and errors are those of `ExponentialQuantile`.

    Source and proof: the module's text. A measure with leaves of several weights is none for it.

    Example:
        >>> from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
        >>> counts = SparseCounts.of(1, 9, np.zeros(3), np.array([4, 4, 7]), np.ones(3))
        >>> bool(0 <= FlippedQuantile(10, 0.5, LeafMeasure.over(9)).release(counts)[0] < 9)
        True
    """

    def choose(self, counts: SparseCounts, parts: Parts, margin: Integers, bound: int = 0) -> Integers:
        """The same as of `ExponentialQuantile`; without a bound."""
        assert not bound, "a bound weighs more than a leaf"
        out = np.empty(len(margin), np.int64)
        size = max(1, COINS // self.measure.leaves)
        for begin in range(0, len(out), size):
            here = np.arange(begin, min(begin + size, len(out)))
            leaf, off, starts = self._leaves(Candidates.of(counts, self.measure, parts[here]), margin[here])
            heads = np.flatnonzero(bernoulli_exp(off, scale=self._scale))
            first = np.searchsorted(heads, np.append(starts, len(leaf)))
            out[here] = leaf[heads[first[:-1] + uniform_below(np.diff(first))]]
        return out

    def law(self, some: Candidates, margin: Integers, bound: int = 0) -> Floats:
        """The law of `choose` by candidate: float64 array (n,)."""
        leaf, off, starts = self._leaves(some, margin)
        out = np.zeros(len(some.start))
        mechanism = PermuteAndFlip(self.epsilon, self.moves * self.q.denominator)
        for part, (first, last) in enumerate(zip(starts, np.append(starts[1:], len(leaf)), strict=True)):
            own = np.flatnonzero((some.part == part) & (some.start < some.stop))
            place = own[np.searchsorted(some.start[own], leaf[first:last], "right") - 1]
            np.add.at(out, place, mechanism.probabilities(-off[first:last]))
        return out

    def _leaves(self, some: Candidates, margin: Integers) -> tuple[Integers, Integers, Integers]:
        """All leaves that may be chosen, how much farther each is than the nearest, and where those of a part begin."""
        many = some.stop - some.start
        candidate = np.repeat(np.arange(len(many)), many)
        leaf = some.start[candidate] + np.arange(len(candidate)) - (np.cumsum(many) - many)[candidate]
        starts = (np.cumsum(many) - many)[some.starts]
        off = some.distances(self.q, margin)[candidate]
        return leaf, off - np.minimum.reduceat(off, starts)[some.part[candidate]], starts
