"""Groups that nobody listed: shown when a noisy count of their units reaches a threshold.

Each unit is counted at most m times in all, and at most c times in one group; c = 1 where it is counted once in each
of at most m groups. A group that holds a unit at all has a count n >= 1, gets discrete Laplace noise Z of scale b, and
is shown, with n + Z, when n + Z >= T. Nothing is said of the others.

Guarantee. Let D' be D with one unit more and b = m/epsilon; G the groups that only D' has, with the counts n_g <= c
that add up to k <= m. With q = e^(-1/b) and T >= c, one of them is shown with probability

    p(n) = P(n + Z >= T) = q^(T - n)/(1 + q),   n = n_g.

The counts of the groups that both have differ by at most m - k in L1, so by the Laplace mechanism and
post-processing the output for those has probabilities within e^((m - k)/b) of each other.

    D' against D: either some group of G is shown, which has a probability of 1 - product over G of (1 - p(n_g)), or the
        answer speaks of common groups only. So P'(S) <= 1 - product + e^epsilon P(S).
    D against D': P(S) <= e^((m - k)/b) P'(S)/product, as D' must show none of G. That is at most e^epsilon P'(S)
        when 1 - p(n) >= q^n for each n from 1 to c.

The greatest probability. g(n) = -ln(1 - p(n)) is convex, as p is geometric and -ln(1 - x) convex and increasing. So
g(n) lies below the chord from g(1) to g(c), and the sum over G is at most A g(c) + B g(1) with A c + B <= m, which is
greatest at an end: ceil(m/c) g(c) or m g(1).

The condition of D against D'. 1 - q^n - p(n) is concave in n, so it holds for all n when it holds for 1 and c.

So T is the least whole number from c on with 1 - (1 - p(1))^m <= delta, 1 - (1 - p(c))^ceil(m/c) <= delta, and the
condition for 1 and c; the release is (epsilon, delta)-differentially private. Where c divides m no lower threshold
would do: the event "some group of G is shown" has no probability at all on D, so delta is exactly the greater of the
two. When a unit is replaced by another, each side has groups of its own and the counts move by up to 2m: with
b = 2m/epsilon both arguments apply at once and T is found in the same way.

Sources: Korolova, Kenthapadi, Mishra, Ntoulas 2009 (the idea); Desfontaines, Voss, Gipson, Mandayam 2022, section 4
(delta over m groups). T is computed with outward-rounded integers, so delta is never exceeded by a rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.arrays import take
from discreet.mechanisms.numeric.laplace import least_half_width
from discreet.mechanisms.parameters import read_confidence
from discreet.noise import add_laplace
from discreet.noise.digits import enclose_exp
from discreet.noise.distribution import DiscreteLaplace
from discreet.noise.parameters import read_scale
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass, field

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours, Released

NEIGHBOURS = {"add_remove": 1, "replace_one": 2}
"""By how many contributions of a unit neighbours differ."""


@dataclass(frozen=True)
class ThresholdedCounts:
    """Show the groups whose noisy count of units reaches a threshold, with that count.

    Privacy: one call of `release` is (epsilon, delta)-differentially private if every unit is counted at most
    `max_groups` times in all, at most `max_count` times in one group, and a group is given only when it holds a
    unit. That premise is the caller's to answer for. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal.
        delta: rational, strictly between 0 and 1; for comparison, well below one over the number of units.
        max_groups: m, in how many groups a unit may be counted; where one group may count it several times, how often
            it is counted in all.
        neighbours: "add_remove" or "replace_one".
        max_count: c, how often one group may count the same unit; at most m.

    Raises:
        InvalidParameter: a parameter outside its range, or a scale outside 2^-10 to 2^56.

    Example:
        >>> found = ThresholdedCounts(epsilon=1, delta=1e-9)
        >>> found.threshold
        22
        >>> bool(found.suppressed(1) > 1 - 1e-9), found.surely(0.95)
        (True, 24)
        >>> ThresholdedCounts(epsilon=5, delta=1e-9, max_groups=2, max_count=2).threshold
        11
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int
    neighbours: str
    max_count: int
    threshold: int = field(init=False, compare=False)

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        max_groups: int = 1,
        neighbours: str = "add_remove",
        max_count: int = 1,
    ) -> None:
        if type(max_groups) is not int or max_groups < 1:
            raise InvalidParameter("max_groups must be a positive whole number.", "Write max_groups=1.")
        if type(max_count) is not int or not 1 <= max_count <= max_groups:
            raise InvalidParameter(
                "max_count must be a whole number from 1 to max_groups.", "Write max_count=1."
            )
        if neighbours not in NEIGHBOURS:
            raise InvalidParameter("These neighbours are not known.", 'Write "add_remove" or "replace_one".')
        exact_delta = decimal(delta, "delta")
        if not 0 < exact_delta < 1:
            raise InvalidParameter("delta must be strictly between 0 and 1.", "Write delta=1e-9.")
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "delta", exact_delta)
        object.__setattr__(self, "max_groups", max_groups)
        object.__setattr__(self, "neighbours", neighbours)
        object.__setattr__(self, "max_count", max_count)
        read_scale(self.scale, "max_groups/epsilon")
        object.__setattr__(
            self, "threshold", _least_threshold(self.scale, exact_delta, max_groups, max_count)
        )

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each count."""
        return Fraction(self.max_groups * NEIGHBOURS[self.neighbours]) / self.epsilon

    @property
    def loss(self) -> tuple[Fraction, Fraction]:
        """The privacy loss of one release: epsilon and delta."""
        return self.epsilon, self.delta

    def event(self, neighbours: Neighbours) -> Released:
        """The event that accountants price.

        Raises:
            InvalidParameter: the mechanism was made for other neighbours.
        """
        from discreet.accounting.events import Released
        from discreet.accounting.loss import Loss

        if neighbours != self.neighbours:
            raise InvalidParameter(
                f"This mechanism is for {self.neighbours}, not for {neighbours}.",
                "Make it for those neighbours.",
            )
        return Released(Loss(self.epsilon, self.delta), neighbours=neighbours)

    def half_width(self, confidence: Number = 0.95) -> int:
        """The least m with P(|noise| <= m) >= confidence for one count, whether or not its group is shown."""
        return least_half_width(self.scale, 1, read_confidence(confidence))

    @property
    def distribution(self) -> DiscreteLaplace:
        """The distribution of the noise on each count."""
        return DiscreteLaplace(self.scale)

    def suppressed(self, units: npt.ArrayLike) -> Any:
        """The probability that a group of so many units is not shown: float64, the shape of `units`."""
        return self.distribution.cdf(self.threshold - 1 - np.asarray(units, np.float64))

    def surely(self, confidence: float = 0.95) -> int:
        """The least number of units at which a group is shown with that probability or more.

        Raises:
            InvalidParameter: confidence is not strictly between 0 and 1.
        """
        return max(1, self.threshold - int(self.distribution.quantile(1 - confidence)))

    def release(self, counts: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Choose the groups that are shown; one call is one (epsilon, delta), however many groups.

        Args:
            counts: int64 array (groups,), the units of each group, all positive. A group without units must not
                be among them: that it is asked about would already say something.

        Returns:
            The positions of the groups that are shown, in order, and their noisy counts: two int64 arrays.

        Raises:
            InvalidParameter: counts are not whole positive numbers in one dimension.
        """
        given = take(counts)
        if given.dtype.kind not in "iuO" and given.size:
            given = np.zeros(1, np.int64)  # refused below
        given = grid_values.integers(given, "Give whole numbers.")
        if given.ndim != 1 or (given < 1).any():
            raise InvalidParameter(
                "Counts of units must be positive whole numbers.", "Leave groups without units out."
            )
        if not len(given):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        noisy = add_laplace(given.astype(np.int64), self.scale)
        shown = np.flatnonzero(noisy >= self.threshold)
        return shown, noisy[shown]


def _least_threshold(scale: Fraction, delta: Fraction, groups: int, count: int) -> int:
    """The least T that the module's text asks for; every rounding is towards a larger T."""
    cases = [(1, groups)] if count == 1 else [(1, groups), (count, -(-groups // count))]

    def enough(beyond: int) -> bool:
        return all(_small(scale, delta, count + beyond - n, n, many) for n, many in cases)

    low, high = -1, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return count + high


def _small(scale: Fraction, delta: Fraction, over: int, count: int, groups: int) -> bool:
    """Whether so many new groups, each with that count and a threshold so far over it, are shown rarely enough."""
    rate = 1 / scale
    bits = 128 + groups.bit_length() + math.ceil(1 / delta).bit_length()
    unit = 1 << bits
    q_low = enclose_exp(rate, bits)[0]
    tail_high = unit if over == 0 else enclose_exp(over * rate, bits)[1]
    p_high = -((-tail_high << bits) // (unit + q_low))
    if p_high > unit - enclose_exp(count * rate, bits)[1]:
        return False
    missed, power, left = unit, unit - p_high, groups  # (1 - p)^groups from below, by repeated squaring
    while left:
        if left & 1:
            missed = missed * power >> bits
        power, left = power * power >> bits, left >> 1
    return (unit - missed) * delta.denominator <= delta.numerator << bits
