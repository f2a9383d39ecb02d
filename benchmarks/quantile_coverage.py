"""How often the interval of a quantile holds it, worked out from the law of its draws.

The quantile to be held is the interpolated one, as QUANTILE_CONT gives it. Some numbers, evenly spaced in the law of
proposals, stand for all; of each, the probabilities of all outcomes are exact.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.rank_candidates import Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

POINTS: Final = 512
"""So many numbers stand for all; a quarter of them moves a coverage by a thousandth or two."""


def coverage(leaves: Integers, mechanism: QuantilesWithEnds, points: int = POINTS) -> float:
    """How likely the interval of the first quantile of a mechanism holds it.

    Args:
        leaves: of the rows of one group, in ascending order.
        mechanism: its measure is that of the leaves, and it has intervals.
        points: how many numbers stand for all.
    """
    q, wanted = mechanism.quantiles[0], exact_leaf(leaves, mechanism.quantiles[0])
    chance, low, high = outcomes(leaves, mechanism.number(q), points)
    return float(chance[(low <= wanted) & (wanted <= high)].sum() / chance.sum())


def outcomes(
    leaves: Integers, number: ExponentialQuantile, points: int = POINTS
) -> tuple[Floats, Integers, Integers]:
    """Probability and ends of the outcomes: three arrays (n,).

    Args:
        leaves: of the rows of one group, in ascending order.
        number: with an interval.
        points: how many numbers stand for all.
    """
    assert isinstance(number, SurroundedQuantile)
    counts = SparseCounts.of(1, number.measure.leaves, 0 * leaves, leaves, 0 * leaves + 1)
    some, law = number.probabilities(counts)
    sums = np.cumsum(law)
    at = (np.arange(points) + 0.5) / points * sums[-1]
    chosen = np.searchsorted(sums, at)
    part = 1 - (sums[chosen] - at) / law[chosen]
    start, stop = some.start[chosen], some.stop[chosen]
    leaf = number.measure.leaf(start, stop, (part * number.measure.of(start, stop)).astype(np.int64))
    off = some.distances(number.q, np.zeros(1, np.int64))[chosen]
    many = len(number.weights)
    all_ = Parts.whole(counts, number.measure.leaves)[np.zeros(points * many, np.int64)]
    leaf, off = np.repeat(leaf, many), np.repeat(off, many)
    outcome = np.tile(np.arange(many), points)
    low, high, beside = number.beside(counts, all_, leaf, outcome)
    farther = np.maximum(0, beside - off) / float(number.scale * number.q.denominator)
    chance = number.weights[outcome] * np.exp(-farther)
    return chance, low, high


def exact_leaf(leaves: Integers, q: Fraction) -> int:
    """The leaf of the interpolated quantile of some rows, in ascending order."""
    place = q * (len(leaves) - 1)
    before, after = int(leaves[int(place)]), int(leaves[math.ceil(place)])
    return math.floor(before + (place - int(place)) * (after - before))
