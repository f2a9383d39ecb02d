"""A few quantiles with the ends of their intervals, each drawn by the exponential mechanism on ranks.

A number chosen by rank does not tell how far it errs: that depends on where the values lie. So 3/4 of the epsilon of a
quantile go to its number, and 1/8 to each end of its interval (as in Drechsler, Globus-Harris, McMillan, Sarathy and
Smith 2022): the lower end is drawn at the rank that lies M rows below q n, among the leaves up to the number, and the
upper one M rows above it, among the leaves from the number on. The interval reaches from one end to the other. It
misses where the number errs to one side and the end there falls between the quantile and the number, few rows apart:
where values lie densely, M = 2.6 scales of an end give 99.4 %.

Where few rows lie between a rank and an end of the grid, long gaps draw the ends away. So each end may also be the
bound of the grid itself, which is `BOUND` times as heavy as all leaves; and where the end that is drawn first is such
a bound, the other one is drawn a further 6 scales away. First comes the end on the side where fewer rows are. No law of
all data sets says how often an interval holds then; worked out for six data sets of 100 to 10,000 rows, quantiles from
.01 to .99 and epsilon from .05 to 5, it is 94 % or more (`benchmarks quantiles`).

Proof. Each draw is private by `quantile`: the weights are public, and so are the margins and the leaves that are left
out, once the earlier draws are known. Their losses add up to epsilon (adaptive composition: Dwork and Roth 2014,
theorem 3.14). An end among the leaves beside a number that was not released would be none of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.mechanisms.selection.leaf_measure import LeafMeasure
from discreet.mechanisms.selection.quantile import Candidates, ExponentialQuantile, row_moves, share
from discreet.mechanisms.selection.sparse_counts import SparseCounts, read_counts
from discreet.rational import Number, epsilon_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.accounting.events import Neighbours

Integers = npt.NDArray[np.int64]

LEVEL: Final = 0.95
"""The confidence that the ends are drawn for."""
NUMBER: Final = Fraction(3, 4)
"""The part of epsilon that goes to the number itself."""
MARGIN: Final = Fraction(13, 5)
"""How many scales the ends are drawn away from the quantile: the least that covers 94 % of every data set tried."""
FURTHER: Final = 6
"""How many scales more, where the other end is a bound."""
MOST_ROWS: Final = 1 << 40
"""No margin is larger, so that ranks fit 64 bits; no table has so many rows."""
EACH: Final = 3
"""How many integers are drawn for each quantile: the number, the lower and the upper end."""


@dataclass(frozen=True)
class QuantilesWithEnds(PureLoss):
    """Choose the leaves of a few quantiles, each with the ends of its interval, in each of some groups.

    Privacy: one call of `release` is epsilon-differentially private (pure) for the neighbours named, where a unit has
    at most `rows` rows, in any groups, and the grid is fixed without the data. That premise is the caller's to answer
    for. Source and proof: the texts of this module and of `quantile`.

    Args:
        epsilon: positive rational, for all quantiles together.
        quantiles: which, each from 0 to 1.
        measure: the public weights of the leaves.
        rows: how many rows of a unit count at most, over all groups.
        neighbours: `add_remove` or `replace_one`.
        groups: how many groups there are; with one alone, replacing a unit moves ranks less.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> ages = np.array([31, 34, 34, 40, 52])
        >>> counts = SparseCounts.of(1, 120, np.zeros(5), ages, np.ones(5))
        >>> QuantilesWithEnds(1, [0.5], LeafMeasure.over(120)).release(counts).shape
        (1, 3)
    """

    epsilon: Fraction
    quantiles: tuple[Fraction, ...]
    measure: LeafMeasure
    rows: int
    neighbours: Neighbours
    groups: int

    def __init__(
        self,
        epsilon: Number,
        quantiles: Sequence[Number],
        measure: LeafMeasure,
        rows: int = 1,
        neighbours: Neighbours = "add_remove",
        groups: int = 2,
    ) -> None:
        from discreet.accounting.events import neighbours_of

        if not len(quantiles):
            raise InvalidParameter("There is no quantile.", "Name one at least.")
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "quantiles", tuple(map(share, quantiles)))
        object.__setattr__(self, "measure", measure)
        object.__setattr__(self, "rows", read_count(rows, "rows", "Give the most rows of a unit."))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))
        object.__setattr__(self, "groups", read_count(groups, "groups", "Give their number."))
        for q in self.quantiles:
            self.end(q)

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    def moves(self, q: Fraction) -> Fraction:
        """By how much one neighbour step moves the distances from a quantile, summed over all groups."""
        return moves(q, self.rows, self.neighbours, self.groups)

    def number(self, q: Fraction) -> ExponentialQuantile:
        """The mechanism of the number itself."""
        return ExponentialQuantile(self._each * NUMBER, q, self.measure, self.moves(q))

    def end(self, q: Fraction) -> ExponentialQuantile:
        """The mechanism of each end."""
        return ExponentialQuantile(self._each * (1 - NUMBER) / 2, q, self.measure, self.moves(q))

    @property
    def _each(self) -> Fraction:
        return self.epsilon / len(self.quantiles)

    def half_width(self, confidence: Number = LEVEL) -> float:
        """By how many rows an end lies from its quantile, about, where values lie densely; of the widest of them."""
        widest = max(float(self.end(q).scale) for q in self.quantiles)
        return widest * float(MARGIN) * stretch(float(read_confidence(confidence)))

    def release(self, counts: SparseCounts) -> Integers:
        """Choose the leaves: int64 array (groups, 3 quantiles), for each quantile number, lower and upper end.

        A lower end of -1 and an upper end of the number of leaves are the bounds of the grid.

        Raises:
            InvalidParameter: these are no counts, or of more groups than were named, where there is but one.
            EntropyError: the operating system gave no randomness.
        """
        if read_counts(counts).groups > 1 and self.groups == 1:
            raise InvalidParameter("There are several groups.", "Name their number.")
        some = Candidates.of(counts, self.measure)
        out = np.empty((counts.groups, EACH * len(self.quantiles)), np.int64)
        for at, q in enumerate(self.quantiles):
            out[:, EACH * at : EACH * (at + 1)] = np.stack(self._one(some, counts.groups, q), axis=1)
        return out

    def _one(self, some: Candidates, groups: int, q: Fraction) -> tuple[Integers, Integers, Integers]:
        end = self.end(q)
        near, more = (min(math.ceil(end.scale * times), MOST_ROWS) for times in (MARGIN, FURTHER))
        number = self.number(q).choose(some, np.zeros(groups, np.int64))
        side = 1 if 2 * q >= 1 else -1  # fewer rows lie there
        first = end.choose(
            some.beside(self.measure, number, side), np.full(groups, side * near, np.int64), side
        )
        bound = first == (self.measure.leaves if side > 0 else -1)
        margin = -side * (near + more * bound.astype(np.int64))
        second = end.choose(some.beside(self.measure, number, -side), margin, -side)
        return (number, second, first) if side > 0 else (number, first, second)


def moves(q: Fraction, rows: int, neighbours: Neighbours, groups: int) -> Fraction:
    """By how much one neighbour step moves the distances from a quantile, summed over all groups.

    Args:
        q: which quantile.
        rows: how many rows of a unit count at most.
        neighbours: `add_remove` or `replace_one`.
        groups: how many groups there are.

    Example:
        >>> moves(Fraction(9, 10), 3, "add_remove", 5), moves(Fraction(9, 10), 3, "replace_one", 1)
        (Fraction(27, 10), Fraction(3, 1))
    """
    if neighbours == "add_remove":
        return rows * row_moves(q)
    return Fraction(rows) if groups == 1 else 2 * rows * row_moves(q)


def stretch(confidence: float) -> float:
    """How many times as wide an interval at a confidence is as at `LEVEL`: as far as two-sided exponential errors say.

    Example:
        >>> stretch(0.95), round(stretch(0.99), 2), round(stretch(0.5), 2)
        (1.0, 1.7, 0.23)
    """
    left = 1 - confidence
    ends = math.log(max(1.0, 1 / (2 * left))) / math.log(1 / (2 * (1 - LEVEL)))
    return 1.0 if confidence == LEVEL else max(ends, math.log(1 / left) / math.log(1 / (1 - LEVEL)))
