"""Many releases of one and the same pure epsilon: the exact price, in closed form and without a grid.

The worst of k releases of epsilon e is randomised response k times: the loss is (k - 2J) e with J binomial of k trials
and probability 1/(1 + e^e), so delta(x) = sum over j of P(J = j) (1 - e^(x - (k - 2j) e))+ (Kairouz, Oh and Viswanath
2015, theorem 3.3: no tighter bound holds for all releases of pure loss e). Each release may be chosen after seeing
earlier answers; e may not, nor the largest k. Stopping earlier is allowed.

Rounding. The terms are positive, and their relative error is that of lgamma, below 1e-6 for k up to MOST_RELEASES;
every delta is raised by that. Terms further than 7 sqrt(k) from the mean have, by Hoeffding, a mass below 2 e^-98,
which is added.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.loss import Loss
from discreet.accounting.rounding import fraction_of_one, up, whole
from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, epsilon_of

MOST_RELEASES = 10**7
_FAR, _TAIL, _RAISE = 7, 2 * math.exp(-98), 1 + 1e-6


class Homogeneous:
    """The loss of `count` releases of pure `epsilon` each.

    Args:
        epsilon: of one release, positive.
        count: how many, 1 to 10^7.

    Raises:
        InvalidParameter: out of range.

    Example:
        >>> many = Homogeneous(0.1, 50)
        >>> round(float(many.loss(1e-6).epsilon), 3), many.loss(0) == Loss(5)
        (3.173, True)
    """

    def __init__(self, epsilon: Number, count: int) -> None:
        self.epsilon, self.count = epsilon_of(epsilon), whole(count, "count")
        if self.count > MOST_RELEASES:
            raise InvalidParameter("count is above 10^7.", "Price them in zCDP.")
        self._losses, self._masses = _binomial(float(self.epsilon), self.count)

    def delta(self, epsilon: Number) -> Fraction:
        """The delta at a total epsilon >= 0, rounded up; 0 at the sum and beyond."""
        wanted = decimal(epsilon, "epsilon")
        if wanted >= self.count * self.epsilon:
            return Fraction(0)
        return min(Fraction(1), up(self._delta(float(wanted))))

    def loss(self, delta: Number) -> Loss:
        """The least epsilon at a delta of 0 to 1, rounded up, with that delta; at 0 the sum."""
        level = fraction_of_one(delta, "delta")
        low, high, most = 0.0, float(self.count * self.epsilon), self.count * self.epsilon
        target = float(level)
        if target <= _TAIL:
            return Loss(most, level)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._delta(middle) <= target else (middle, high)
        return Loss(min(most, up(high)), level)

    def _delta(self, epsilon: float) -> float:
        above = self._losses > epsilon
        terms = -np.expm1(epsilon - self._losses[above]) * self._masses[above]
        return float(terms.sum()) * _RAISE + _TAIL


def _binomial(epsilon: float, count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The losses that matter and their probabilities."""
    mean = count / (1 + math.exp(min(epsilon, 700.0)))
    reach = _FAR * math.sqrt(count)
    least, most = max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach))
    j = np.arange(least, most + 1, dtype=np.float64)
    total = math.lgamma(count + 1)
    chosen = np.array(
        [total - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in range(least, most + 1)]
    )
    # P(J = j) = C(k, j) p^(k-j) (1-p)^j with p = 1/(1 + e^-e), 1 - p = e^-e p
    return (count - 2 * j) * epsilon, np.exp(chosen - count * math.log1p(math.exp(-epsilon)) - j * epsilon)
