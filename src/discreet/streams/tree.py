"""The tree of counts, with all of its nodes averaged honestly.

Node (k, e) is the count of the b^k periods that end with e, where b^k divides e and k is below the height h; b = 2 is
the binary tree (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011). A period is in one node of each
level, so a column of R has at most h ones. With the full height, floor(log_b T) + 1, the running total at t is the sum
of as many nodes as its digits in base b add up to; a lower tree has fewer levels to pay for and adds up several nodes
of its highest one. A larger b has fewer levels and more nodes to add up, which pays under Laplace noise, whose price is
the number of levels and not its root (Qardaji, Yang and Li 2013).

Each of those nodes is the root of a complete subtree, all of whose nodes are known. The best estimate of a root without
bias is its own noisy value with weight u, and the sum of the best estimates of its b parts with 1 - u. With noise of
variance 1 its variance is u, by 1/u_k = 1 + 1/(b u_(k-1)) and u_0 = 1 (Honaker 2015; Hay, Rastogi, Miklau and Suciu
2010). The subtrees are disjoint, so the variance of the total is the sum of their u_k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.streams.strategy import Floats, Integers

MOST_BRANCHES: Final = 64
_SEEN: Final = 1024
"""So many periods of a window tell its error."""


class Tree(Strategy):
    """The tree.

    Args:
        periods: T.
        height: how many levels; by default those with the least error, with the branches that have it.
        averaged: whether all nodes of the past are used; else only the roots, as in the first papers.
        branches: b; by default 2 where the height is said.
        gaussian: whether the error is that under Gaussian noise; else it is that under Laplace noise.
        window: whether it is the error of totals of so many periods; else it is that of running totals.

    Raises:
        InvalidParameter: no such number of periods, levels or branches.

    Example:
        >>> published = Tree(30, height=5, averaged=False), Tree(2048, height=12, averaged=False)
        >>> [round(tree.laplace(), 1) for tree in published], [round(Tree(t).laplace(), 1) for t in (30, 2048)]
        ([11.2, 39.8], [5.6, 17.3])
        >>> Tree(365).branches, Tree(365).height
        (18, 2)
    """

    name = "tree"
    words = "a tree of counts, averaged"

    def __init__(
        self,
        periods: int,
        height: int | None = None,
        averaged: bool = True,
        branches: int | None = None,
        *,
        gaussian: bool = False,
        window: int = 0,
    ) -> None:
        super().__init__(periods)
        self.averaged = averaged
        if height is None:
            self.branches, self.height = _best(periods, averaged, branches, gaussian, window)
            return
        self.branches = 2 if branches is None else branches
        if not 2 <= self.branches <= MOST_BRANCHES:
            raise InvalidParameter(f"The branches are not from 2 to {MOST_BRANCHES}.", "Leave them out.")
        full = _levels(periods, self.branches)
        if not 1 <= height <= full:
            raise InvalidParameter(f"The height is not from 1 to {full}.", "Leave it out.")
        self.height = height

    @property
    def l1(self) -> int:
        """The number of levels."""
        return self.height

    @property
    def l2_squared(self) -> int:
        """The number of levels."""
        return self.height

    def nodes(self, t: int) -> int:
        """Nodes that end at t or before: t at the lowest level, a b-th of them at the next, and so on."""
        return int(self._before(np.array([t]))[0])

    def _before(self, ends: Integers) -> Integers:
        out = np.zeros_like(ends)
        for k in range(self.height):
            out += ends // self._size(k)
        return out

    def exact(self, t: int, counts: Integers) -> Integers:
        """The counts of all nodes that end with period t, smallest first."""
        sizes = (self._size(k) for k in range(self.height))
        return np.stack([counts[t - size : t].sum(axis=0) for size in sizes if t % size == 0])

    def weights(self, t: int) -> Floats:
        """The averaged roots of the subtrees up to t."""
        return self.between(0, t)

    def between(self, s: int, t: int) -> Floats:
        """The averaged roots of the fewest subtrees that make up these periods."""
        out = np.zeros(self.nodes(t))
        for k in range(self.height):
            size, above = self._size(k), self._size(k + 1)
            top = k == self.height - 1
            while s < t and (top or s % above):
                s += size
                self._spread(out, k, s)
            while s < t and t % above:
                self._spread(out, k, t)
                t -= size
        return out

    def _spread(self, out: Floats, level: int, end: int) -> None:
        """Put the weight of a root, one, on its subtree: its own share, the rest on all parts, and so on down."""
        ends, weight = np.array([end]), 1.0
        for k in range(level, -1, -1):
            own = self._share(k)
            out[self._before(ends - 1) + k] = weight * own
            weight *= 1 - own
            if not weight or not k:
                return
            ends = (ends[:, np.newaxis] - self._size(k - 1) * np.arange(self.branches)).ravel()

    @property
    def gains(self) -> Floats:
        """The sums of u_k over the subtrees up to t."""
        return self.window_gains(self.periods)

    def window_gains(self, window: int) -> Floats:
        """The sums of u_k over the subtrees of the window."""
        t = np.arange(1, self.periods + 1)
        s = np.maximum(0, t - window)
        out = np.zeros(self.periods)
        for k in range(self.height):
            size, above = self._size(k), self._size(k + 1)
            there = (t - s) // size
            left = there if k == self.height - 1 else np.minimum(-s % above // size, there)
            right = np.minimum(t % above // size, there - left)
            s, t = s + left * size, t - right * size
            out += (left + right) * self._share(k)
        return out

    def rms(self, window: int = 0) -> float:
        """The same by the sums of digits, which need no array."""
        if window:
            seen = min(self.periods, max(_SEEN, 4 * window))
            return math.sqrt(
                float(Tree(seen, self.height, self.averaged, self.branches).window_gains(window).mean())
                if self.height <= _levels(seen, self.branches)
                else super().rms(window) ** 2
            )
        total = sum(self._share(k) * self._digits(k) for k in range(self.height))
        return math.sqrt(total / self.periods)

    def _digits(self, k: int) -> int:
        """The sum over t = 0 … T of the digits of level k, of which the highest one has no end."""
        size, numbers = self._size(k), self.periods + 1
        cycle = size * self.branches if k < self.height - 1 else numbers + size
        whole, rest = divmod(numbers, cycle)
        last = rest // size
        full = size * (cycle // size) * (cycle // size - 1) // 2 if whole else 0
        return whole * full + size * last * (last - 1) // 2 + (rest - last * size) * last

    def weights_of_period(self, t: int) -> Floats:
        """The lowest node of the period."""
        out = np.zeros(self.nodes(t))
        out[self.nodes(t - 1)] = 1.0
        return out

    def _size(self, k: int) -> int:
        """The number of periods of a node."""
        return int(self.branches**k)

    def _share(self, k: int) -> float:
        """The weight of a root of level k in its own best estimate, which is that estimate's variance."""
        return _shares(self.branches, k)[k] if self.averaged else 1.0


def _levels(periods: int, branches: int) -> int:
    """The full height."""
    out = 1
    while branches**out <= periods:
        out += 1
    return out


@lru_cache(maxsize=1024)
def _shares(branches: int, last: int) -> list[float]:
    out = [1.0]
    for _ in range(last):
        out.append(1 / (1 + 1 / (branches * out[-1])))
    return out


@lru_cache(maxsize=1024)
def _best(periods: int, averaged: bool, branches: int | None, gaussian: bool, window: int) -> tuple[int, int]:
    """The branches and the height with the least error; the first of equal ones."""

    def made() -> Iterator[Tree]:
        for b in range(2, max(2, min(MOST_BRANCHES, periods)) + 1) if branches is None else [branches]:
            for height in range(1, _levels(periods, b) + 1):
                yield Tree(periods, height, averaged, b)

    best = min(made(), key=lambda tree: tree.gaussian(window) if gaussian else tree.laplace(window))
    return best.branches, best.height
