"""Private moments of whole rows: a line that no skewed leftover turns, and the variances of its coefficients.

Columns z lie in [-1, 1], in units of STEPS (`learning.statistics`); u = (1, z) has d + 1 coordinates. Four uses share
epsilon, each of sums over all rows, none of which is shortened or cut:

    level       the sum of the target z_y: a mean m, and t = (z_y - m)/(1 + |m|), between -1 and 1;
    features    z_i z_j and z_j; of squares 2 z^2 - 1, so that each is between -1 and 1;
    target      u_j t;
    leftovers   (a_j u)^2 r^2, each divided by the most that it can be, so that it is between 0 and 1.

Here w solves the noisy A w = b of the two before, a_j is the row of the coefficient j in (to its units) A^-1, and
r = t - w u is cut to +-R, where R is the most that t is away from the line anywhere in the bounds, or MOST_LEFT. All of
these are released numbers. The sum of (a_j u)^2 r^2 is the variance of the coefficient j under any law of the leftovers
(the sandwich of Eicker, Huber and White), and costs d + 1 numbers where the whole matrix would cost far more.

Sensitivity. Replacing a row moves each sum of the first three by at most 2, and each of the last by at most 1: noise in
a cube (`CubeVector`), and Laplace noise for the level. Each summand is rounded to whole steps between the same ends.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import released
from discreet.learning.statistics import STEPS, Floats, Integers
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.records import dataclass
from discreet.release.draw import Draw, Use

SHARES: Final = {
    "level": Fraction(1, 20), "features": Fraction(7, 20), "target": Fraction(2, 5), "leftovers": Fraction(1, 5)
}  # fmt: skip
"""The shares of epsilon."""
MOST_LEFT: Final = 2.0
"""No leftover counts as larger: so many times the bounds of t."""
CAREFUL: Final = 0.5
"""So many standard deviations of their noise are added to variances: one that is too small is worse."""


@dataclass(frozen=True)
class Whole:
    """Noisy moments of whole rows, and variances of coefficients.

    Attributes:
        inside: sums of products of u with u (d + 1, d + 1), the constant first.
        beside: sums of products of u with t (d + 1,).
        level, reach: the target between -1 and 1 is level + reach t.
        variances: of the coefficients in their units, slopes first (d + 1,), over the people who were drawn.
        noise_inside, noise_beside: the scales of the noise on both.
        joint: whether the noise is that of a cube; else of Laplace, each by itself.
    """

    inside: Floats
    beside: Floats
    level: float
    reach: float
    variances: Floats
    noise_inside: Floats
    noise_beside: Floats
    joint: bool

    @property
    def loud(self) -> float:
        """About how large the largest eigenvalue of the noise on `inside` is."""
        count = len(self.beside)
        numbers = (count + 2) * (count - 1) // 2
        factor = math.sqrt((numbers + 1) * (numbers + 2) / 3) if self.joint else math.sqrt(2)
        return 2 * factor * float(self.noise_inside.max()) * math.sqrt(count)


def loudness(epsilon: float, features: int) -> float:
    """`Whole.loud` of a fit, by public numbers alone."""
    return 2 * _products(Fraction(epsilon), features).deviation / STEPS * math.sqrt(features + 1)


def _products(epsilon: Fraction, features: int) -> CubeVector:
    count = features * (features + 3) // 2
    return CubeVector(2 * STEPS / (SHARES["features"] * epsilon), 2 * STEPS, count)


def whole_rows(
    rows: Integers, to_units: Floats, epsilon: Fraction, budget: LearningBudget, words: str
) -> Whole:
    """The noisy moments of rows on the grid (n, d + 1), the target last, charged.

    Args:
        rows: of people.
        to_units: the matrix from weights of u to coefficients (`intervals.units_of`).
        epsilon: of all of it.
        budget: is charged.
        words: for the ledger.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.
    """
    width = rows.shape[1] - 1
    level = LaplaceVector(2 * STEPS / (SHARES["level"] * epsilon), 2 * STEPS)
    features = _products(epsilon, width)
    target = CubeVector(2 * STEPS / (SHARES["target"] * epsilon), 2 * STEPS, width + 1)
    leftovers = CubeVector(STEPS / (SHARES["leftovers"] * epsilon), STEPS, width + 1)

    def compute(draw: Draw) -> list[Floats]:
        people = max(len(rows), 1)
        m = float(np.clip(draw("level", rows[:, -1:].sum(axis=0))[0] / STEPS / people, -1, 1))
        u = np.column_stack([np.full(len(rows), STEPS), rows[:, :-1]])
        sums = draw("features", products(u).sum(axis=0)[None])[0] / STEPS
        inside = matrix_of(sums, len(rows), width)
        t = (rows[:, -1] / STEPS - m) / (1 + abs(m))
        beside = draw("target", _grid(u / STEPS * t[:, None], -1).sum(axis=0)[None])[0] / STEPS
        weights, turned, most = leverage(inside, beside, to_units)
        left = _left(weights, m)
        shares = (u / STEPS @ turned.T) ** 2 / most
        r = np.clip((t - u / STEPS @ weights) / left, -1, 1)
        found = draw("leftovers", _grid(shares * r[:, None] ** 2, 0).sum(axis=0)[None])[0] / STEPS
        found = np.maximum(found + CAREFUL * leftovers.deviation / STEPS, 0)
        return [inside, beside, np.array(m), found * most * (left * (1 + abs(m))) ** 2]

    uses = {
        "level": Use(level, budget.neighbours, 1),
        "features": Use(features, budget.neighbours, features.dimensions),
        "target": Use(target, budget.neighbours, width + 1),
        "leftovers": Use(leftovers, budget.neighbours, width + 1),
    }
    inside, beside, m, variances = released(uses, compute, f"{words}, of whole rows", budget)
    scales = np.full((width + 1, width + 1), float(features.scale) / STEPS)
    scales[0, 0] = 0.0
    np.fill_diagonal(scales[1:, 1:], scales[0, 1] / 2)  # a square is half of 2 z^2 - 1
    beside_scales = np.full(width + 1, float(target.scale) / STEPS)
    return Whole(inside, beside, float(m), 1 + abs(float(m)), variances, scales, beside_scales, joint=True)


def products(u: Integers) -> Integers:
    """Products of two coordinates of each row, the first with itself left out: int64 (n, d (d + 3)/2)."""
    first, second = (places[1:] for places in np.triu_indices(u.shape[1]))
    found = u[:, first] * u[:, second] // STEPS
    return np.where(first == second, 2 * found - STEPS, found)


def matrix_of(sums: Floats, people: int, width: int) -> Floats:
    """The matrix of products, from the sums of `products`, without their unit."""
    first, second = (places[1:] for places in np.triu_indices(width + 1))
    found = np.where(first == second, (sums + people) / 2, sums)
    matrix = np.zeros((width + 1, width + 1))
    matrix[0, 0] = people
    matrix[first, second] = matrix[second, first] = found
    return matrix


def leverage(inside: Floats, beside: Floats, to_units: Floats) -> tuple[Floats, Floats, Floats]:
    """The weights w, the rows a_j (d + 1, d + 1), and the most that (a_j u)^2 can be (d + 1,), of noisy numbers."""
    sizes, axes = np.linalg.eigh(inside)
    back = axes / np.maximum(sizes, 1.0) @ axes.T  # less than one person says nothing
    turned = to_units @ back
    most = (np.abs(turned[:, 0]) + np.abs(turned[:, 1:]).sum(axis=1)) ** 2
    return back @ beside, turned, np.maximum(most, 1e-300)


def _left(weights: Floats, level: float) -> float:
    """R: the most that t is away from the line, anywhere in the bounds; at most MOST_LEFT."""
    reach, span = 1 + abs(level), float(np.abs(weights[1:]).sum())
    above = (1 - level) / reach - float(weights[0]) + span
    below = float(weights[0]) + span + (1 + level) / reach
    return min(max(above, below, 1e-3), MOST_LEFT)


def _grid(values: Floats, least: int) -> Integers:
    """Numbers from `least` to 1 on the grid."""
    with np.errstate(all="ignore"):
        cut = np.clip(np.nan_to_num(values, nan=0.0), least, 1)
    found: Integers = np.rint(cut * STEPS).astype(np.int64)
    return found


__all__ = ["SHARES", "Whole", "leverage", "loudness", "matrix_of", "products", "whole_rows"]
