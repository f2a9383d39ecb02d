"""Totals without a last period: epochs of 1, 2, 4, … periods, each with a strategy of its own.

Epoch k begins with period 2^k and is as long as all before it and one more (the hybrid mechanism of Chan, Shi and Song
2011, section 4). Rows of different epochs share no node, so R has the R_k of the epochs as diagonal blocks, and each
block is paid for as if it were alone: it is multiplied by the largest integer m_k with which its columns stay below a
common norm, so that one noise scale fits all. The running total is the sum of the totals of the epochs before and of
the epoch that runs: the error after t periods grows with t alone, for any horizon.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.streams.strategy import Strategy
from discreet.streams.toeplitz import SquareRoot
from discreet.streams.tree import Tree

if TYPE_CHECKING:
    from discreet.streams.strategy import Floats, Integers

UNBOUNDED: Final = (1 << 17) - 1
"""So many periods has a stream for which no number was said: 358 years of days, 91 days of minutes."""
_L1: Final = 1 << 16
_L2: Final = 1 << 10
"""About the common norms. Gaussian noise is drawn up to a variance of 2^50, which leaves less room."""
_BITS: Final = 6


class Doubling(Strategy):
    """Epochs, each twice as long as the one before.

    Args:
        periods: T; the last epoch is cut off there.
        gaussian: whether its noise will be Gaussian, which the strategies of the epochs are chosen for.

    Example:
        >>> short, long = Doubling(60), Doubling(6000)
        >>> [round(math.sqrt(2 * strategy.gains[59]) * strategy.l1, 1) for strategy in (short, long)]
        [11.0, 11.0]
    """

    name = "doubling"
    words = "epochs that double, each with a tree or a root of its own; the horizon does not matter"

    def __init__(self, periods: int, gaussian: bool = False) -> None:
        super().__init__(periods)
        self.gaussian_noise = gaussian
        lengths = [min(1 << k, periods + 1 - (1 << k)) for k in range(periods.bit_length())]
        self._inner = [_best(length, gaussian) for length in lengths]
        self._times = [
            max(1, math.isqrt(_L2**2 // strategy.l2_squared) if gaussian else _L1 // strategy.l1)
            for strategy in self._inner
        ]
        self._begins = np.cumsum(
            [0, *(strategy.nodes(strategy.periods) for strategy in self._inner)]
        ).tolist()

    @property
    def l1(self) -> int:
        """The largest of the blocks."""
        return max(m * strategy.l1 for m, strategy in zip(self._times, self._inner, strict=True))

    @property
    def l2_squared(self) -> int:
        """The largest of the blocks."""
        return max(m**2 * strategy.l2_squared for m, strategy in zip(self._times, self._inner, strict=True))

    @property
    def row(self) -> int:
        """The largest of the blocks."""
        return max(m * strategy.row for m, strategy in zip(self._times, self._inner, strict=True))

    def nodes(self, t: int) -> int:
        """Those of the epochs before, and of the one that runs."""
        if not t:
            return 0
        k, own = _epoch(t)
        return int(self._begins[k]) + self._inner[k].nodes(own)

    def exact(self, t: int, counts: Integers) -> Integers:
        """The nodes of the epoch, which sees its own periods only."""
        k, own = _epoch(t)
        first = (1 << k) - 1
        return self._times[k] * self._inner[k].exact(own, counts[first : first + self._inner[k].periods])

    def weights(self, t: int) -> Floats:
        """The totals of all epochs so far."""
        return self.between(0, t)

    def between(self, s: int, t: int) -> Floats:
        """The totals of the parts of all epochs."""
        parts = []
        for k, strategy in enumerate(self._inner[: _epoch(t)[0] + 1]):
            before = (1 << k) - 1
            first, last = max(0, s - before), min(t - before, strategy.periods)
            if first >= strategy.periods:
                parts.append(np.zeros(strategy.nodes(strategy.periods)))
            else:
                parts.append(strategy.between(first, last) / self._times[k])
        return np.concatenate(parts)

    @cached_property
    def gains(self) -> Floats:
        """The sums of those of the epochs."""
        out, before = [], 0.0
        for m, strategy in zip(self._times, self._inner, strict=True):
            own = strategy.gains / m**2
            out.append(before + own)
            before += float(own[-1])
        return np.concatenate(out)


def _epoch(t: int) -> tuple[int, int]:
    """The epoch of a period, and its number in there."""
    k = t.bit_length() - 1
    return k, t - (1 << k) + 1


def _best(periods: int, gaussian: bool) -> Strategy:
    """The strategy of an epoch."""
    tree = Tree(periods, gaussian=gaussian)
    if not gaussian or periods > SquareRoot.most:
        return tree
    return min(tree, SquareRoot(periods, _BITS), key=lambda strategy: strategy.gaussian())
