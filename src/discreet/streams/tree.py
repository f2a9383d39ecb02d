"""The binary tree of counts, with all of its nodes averaged honestly.

Node (k, e) is the count of the 2^k periods that end with e, where 2^k divides e and k is below the height h (Dwork,
Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011). A period is in one node of each level, so a column of R has
at most h ones. With the full height, floor(log2 T) + 1, the running total at t is the sum of one node for each binary
one of t; a lower tree has fewer levels to pay for and adds up several nodes of its highest one.

Each of those nodes is the root of a complete subtree, all of whose nodes are known. The best estimate of a root without
bias is its own noisy value with weight u, and the sum of the best estimates of its halves with 1 - u. With noise of
variance 1 its variance is u, by 1/u_k = 1 + 1/(2 u_(k-1)) and u_0 = 1, so u_k = 2^k/(2^(k+1) - 1): a half for large
ones (Honaker 2015; Hay, Rastogi, Miklau and Suciu 2010). The subtrees are disjoint, so the variance of the total is
the sum of their u_k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InvalidParameter
from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.streams.strategy import Floats, Integers


class Tree(Strategy):
    """The binary tree.

    Args:
        periods: T.
        height: how many levels; by default those with the least error.
        averaged: whether all nodes of the past are used; else only the roots, as in the first papers.
        gaussian: whether that is the error under Gaussian noise; else it is that under Laplace noise.
        window: whether that is the error of totals of so many periods; else it is that of running totals.

    Raises:
        InvalidParameter: no such number of periods or levels.

    Example:
        >>> published = Tree(30, height=5, averaged=False), Tree(2048, height=12, averaged=False)
        >>> [round(tree.laplace(), 1) for tree in published], [round(Tree(t).laplace(), 1) for t in (30, 2048)]
        ([11.2, 39.8], [5.6, 25.9])
    """

    name = "tree"
    words = "a binary tree of counts, averaged"

    def __init__(
        self, periods: int, height: int | None = None, averaged: bool = True, gaussian: bool = False,
        window: int = 0,
    ) -> None:
        super().__init__(periods)
        full = periods.bit_length()
        self.averaged = averaged
        self.height = full
        if height is None:
            made = [Tree(periods, levels, averaged) for levels in range(1, full + 1)]
            best = min(made, key=lambda one: one.gaussian(window) if gaussian else one.laplace(window))
            self.height = best.height
        elif 1 <= height <= full:
            self.height = height
        else:
            raise InvalidParameter(f"The height is not from 1 to {full}.", "Leave it out.")

    @property
    def l1(self) -> int:
        """The number of levels."""
        return self.height

    @property
    def l2_squared(self) -> int:
        """The number of levels."""
        return self.height

    def nodes(self, t: int) -> int:
        """Nodes that end at t or before: t at the lowest level, half of them at the next, and so on."""
        return int(self._before(np.array([t]))[0])

    def _before(self, ends: Integers) -> Integers:
        above = ends >> self.height
        return np.asarray(2 * (ends - above) - np.bitwise_count(ends) + np.bitwise_count(above), np.int64)

    def exact(self, t: int, counts: Integers) -> Integers:
        """The counts of all nodes that end with period t, smallest first."""
        levels = min((t & -t).bit_length(), self.height)
        return np.stack([counts[t - (1 << k) : t].sum(axis=0) for k in range(levels)])

    def weights(self, t: int) -> Floats:
        """The averaged roots of the subtrees up to t."""
        return self.between(0, t)

    def between(self, s: int, t: int) -> Floats:
        """The averaged roots of the fewest subtrees that make up these periods."""
        out = np.zeros(self.nodes(t))
        top = self.height - 1
        for k in range(top):
            if s >> k & 1 and s < t:
                s += 1 << k
                self._spread(out, k, s)
            if t >> k & 1 and s < t:
                self._spread(out, k, t)
                t -= 1 << k
        for end in range(s, t, 1 << top):
            self._spread(out, top, end + (1 << top))
        return out

    def _spread(self, out: Floats, level: int, end: int) -> None:
        """Put the weight of a root, one, on its subtree: its own share, the rest on both halves, and so on down."""
        ends, weight = np.array([end]), 1.0
        for k in range(level, -1, -1):
            own = self._share(k)
            out[self._before(ends - 1) + k] = weight * own
            weight *= 1 - own
            if not weight or not k:
                return
            ends = np.concatenate([ends - (1 << (k - 1)), ends])

    @property
    def gains(self) -> Floats:
        """The sums of u_k over the subtrees up to t."""
        t, top = np.arange(1, self.periods + 1), self.height - 1
        out = np.asarray((t >> top) * self._share(top), np.float64)
        for k in range(top):
            out += (t >> k & 1) * self._share(k)
        return out

    def window_gains(self, window: int) -> Floats:
        """The sums of u_k over the subtrees of the window."""
        t = np.arange(1, self.periods + 1)
        s, top = np.maximum(0, t - window), self.height - 1
        out = np.zeros(self.periods)
        for k in range(top):
            left = (s >> k & 1) * (s < t)
            s = s + (left << k)
            right = (t >> k & 1) * (s < t)
            t = t - (right << k)
            out += (left + right) * self._share(k)
        return out + ((t - s) >> top) * self._share(top)

    def weights_of_period(self, t: int) -> Floats:
        """The lowest node of the period."""
        out = np.zeros(self.nodes(t))
        out[self.nodes(t - 1)] = 1.0
        return out

    def _share(self, k: int) -> float:
        """The weight of a root of 2^k periods in its own best estimate, which is that estimate's variance."""
        return 1 / (2 - 2.0**-k) if self.averaged else 1.0
