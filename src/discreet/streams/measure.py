"""A number of each row that is added up: a count, a sum, or a mean as two sums."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Final

from discreet.records import dataclass

STEPS: Final = 20
"""The largest value of a bounded column is about 2 to this many steps of its grid."""
COUNT: Final = "count"


@dataclass(frozen=True)
class Measure:
    """A number of each row that is added up.

    A mean is two sums, of v - lo and of hi - v: a row adds hi - lo to both together for any value, so that
    the pair moves in L1 as far as a count does, and in L2 no further. Their sum is the number of rows times hi - lo,
    and the mean is a ratio of the two.

    Attributes:
        name: in the answer.
        column: that is added up; empty for a count.
        lo, hi: its bounds.
        mean: whether it is a mean.
        bits: how fine the grid is.

    Example:
        >>> cost = Measure("mean_cost", "cost", Fraction(-10), Fraction(500), mean=True)
        >>> cost.parts, [float(part * cost.grid) for part in cost.adds(cost.steps(Fraction(90)))]
        (2, [100.0, 410.0])
    """

    name: str = COUNT
    column: str = ""
    lo: Fraction = Fraction(1)
    hi: Fraction = Fraction(1)
    mean: bool = False
    bits: int = STEPS

    @cached_property
    def grid(self) -> Fraction:
        """A power of two; values are rounded to its multiples."""
        size = max(abs(self.lo), abs(self.hi))
        if not self.column or not size:
            return Fraction(1)
        return Fraction(2) ** (size.numerator.bit_length() - size.denominator.bit_length() - self.bits)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The bounds in steps."""
        return self._rounded(self.lo), self._rounded(self.hi)

    @property
    def parts(self) -> int:
        """How many sums it is."""
        return 2 if self.mean else 1

    @property
    def most(self) -> int:
        """How far one row moves the sums, in steps of the grid: in L1, over both parts of a mean."""
        lo, hi = self.ends
        return max(1, hi - lo if self.mean else max(abs(lo), abs(hi)))

    @property
    def one_sided(self) -> bool:
        """Whether no two rows add numbers of opposite signs."""
        return self.mean or self.lo >= 0 or self.hi <= 0

    def steps(self, value: Fraction) -> int:
        """A value in steps, clamped into the bounds."""
        return self._rounded(min(max(value, self.lo), self.hi))

    def adds(self, steps: int) -> tuple[int, ...]:
        """The amounts that a row of so many steps adds to the parts."""
        lo, hi = self.ends
        return (steps - lo, hi - steps) if self.mean else (steps,)

    def _rounded(self, value: Fraction) -> int:
        return (value / self.grid + Fraction(1, 2)).__floor__()
