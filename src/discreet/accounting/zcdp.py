"""Zero-concentrated differential privacy: one number that adds up, for Gaussian and for many pure releases.

A mechanism is rho-zCDP if for neighbours and every order a > 1 the Renyi divergence of its outputs is at most rho a
(Bun and Steinke 2016, definition 1.1); approximately so with delta, if that holds but for events of probability delta
(their definition 8.1). Conversions, each toward more loss:

- epsilon-DP is (epsilon^2/2)-zCDP (their proposition 1.4); (epsilon, delta)-DP is delta-approximately so (section 8).
- Gaussian noise of standard deviation s on a value of L2 sensitivity S is S^2/(2 s^2)-zCDP (proposition 1.6), and so
  is discrete Gaussian noise (Canonne, Kamath and Steinke 2020, theorem 4).
- rho-zCDP is (epsilon, delta)-DP with delta = e^((a-1)(a rho - epsilon)) (1 - 1/a)^a/(a - 1) for every a > 1
  (Canonne, Kamath and Steinke 2020, corollary 13). The best a is searched for; since every a holds, a poor search
  would only cost some epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.loss import Loss, at_least
from discreet.accounting.rounding import fraction_of_one, up
from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal
from discreet.records import dataclass

_TINY = 1e-100


@dataclass(frozen=True, init=False)
class ZCDP:
    """A privacy loss in zCDP: rho, and delta where it is approximate. Exact; a float is its shortest decimal.

    Attributes:
        rho: rational >= 0.
        delta: rational >= 0.

    Raises:
        InvalidParameter: not a number, or negative.

    Example:
        >>> two = ZCDP.gaussian(sd=10) + ZCDP.of(Loss(0.1))
        >>> two.rho, round(float(two.loss(1e-6).epsilon), 3)
        (Fraction(1, 100), 0.622)
    """

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        for name, value in (("rho", decimal(rho, "rho")), ("delta", decimal(delta, "delta"))):
            if value < 0:
                raise InvalidParameter(f"{name} is negative.", f"Give a {name} of at least 0.")
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, loss: Loss) -> ZCDP:
        """The zCDP of an (epsilon, delta) loss: epsilon^2/2, exact.

        Example:
            >>> ZCDP.of(Loss("1/2")).rho
            Fraction(1, 8)
        """
        return cls(loss.epsilon**2 / 2, loss.delta)

    @classmethod
    def gaussian(cls, sd: Number, sensitivity: Number = 1) -> ZCDP:
        """The zCDP of Gaussian noise: S^2/(2 sd^2), exact.

        Args:
            sd: standard deviation of the noise (sigma of the discrete Gaussian), above 0.
            sensitivity: L2 sensitivity, in the same unit.

        Raises:
            InvalidParameter: sd is not above zero.
        """
        spread = decimal(sd, "sd")
        if spread <= 0:
            raise InvalidParameter("sd must be above zero.", "Give a positive standard deviation.")
        return cls((decimal(sensitivity, "sensitivity") / spread) ** 2 / 2)

    @classmethod
    def bought(cls, loss: Loss) -> ZCDP:
        """The largest rho, but for a part in 10^9, that a loss of some epsilon and delta allows: `loss` turned round.

        Each order a allows rho = (epsilon - c)/a, c being the epsilon of the formula at rho = 0; the best a is searched
        for. It is a decimal of 12 digits, so far below the limit that the floats of another machine agree.

        Raises:
            InvalidParameter: epsilon or delta is zero, or delta is not below 1, or so little buys nothing.

        Example:
            >>> bought = ZCDP.bought(Loss(1, 1e-6))
            >>> round(float(bought.rho), 4), bought.loss(1e-6).within(Loss(1, 1e-6))
            (0.0244, True)
        """
        delta = fraction_of_one(loss.delta, "delta", zero=False, one=False)
        epsilon, log_inverse = float(loss.epsilon), math.log(delta.denominator) - math.log(delta.numerator)

        def less(order: float) -> float:
            added = (log_inverse - math.log1p(order)) / order - math.log1p(1 / order)
            return (added - epsilon) / (1 + order)

        root = math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse)
        best = _least(less, math.log(math.sqrt(log_inverse) * root / epsilon)) if epsilon else 1.0
        found = Fraction(f"{max(0.0, -less(best)) * (1 - 1e-9):.12g}")
        if not found or not cls(found).loss(delta).within(loss):
            raise InvalidParameter("So small a loss buys no zCDP.", "Give more epsilon or more delta.")
        return cls(found)

    def __add__(self, other: ZCDP) -> ZCDP:
        """Compose two releases (Bun and Steinke 2016, lemmas 1.7 and 8.2)."""
        return ZCDP(self.rho + other.rho, self.delta + other.delta)

    def __str__(self) -> str:
        """Write it as people read it: as decimals of at most 9 significant digits, rounded up.

        Example:
            >>> str(ZCDP("1/200")), ZCDP("1/3", "1e-9")
            ('rho 0.005', ZCDP(0.333333334, 1e-09))
        """
        return f"rho {at_least(self.rho)}" + (f", delta {at_least(self.delta)}" if self.delta else "")

    def __repr__(self) -> str:
        """Write it as `ZCDP(0.005)`, rounded like `str`; the attributes are exact."""
        return f"ZCDP({at_least(self.rho)}" + (f", {at_least(self.delta)})" if self.delta else ")")

    def group(self, size: int) -> ZCDP:
        """The loss of a group of k units: k^2 rho, exact (Bun and Steinke 2016, proposition 1.9).

        Raises:
            InvalidParameter: delta is not zero, and then the rule k^2 rho does not hold.
        """
        if self.delta:
            raise InvalidParameter(
                "Group privacy of approximate zCDP is not offered.", "Convert to a Loss first."
            )
        return ZCDP(size**2 * self.rho)

    def loss(self, delta: Number) -> Loss:
        """The (epsilon, delta) loss at a delta, its own delta included; epsilon is rounded up.

        Args:
            delta: above the delta of this loss and below 1.

        Raises:
            InvalidParameter: a delta outside its range.
        """
        total = fraction_of_one(delta, "delta", zero=False, one=False)
        spare = total - self.delta
        if self.rho == 0 and spare >= 0:
            return Loss(0, total)
        if spare <= 0:
            raise InvalidParameter(
                "delta is not above the delta that was already spent.", "Give a larger delta."
            )
        rho, log_inverse = self._rho, math.log(spare.denominator) - math.log(spare.numerator)

        def epsilon(order: float) -> float:
            # order is a - 1, so that nothing cancels near a = 1
            return (1 + order) * rho + (log_inverse - math.log1p(order)) / order - math.log1p(1 / order)

        best = _least(epsilon, math.log(math.sqrt(max(log_inverse, 1e-9) / rho)))
        # A float of each term may be off in its last places; the largest term decides by how much.
        size = (1 + best) * rho + log_inverse / best
        return Loss(up(max(0.0, epsilon(best)) + 1e-14 * size), total)

    def delta_at(self, epsilon: Number) -> Fraction:
        """The delta at an epsilon, its own delta included; rounded up, at most 1.

        Example:
            >>> f"{float(ZCDP(0.1).delta_at(2)):.2e}"
            '4.33e-06'
        """
        rho, wanted = self._rho, float(decimal(epsilon, "epsilon"))
        if abs(wanted) > 1 / _TINY:
            raise InvalidParameter("epsilon is too large to be computed with.", "Give a smaller epsilon.")
        if self.rho == 0:
            return min(Fraction(1), self.delta)

        def log_delta(order: float) -> float:
            return (
                order * ((1 + order) * rho - wanted) - (1 + order) * math.log1p(1 / order) - math.log(order)
            )

        # About the best order: the first where epsilon is large, the second where it is next to nothing.
        best = _least(log_delta, math.log(max((wanted - rho) / (2 * rho), 1 / math.sqrt(2 * rho))))
        return min(
            Fraction(1),
            # e^-700 is a double; below it a double may be 0, which is not rounded up
            self.delta + up(math.exp(min(0.0, max(-700.0, log_delta(best))))) * (1 + Fraction(1, 10**9)),
        )

    @property
    def _rho(self) -> float:
        """Rho as a double whose square and inverse are doubles too; one that is smaller is raised, which is safe."""
        if self.rho > 1 / _TINY:
            raise InvalidParameter("rho is too large to be computed with.", "Give a smaller rho.")
        return max(float(self.rho), _TINY)


def _least(function: Callable[[float], float], guess: float) -> float:
    """Where a function of the order is least, by golden section in its logarithm around a guess."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = guess - 6, guess + 6
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if function(math.exp(left)) <= function(math.exp(right)):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)
