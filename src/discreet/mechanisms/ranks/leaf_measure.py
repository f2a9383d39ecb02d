"""The public weights of leaves among which a quantile is chosen: most of it even, the rest on round numbers.

Of all leaves of equal score the exponential mechanism takes each with the same probability, so that long gaps between
values win over the values themselves. People round: incomes stand at multiples of a thousand. So 4/5 of the weight is
even over all leaves, and 1/5 lies on the multiples of powers of ten, each power that has 400 multiples or more within
the range an equal part. Where values are rounded, errors shrink to a half or less; where they are not, they grow by
about a hundredth (`benchmarks quantiles`). The weights are fixed without the data.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]

MOST_LEAVES: Final = 1 << 30
WHOLE: Final = 1 << 36
"""About the sum of all weights."""
EVEN: Final = Fraction(4, 5)
FEWEST: Final = 400
"""A power of ten has at least so many multiples within the range: with fewer, each would draw values from afar."""
_WIDE: Final = 1 << 61


@dataclass(frozen=True)
class Multiples:
    """Leaves that hold multiples of one number: the leaf of the k-th is floor((k spacing + first) / unit).

    Attributes:
        many: how many there are.
        spacing: of two neighbours, in 1/unit leaves.
        first: the place of the first one, in 1/unit leaves.
        unit: how finely places are told.
        weight: of each.
    """

    many: int
    spacing: int
    first: int
    unit: int
    weight: int

    def before(self, leaf: Integers) -> Integers:
        """How many lie in the leaves before some leaves."""
        return np.asarray(np.clip(-((self.first - leaf * self.unit) // self.spacing), 0, self.many))

    def leaf(self, number: Integers) -> Integers:
        """The leaves of some of them, by number from 0."""
        return np.asarray((number * self.spacing + self.first) // self.unit)


@dataclass(frozen=True)
class LeafMeasure:
    """Weights of the leaves of a grid.

    Attributes:
        leaves: how many there are.
        each: the weight of every leaf.
        rounds: the leaves that weigh more.

    Example:
        >>> LeafMeasure.over(11).of(np.array([0]), np.array([11])).tolist() == [2**36 // 11 * 11]
        True
    """

    leaves: int
    each: int
    rounds: tuple[Multiples, ...] = ()

    @classmethod
    def over(cls, leaves: int, lo: Fraction | None = None, step: Fraction = Fraction(1)) -> LeafMeasure:
        """The measure of the module's text.

        Args:
            leaves: from 1 to 2^30.
            lo: where the first leaf begins; None where its leaves are no numbers, and all weigh the same.
            step: the width of a leaf.

        Raises:
            InvalidParameter: too many leaves, or none.
        """
        if not 1 <= leaves <= MOST_LEAVES:
            raise InvalidParameter("The leaves are not 1 to 2^30.", "Choose a coarser grid.")
        found = [] if lo is None else _powers(leaves, lo, step)
        if not found:
            return cls(leaves, WHOLE // leaves)
        rest = int(WHOLE * (1 - EVEN)) // len(found)
        rounds = tuple(
            Multiples(many, spacing, first, unit, rest // many) for many, spacing, first, unit in found
        )
        return cls(leaves, int(WHOLE * EVEN) // leaves, rounds)

    @property
    def whole(self) -> int:
        """The sum of all weights."""
        return self.each * self.leaves + sum(multiples.weight * multiples.many for multiples in self.rounds)

    def of(self, start: Integers, stop: Integers) -> Integers:
        """The weight of the leaves from each start to before each stop: int64 array (n,)."""
        out = self.each * (stop - start)
        for multiples in self.rounds:
            out += multiples.weight * (multiples.before(stop) - multiples.before(start))
        return out

    def leaf(self, start: Integers, stop: Integers, place: Integers) -> Integers:
        """The leaf at each place, from 0 to before the weight, of the leaves from each start to before each stop."""
        even = self.each * (stop - start)
        out = start + np.minimum(place, even - 1) // self.each
        place = place - even
        for multiples in self.rounds:
            before = multiples.before(start)
            weight = multiples.weight * (multiples.before(stop) - before)
            here = (place >= 0) & (place < weight)
            out = np.where(here, multiples.leaf(before + np.clip(place, 0, None) // multiples.weight), out)
            place = place - weight
        return np.asarray(out)


def _powers(leaves: int, lo: Fraction, step: Fraction) -> list[tuple[int, int, int, int]]:
    """Number, spacing, first place and unit of the multiples of each power of ten that has enough of them."""
    out = []
    reach = step * leaves
    power = Fraction(10) ** math.floor(math.log10(step) + 1)
    while reach / power >= FEWEST:
        first = math.ceil(lo / power)
        many = math.ceil((lo + reach) / power) - first
        spacing, place = power / step, (first * power - lo) / step
        unit = math.lcm(spacing.denominator, place.denominator)
        if spacing >= 4 and many >= FEWEST and unit * (leaves + spacing) < _WIDE:
            out.append((many, int(spacing * unit), int(place * unit), unit))
        power *= 10
    return out
