"""Quantiles, part by part or with the ends of their intervals, drawn by the exponential mechanism on ranks.

Quantiles are drawn in the order of `quantile_order`: each level of parts has the same share of epsilon, and a quantile
is drawn from the rows of its part alone. The place of a quantile on which others depend is drawn among the places of
`rank_candidates`, so that many equal values are split where their rank says.

A number chosen by rank does not tell how far it errs: that depends on where the values lie. With intervals, each
quantile is drawn of all rows together with the ends of its interval, as `ranks.surrounded_quantile` says, with an equal
share of epsilon. Part by part their ends would be useless in a heap of equal values, where many rows lie between two
places of one leaf, and the draws slow.

Proof. Each draw is private by `quantile` or `surrounded_quantile`, once the earlier draws are known, and levels add up
(adaptive composition: Dwork and Roth 2014, theorem 3.14). The parts of a level are fixed by the places drawn before: a
row lies in one of them, where it costs its part of the share of the level. So rows of a unit in several parts cost
together no more than in one, parallel to each other (McSherry 2009), and the levels add up to epsilon. A unit replaced
by another moves at first as `moves` says, and below that as in several groups.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.mechanisms.ranks.flipped_quantile import FEW, FlippedQuantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile, row_moves, share
from discreet.mechanisms.ranks.quantile_order import QuantileDraw, depth, deviations, steps
from discreet.mechanisms.ranks.rank_candidates import Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts, read_counts
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.accounting.events import Neighbours

Integers = npt.NDArray[np.int64]

LEVEL: Final = 0.95
"""The confidence that the ends are drawn for."""
WIDTH: Final = 6.6
"""How many scales an end lies from its quantile, in the mean, where values lie densely."""
ERROR: Final = 1.2
"""How many times as much a number errs with an interval as without, where values lie densely."""
EACH: Final = 3
"""How many integers are drawn for a quantile with an interval: the number, the lower and the upper end."""


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
        ends: whether each has an interval.

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
    ends: bool

    def __init__(
        self,
        epsilon: Number,
        quantiles: Sequence[Number],
        measure: LeafMeasure,
        rows: int = 1,
        neighbours: Neighbours = "add_remove",
        groups: int = 2,
        ends: bool = True,
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
        object.__setattr__(self, "ends", bool(ends))
        for q in self.quantiles:
            self.number(q)

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    @property
    def each(self) -> int:
        """How many integers are drawn for each quantile."""
        return EACH if self.ends else 1

    @cached_property
    def level(self) -> Fraction:
        """The share of epsilon of each level of parts."""
        return self.epsilon / depth(self.quantiles, self.ends)

    def moves(self, q: Fraction) -> Fraction:
        """By how much one neighbour step moves the distances from a quantile, summed over all groups and parts."""
        step = self._step(q)
        return moves(step.part, self.rows, self.neighbours, self.groups if not step.level else 2)

    def number(self, q: Fraction) -> ExponentialQuantile:
        """The mechanism of the number, in its part; with an interval, of the ends as well."""
        from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile

        step = self._step(q)
        flips = self.measure.leaves <= FEW and not self.measure.rounds and not step.splits
        plain = FlippedQuantile if flips else ExponentialQuantile
        mechanism = SurroundedQuantile if self.ends else plain
        return mechanism(self.level, step.part, self.measure, self.moves(q))

    def deviation(self, q: Fraction) -> float:
        """The standard deviation of the rank of a number, in rows, where values lie densely."""
        scale = float(self.moves(q) / row_moves(self._step(q).part) / self.epsilon)
        return self._deviations[q] * scale * (ERROR if self.ends else 1)

    def reach(self, q: Fraction) -> int:
        """How many rows from a quantile of all rows its leaves may be drawn one by one; hardly ever more."""
        step = self._step(q)
        return self.number(q).reach + max(
            (self.number(by).reach for by in (step.below, step.above) if by is not None), default=0
        )

    def _step(self, q: Fraction) -> QuantileDraw:
        return self._steps[q]

    # Each of many quantiles asks for these, and to look them up by all quantiles takes as long as there are some.
    @cached_property
    def _steps(self) -> dict[Fraction, QuantileDraw]:
        return {step.whole: step for step in steps(self.quantiles, self.ends)}

    @cached_property
    def _deviations(self) -> dict[Fraction, float]:
        return deviations(self.quantiles, self.ends)

    def half_width(self, confidence: Number = LEVEL) -> float:
        """By how many rows an end lies from its quantile, about, where values lie densely; of the widest of them.

        Without ends, by how many rows a number errs at most, likewise.
        """
        level = float(read_confidence(confidence))
        if not self.ends:
            return max(map(self.deviation, self.quantiles)) * -math.log(1 - level) / math.sqrt(2)
        return max(self.half_widths().values()) * stretch(level)

    def half_widths(self) -> dict[Fraction, float]:
        """How many rows lie between each quantile and an end of its interval, in the mean, about."""
        return {q: WIDTH * float(self.number(q).scale) + 1 for q in self.quantiles}

    def release(self, counts: SparseCounts) -> Integers:
        """Choose the leaves: int64 array (groups, 3 quantiles), for each quantile number, lower and upper end.

        Without ends it is an array (groups, quantiles). A lower end of -1 and an upper end of the number of leaves are
        the bounds of the grid.

        Raises:
            InvalidParameter: these are no counts, or of more groups than were named, where there is but one.
            EntropyError: the operating system gave no randomness.
        """
        if read_counts(counts).groups > 1 and self.groups == 1:
            raise InvalidParameter("There are several groups.", "Name their number.")
        whole = Parts.whole(counts, self.measure.leaves)
        drawn = self._surrounded(counts, whole) if self.ends else self._in_parts(counts, whole)
        return np.stack([column for q in self.quantiles for column in drawn[q]], axis=1)

    def _surrounded(self, counts: SparseCounts, whole: Parts) -> dict[Fraction, list[Integers]]:
        """Draw each quantile of all rows, with the ends of its interval."""
        from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile

        drawn = {}
        for step in self._steps.values():
            number = self.number(step.whole)
            assert isinstance(number, SurroundedQuantile)
            found = number.surround(counts, whole)
            drawn[step.whole] = [found.leaf, found.low, found.high]
        return drawn

    def _in_parts(self, counts: SparseCounts, whole: Parts) -> dict[Fraction, list[Integers]]:
        """Draw each quantile of the rows of its part."""
        drawn: dict[Fraction, list[Integers]] = {}
        rows: dict[Fraction, Integers] = {}  # before each place where others are split; secret
        for step in self._steps.values():
            parts = Parts(
                whole.group,
                whole.low if step.below is None else drawn[step.below][0],
                whole.high if step.above is None else drawn[step.above][0] + 1,
                whole.first if step.below is None else rows[step.below],
                whole.last if step.above is None else rows[step.above],
            )
            number = self.number(step.whole)
            if step.splits:
                leaf, before = number.split(counts, parts)
                rows[step.whole] = parts.first + before
            else:
                leaf = number.choose(counts, parts, 0 * whole.group)
            drawn[step.whole] = [leaf]
        return drawn


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
    """How many times as wide an interval at a confidence is as at `LEVEL`.

    Below `LEVEL` as far as two-sided exponential errors say, above it as the law of `surrounded_quantile` has it.

    Example:
        >>> stretch(0.95), round(stretch(0.99), 2), round(stretch(0.5), 2)
        (1.0, 2.42, 0.23)
    """
    left = 1 - confidence
    if confidence >= LEVEL:
        return float(farther((1 - LEVEL) / left))
    ends = math.log(max(1.0, 1 / (2 * left))) / math.log(1 / (2 * (1 - LEVEL)))
    return max(ends, math.log(1 / left) / math.log(1 / (1 - LEVEL)))


def farther(rarer: float | npt.NDArray[np.float64]) -> float | npt.NDArray[np.float64]:
    """How many times as wide an interval is that misses so many times more rarely."""
    return rarer**0.55
