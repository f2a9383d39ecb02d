"""A line through one feature by private medians of pairs of rows: the line of Theil and Sen.

The rows are matched in `matchings` rounds, in each of which a row is in one pair at most; chance and the number of rows
alone say who is matched with whom. The line through a pair has a height at -CUT and one at CUT, cut to -1 to 1. The
median of each of both is chosen by the exponential mechanism on ranks over LEAVES parts, and the line goes through both
medians. A pair of equal features has no line: every other one counts as the lowest at both places, the rest as the
highest, so that it leaves the median where it is, and there are as many heights as pairs.

Sensitivity. Replacing a row changes the pairs that it is in, one of each round, and with each of these one height at
both places. A height that is replaced moves the distance of a leaf from the median by at most 1
(`mechanisms.ranks.quantile`): 2 `rounds` in all.

Error. Noise moves a median by 8/(epsilon n) of its ranks or so, however many rounds there are, and heights of most
pairs lie near the line where leftovers are small. So it errs less than least squares of noisy moments where people are
few or the line is nearly exact; and it foretells medians: where leftovers are skewed, means lie aside.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import released
from discreet.learning.statistics import STEPS, Floats, Integers
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.release.draw import Draw, Use

CUT: Final = 0.5
"""Heights are taken at -CUT and CUT, where the feature lies between -1 and 1."""
LEAVES: Final = 512
PAIRS: Final = 1 << 15
"""About so many pairs are made at most, or one of each row."""
FROM: Final = 50
TO: Final = 600
"""Between so many rows, times epsilon, medians foretell more than moments do."""


def robust_for(epsilon: float, rows: int, features: int) -> bool:
    """Whether medians foretell more, by public numbers alone."""
    return features == 1 and FROM < rows * epsilon <= TO


def rounds_of(rows: int) -> int:
    """How many rounds of matching there are: each has other pairs."""
    return max(1, min(rows + rows % 2 - 1, PAIRS // max(rows, 1)))


def matchings(rows: int, order: Integers) -> Integers:
    """The pairs of rows of all rounds, int64 (2, pairs), as in a tournament where each meets each once.

    Args:
        rows: how many.
        order: a permutation of them, without the data.
    """
    places = rows + rows % 2  # with an odd number one row rests in each round
    turns = np.arange(rounds_of(rows))[:, None]
    others = np.arange(1, places // 2)
    left = np.hstack([np.full((len(turns), 1), places - 1), (turns + others) % max(places - 1, 1)])
    right = np.hstack([turns, (turns - others) % max(places - 1, 1)])
    here = (left < rows) & (right < rows)
    return np.stack([order[left[here]], order[right[here]]])


def heights(rows: Integers, pairs: Integers) -> Integers:
    """In which leaf the line through each pair is at both places: int64 (2, pairs)."""
    first, second = rows[pairs[0]] / STEPS, rows[pairs[1]] / STEPS
    run, rise = (second - first).T
    places = np.array([[-CUT], [CUT]])
    with np.errstate(all="ignore"):
        found = rise / run * (places - (first[:, 0] + second[:, 0]) / 2) + (first[:, 1] + second[:, 1]) / 2
    aside = np.where(np.arange(len(run)) % 2, 1.0, -1.0)
    found = np.clip(np.where(run == 0, aside, found), -1, 1)
    return np.minimum((found + 1) / 2 * LEAVES, LEAVES - 1).astype(np.int64)


def median_line(rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str) -> tuple[float, float]:
    """Slope and intercept of the line through rows on the grid (n, 2), the target last, charged.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text. Source: Alabi, McMillan, Sarathy, Smith and Vadhan
    2022 (DPExpTheilSen).
    """
    measure = LeafMeasure.over(LEAVES)
    median = ExponentialQuantile(epsilon, Fraction(1, 2), measure, 2 * rounds_of(len(rows)))

    def compute(draw: Draw) -> list[Floats]:
        order = np.random.default_rng().permutation(len(rows))
        leaf = heights(rows, matchings(len(rows), order))
        place = np.repeat([0, 1], leaf.shape[1])
        counts = SparseCounts.of(2, LEAVES, place, leaf.ravel(), np.ones(leaf.size, np.int64))
        return [(2 * draw("medians", counts) + 1) / LEAVES - 1]

    uses = {"medians": Use(median, budget.neighbours, 2)}
    (found,) = released(uses, compute, f"{words}, by medians", budget)
    slope = float(found[1] - found[0]) / (2 * CUT)
    return slope, float(found.mean())


__all__ = ["median_line", "robust_for"]
