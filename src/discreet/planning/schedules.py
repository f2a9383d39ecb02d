"""The error as the data grows, when epsilon is lowered with it.

With sensitivity c n^-a and epsilon d n^-e, the scale is b = (c/d) n^-(a - e): the answer becomes exact while the loss
goes to nothing if and only if 0 < e < a. Its standard deviation is sqrt(2) b, not b.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.planning import read
from discreet.planning.laplace import LaplaceError
from discreet.rational import Number, decimal
from discreet.records import dataclass


@dataclass(frozen=True, init=False)
class Schedule:
    """Sensitivity c n^-a and epsilon d n^-e.

    Args:
        sensitivity: the exponent a: 1 for a proportion or a mean.
        epsilon: the exponent e: 1/2 for epsilon = n^-1/2.
        c: the factor of the sensitivity.
        d: the factor of epsilon.

    Example:
        >>> proportion = Schedule(sensitivity=1, epsilon="1/2")
        >>> proportion.exponent, proportion.at(10_000).scale, proportion.vanishes
        (Fraction(1, 2), 0.01, True)
    """

    sensitivity: Fraction
    epsilon: Fraction
    c: float
    d: float

    def __init__(self, sensitivity: Number, epsilon: Number, c: Number = 1, d: Number = 1) -> None:
        object.__setattr__(self, "sensitivity", decimal(sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", decimal(epsilon, "epsilon"))
        object.__setattr__(self, "c", read.above_zero(c, "c"))
        object.__setattr__(self, "d", read.above_zero(d, "d"))

    @property
    def exponent(self) -> Fraction:
        """The x of b = (c/d) n^-x, exact."""
        return self.sensitivity - self.epsilon

    @property
    def vanishes(self) -> bool:
        """Whether the error goes to nothing as n grows."""
        return self.exponent > 0

    def epsilon_at(self, n: int) -> float:
        """Epsilon at n people."""
        return float(self.d * read.people(n) ** -float(self.epsilon))

    def at(self, n: int) -> LaplaceError:
        """The error at n people."""
        return LaplaceError(self.c / self.d * read.people(n) ** -float(self.exponent))

    def table(self, sizes: Iterable[int]) -> list[tuple[int, float, float, float]]:
        """For each n: (n, epsilon, scale, standard deviation)."""
        return [(n, self.epsilon_at(n), self.at(n).scale, self.at(n).rms) for n in sizes]
