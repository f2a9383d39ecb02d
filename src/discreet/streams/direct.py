"""Strategies without structure: a node for each period, or for each running total."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal
from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.streams.strategy import Floats, Integers

_SCALE: Final = 1 << 30


class PerPeriod(Strategy):
    """Each period by itself, in parallel: R is the identity. A row is in one period, so none shares its noise.

    Example:
        >>> round(PerPeriod(30).laplace(), 2), round(PerPeriod(2048).laplace(), 1)
        (5.57, 45.3)
    """

    name = "period"
    words = "each period by itself"
    l1 = 1
    l2_squared = 1

    def exact(self, t: int, counts: Integers) -> Integers:
        """The count of the period."""
        return counts[t - 1 : t].copy()

    def weights(self, t: int) -> Floats:
        """One for each period so far."""
        return np.ones(t)

    @property
    def gains(self) -> Floats:
        """The numbers of periods so far."""
        return np.arange(1.0, self.periods + 1)

    def window_gains(self, window: int) -> Floats:
        """The numbers of periods in the window."""
        return np.minimum(self.gains, window)

    def between(self, s: int, t: int) -> Floats:
        """One for each of these periods."""
        out = np.ones(t)
        out[:s] = 0
        return out


class EvenSplit(Strategy):
    """Each running total by itself, with an equal share of epsilon: R = A, and a row of the first period is in all.

    Example:
        >>> round(EvenSplit(30).laplace(), 1)
        42.4
    """

    name = "even"
    words = "each running total with an equal share of epsilon"

    @property
    def l1(self) -> int:
        """All periods."""
        return self.periods

    @property
    def l2_squared(self) -> int:
        """All periods."""
        return self.periods

    def exact(self, t: int, counts: Integers) -> Integers:
        """The running total."""
        return np.asarray(counts[:t].sum(axis=0, keepdims=True), np.int64)

    def weights(self, t: int) -> Floats:
        """The node of this total."""
        return _last(t, 1.0)

    @property
    def gains(self) -> Floats:
        """Ones."""
        return np.ones(self.periods)

    def window_gains(self, window: int) -> Floats:
        """One node at the begin, then two."""
        return _two(self.gains, window)


class Fraction(Strategy):
    """Each running total by itself, with a fraction of the epsilon that remains: row t of R is A times its share.

    Shares are rounded to a fine grid of integers, as R is exact.

    Args:
        periods: T.
        fraction: of the rest, strictly between 0 and 1.

    Example:
        >>> round(Fraction(30, 0.1).laplace())
        126
    """

    name = "fraction"
    words = "each running total with a tenth of the epsilon that remains"
    most = 4096

    def __init__(self, periods: int, fraction: Number = 0.1) -> None:
        super().__init__(periods)
        self.fraction = decimal(fraction, "fraction")
        if not 0 < self.fraction < 1:
            raise InvalidParameter("fraction is not strictly between 0 and 1.", "Give 0.1, say.")

    @cached_property
    def _shares(self) -> list[int]:
        rest, left = 1 - self.fraction, float(_SCALE)
        shares = []
        for _ in range(self.periods):
            shares.append(max(1, round(left * float(self.fraction))))
            left *= float(rest)
        return shares

    @property
    def l1(self) -> int:
        """All of epsilon, of which the remainder stays unspent; more where late shares are one step at least."""
        return max(_SCALE, sum(self._shares))

    @property
    def row(self) -> int:
        """The largest share of one total, as often as it has periods."""
        return max(t * share for t, share in enumerate(self._shares, 1))

    @property
    def l2_squared(self) -> int:
        """The sum of the squares of all shares."""
        return sum(share * share for share in self._shares)

    def exact(self, t: int, counts: Integers) -> Integers:
        """The running total, in steps of its share."""
        return np.asarray(counts[:t].sum(axis=0, keepdims=True) * self._shares[t - 1], np.int64)

    def weights(self, t: int) -> Floats:
        """The node of this total, out of its share."""
        return _last(t, 1 / self._shares[t - 1])

    @property
    def gains(self) -> Floats:
        """The inverse squares of the shares."""
        return np.array(self._shares, np.float64) ** -2

    def window_gains(self, window: int) -> Floats:
        """One node at the begin, then two."""
        return _two(self.gains, window)


def _last(t: int, weight: float) -> Floats:
    out = np.zeros(t)
    out[-1] = weight
    return out


def _two(gains: Floats, window: int) -> Floats:
    out = gains.copy()
    out[window:] += gains[:-window] if window < len(gains) else 0
    return out
