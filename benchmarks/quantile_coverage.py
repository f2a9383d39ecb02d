"""How often the interval of a quantile holds it, worked out from the law of its draws.

What is to be held is the interpolated quantile, as QUANTILE_CONT gives it. A number may stand anywhere between two
values, as far as the weights of leaves say: `PLACES` places between any two stand for all. All other sums are exact.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.mechanisms.selection.leaf_measure import LeafMeasure
from discreet.mechanisms.selection.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.selection.rank_candidates import Candidates
from discreet.mechanisms.selection.sparse_counts import SparseCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

PLACES: Final = 8
LEAST: Final = 1e-9
"""Candidates that are less likely are left out."""


def coverage(leaves: Integers, mechanism: QuantilesWithEnds) -> float:
    """How likely the interval of the first quantile of a mechanism holds it.

    Args:
        leaves: of the rows of one group, in ascending order.
        mechanism: its measure is that of the leaves.
    """
    q, measure = mechanism.quantiles[0], mechanism.measure
    counts = SparseCounts.of(1, measure.leaves, 0 * leaves, leaves, 0 * leaves + 1)
    some = Candidates.of(counts, measure)
    wanted = exact_leaf(leaves, q)
    number, chance = _numbers(some, mechanism.number(q).law(some, np.zeros(1, np.int64)), measure)
    near, more = mechanism.margin(q)
    side = 1 if 2 * q >= 1 else -1

    def misses(side: int, margin: int) -> tuple[Floats, Floats]:
        """How likely an end misses beside each number, and how likely it is a bound of the grid."""
        law = mechanism.end(q).law(some, np.array([side * margin]), side)
        bound = law[some.start == (measure.leaves if side > 0 else -1)].sum()
        beside = bound + _up_to(some, law, number, measure, side)
        holds = bound + _up_to(some, law, np.array([wanted]), measure, side)[0]
        wrong = number > wanted if side < 0 else number < wanted
        return np.where(wrong, np.maximum(0, 1 - holds / beside), 0), bound / beside

    first, bound = misses(side, near)
    second = (1 - bound) * misses(-side, near)[0] + bound * misses(-side, near + more)[0]
    return 1 - float(chance @ (first + second)) / float(chance.sum())


def exact_leaf(leaves: Integers, q: Fraction) -> int:
    """The leaf of the interpolated quantile of some rows, in ascending order."""
    place = q * (len(leaves) - 1)
    before, after = int(leaves[int(place)]), int(leaves[math.ceil(place)])
    return math.floor(before + (place - int(place)) * (after - before))


def _numbers(some: Candidates, law: Floats, measure: LeafMeasure) -> tuple[Integers, Floats]:
    """Leaves where the number may be, and how likely each is."""
    likely = np.flatnonzero((some.start < some.stop) & (law > LEAST))
    start, stop = (np.repeat(ends[likely], PLACES) for ends in (some.start, some.stop))
    place = (2 * np.tile(np.arange(PLACES), len(likely)) + 1) * np.repeat(some.weight[likely], PLACES)
    return measure.leaf(start, stop, place // (2 * PLACES)), np.repeat(law[likely] / PLACES, PLACES)


def _up_to(some: Candidates, law: Floats, leaf: Integers, measure: LeafMeasure, side: int) -> Floats:
    """How likely a draw is one of the leaves up to each of some, or, on the other side, from each of them on."""
    inside = np.flatnonzero(some.start < some.stop)
    start, stop, law = some.start[inside], some.stop[inside], law[inside]
    until = leaf + 1 if side < 0 else leaf
    at = np.minimum(np.searchsorted(stop, until, "right"), len(inside) - 1)
    part = measure.of(start[at], until) / np.maximum(1, some.weight[inside][at])
    below = np.concatenate([[0.0], np.cumsum(law)])[at] + part * law[at]
    return below if side < 0 else law.sum() - below
