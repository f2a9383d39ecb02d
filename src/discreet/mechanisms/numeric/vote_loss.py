"""The loss of labels by their votes, which is private itself and told with smooth noise (Papernot et al. 2017).

Let a row of votes have its winner o, and S = sum over the others j of e^(-gamma (n_o - n_j)). With geometric noise of
scale 1/gamma another name than o comes with a chance of at most q = S/(1 + e^-gamma). If q < 1/(e^(2 gamma) + 1), the
moment of order l of that label is at most (their theorem 3)

    ln((1 - q) ((1 - q)/(1 - e^(2 gamma) q))^l + q e^(2 gamma l)),

and in any case 2 gamma^2 l (l + 1) and 2 gamma l. Moments add up over the rows to F, and the loss at a delta is
(F + ln(1/delta))/l.

One person moves one vote in each row, so that u = -ln(S)/gamma moves by at most 2, and t, the whole part of the
computed u, by at most 3. A row costs A(t), which never rises. At distance k the sum F of a data set moves by at most
the sum over rows of the largest A(b - 3) - A(b) for b from t - 3 k to t + 3 k + 3; that is a bound L(k) on the local
sensitivity there, and L(k) is at most L(k + 1) of a neighbour. So max over k of L(k) r^k, for r = e^-beta or above, is
beta-smooth (Nissim, Raskhodnikova and Smith 2007), and F gets Cauchy noise of it for half of epsilon, as in
`mechanisms.numeric.smooth_cauchy`. Its logarithm moves by at most beta, and the other half tells it with Laplace
noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_count
from discreet.noise import laplace
from discreet.noise.digits import enclose_exp
from discreet.noise.large.cauchy import rounded_cauchy
from discreet.rational import Number, decimal, epsilon_of, positive
from discreet.records import dataclass

if TYPE_CHECKING:
    Integers = npt.NDArray[np.int64]

UNIT: Final = 1 << 30
"""Moments are whole multiples of 1/UNIT."""
FINE: Final = 1 << 16
"""Logarithms of sensitivities are whole multiples of 1/FINE."""
MOVE: Final = 3
"""By how much one person moves the t of a row."""
ORDERS: Final = 256
MISSED: Final = 0.025
"""The chance that either noise is beyond its bound."""
_BITS: Final = 40


def moments(gamma: float, order: int, teachers: int) -> Integers:
    """The moments A(t) of a row in units, rounded up, for t from 0 to the number of teachers: it never rises.

    Example:
        >>> found = moments(0.05, 8, 250)
        >>> round(int(found[0]) / UNIT, 6), bool(found[200] < found[0] / 10)
        (0.36, True)
    """
    always = min(2 * gamma**2 * order * (order + 1), 2 * gamma * order)
    q = np.exp(-gamma * np.arange(teachers + 1)) / (1 + math.exp(-gamma))
    q[0] = 1.0  # where others have as many votes, or more classes come together
    usable = np.minimum(q, 0.999 / (math.exp(2 * gamma) + 1))
    clear = np.log1p(-usable) + order * (np.log1p(-usable) - np.log1p(-math.exp(2 * gamma) * usable))
    by_votes = np.logaddexp(clear, np.log(usable) + 2 * gamma * order)
    found = np.where(q == usable, np.minimum(by_votes, always), always)
    return np.asarray(np.ceil(np.minimum.accumulate(found) * UNIT * (1 + 1e-9)), np.int64)


def clearness(votes: Any, gamma: float) -> Integers:
    """The t of each row of votes: how far its winner stands before all others together, at least 0."""
    ordered = np.sort(np.asarray(votes, np.int64), axis=1)
    gaps = (ordered[:, -1:] - ordered[:, :-1]).astype(np.float64)
    others = np.log(np.exp(-gamma * (gaps - gaps.min(axis=1, keepdims=True))).sum(axis=1))
    ahead = gaps.min(axis=1) - others / gamma
    found: Integers = np.maximum(np.floor(ahead), 0).astype(np.int64)
    return found


@dataclass(frozen=True)
class ToldLoss:
    """The loss of labels by their votes, told with noise.

    Attributes:
        epsilon: of the labels, an estimate, at the delta that was asked for.
        most: it is at most this with 95 %.
        price: of telling it, pure epsilon: it comes on top.
        order: of the moments.
    """

    epsilon: float
    most: float
    price: Fraction
    order: int


@dataclass(frozen=True)
class VoteLoss(PureLoss):
    """Tell how large the moments of some labels are, by their votes.

    Privacy: one call of `release` is epsilon-differentially private (pure) if between neighbours one voter changes its
    vote, in every row. Source and proof: the module's text.

    Args:
        epsilon: positive rational, of the telling.
        gamma: the labels have geometric noise of scale 1/gamma.
        count: how many rows of votes there are.
        teachers: how many vote.
        delta: at which the loss is wanted; it decides the order of the moments, with numbers that are public.

    Raises:
        InvalidParameter: a parameter outside its range.
    """

    epsilon: Fraction
    gamma: Fraction
    count: int
    teachers: int
    delta: Fraction

    def __init__(self, epsilon: Number, gamma: Number, count: int, teachers: int, delta: Number) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "gamma", positive(decimal(gamma, "gamma"), "gamma"))
        object.__setattr__(self, "count", read_count(count, "count", "Give the number of labels."))
        object.__setattr__(self, "teachers", read_count(teachers, "teachers", "Give how many there are."))
        object.__setattr__(self, "delta", decimal(delta, "delta"))
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta is not strictly between 0 and 1.", 'Give delta="1e-5".')

    @property
    def loss(self) -> Fraction:
        """The privacy loss of telling it: pure epsilon."""
        return self.epsilon

    @cached_property
    def order(self) -> int:
        """The best order if three quarters of the teachers agreed on every row: it depends on no vote."""
        clear = self.teachers // 2
        return min(
            range(1, ORDERS + 1),
            key=lambda order: self._at(order, int(self._moments(order)[clear]) * self.count),
        )

    def _moments(self, order: int) -> Integers:
        return moments(float(self.gamma), order, self.teachers)

    def _at(self, order: int, total: float) -> float:
        return (total / UNIT - math.log(self.delta)) / order

    @cached_property
    def _shrink(self) -> Fraction:
        """r, at least e^-beta for beta a sixth of half of epsilon."""
        return Fraction(enclose_exp(self.epsilon / 12, _BITS)[1], 1 << _BITS)

    def smooth(self, places: Integers) -> Fraction:
        """The smooth sensitivity of the sum, in units, for rows with these t."""
        cost = self._moments(self.order)
        fall = np.concatenate([np.full(MOVE, cost[0]), cost[:-MOVE]])[: len(cost)] - cost
        places = np.minimum(places, self.teachers)
        best, k, shrunk = Fraction(0), 0, Fraction(1)
        while True:
            low = np.maximum(places - MOVE * k, 0)
            high = np.minimum(places + MOVE * (k + 1), self.teachers)
            best = max(best, shrunk * int(_most(fall, low, high).sum()))
            if not low.any() and (high == self.teachers).all():
                return best
            k, shrunk = k + 1, shrunk * self._shrink

    def half_width(self, confidence: Number = 0.95) -> float:
        """By how much the epsilon may be wrong where all teachers agree on every row; more where they do not."""
        everywhere = self.smooth(np.full(self.count, self.teachers, np.int64))
        level = math.tan(math.pi * float(decimal(confidence)) / 2)
        return float(12 / self.epsilon * everywhere) * level / UNIT / self.order

    def release(self, votes: Any) -> Integers:
        """The sum of the moments in units, and the logarithm of its smooth sensitivity, with noise: int64 (2,)."""
        places = np.minimum(clearness(votes, float(self.gamma)), self.teachers)
        size = max(self.smooth(places), Fraction(1))
        total = int(self._moments(self.order)[places].sum()) + rounded_cauchy(12 * size / self.epsilon)
        end = 1 << 62
        logarithm = math.floor(math.log(size) * FINE) + int(laplace(self._step, ()))
        return np.array([max(-end, min(end, total)), logarithm], np.int64)

    @property
    def _step(self) -> Fraction:
        """The scale of the noise on the logarithm, in steps: it moves by beta, and by one for rounding."""
        return (FINE * self.epsilon / 12 + 2) / (self.epsilon / 2)

    def told(self, noisy: Any, limit: float) -> ToldLoss:
        """The loss that such numbers tell; made of them alone.

        Args:
            noisy: as released.
            limit: the loss for all votes alike, which no votes pass.
        """
        total, logarithm = (int(number) for number in noisy)
        up = (logarithm + math.log(1 / (2 * MISSED)) * float(self._step)) / FINE
        beyond = math.tan(math.pi * (0.5 - MISSED)) * 12 / float(self.epsilon) * math.exp(min(up, 600))
        least = self._at(self.order, 0)
        found, most = (
            min(limit, max(least, self._at(self.order, moment))) for moment in (total, total + beyond)
        )
        return ToldLoss(found, most, self.epsilon, self.order)


def _most(values: Integers, low: Integers, high: Integers) -> Integers:
    """The largest value from a low place to a high one, both included, for each pair."""
    table, width = [values], 1
    while 2 * width <= len(values):
        before = table[-1]
        table.append(np.maximum(before[:-width], before[width:]))
        width *= 2
    levels = np.log2(high - low + 1).astype(np.int64)
    out = np.zeros(len(low), np.int64)
    for level, row in enumerate(table):
        mine = levels == level
        out[mine] = np.maximum(row[low[mine]], row[high[mine] - (1 << level) + 1])
    return out
