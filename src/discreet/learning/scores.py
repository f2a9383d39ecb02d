"""A line that foretells a target from private moments: least squares where people are many, else by directions.

Where the noise on moments of whole rows stays far below the number of people, least squares is solved from these
(`learning.whole`); intervals need them, too. Else rows are shortened: where the noise on all products stays
below the number of people, it is solved from those (`learning.centred`). Where it does not, only the products of
features with the target are asked for: the coordinates of u t, u cut to +-WIDE spreads and t within +-1, in one cube.
They give the direction w of the line; its slope follows from the sums of f, 2 f^2 - 1, f t and t of one column f = u w,
cut to [-1, 1]. Where even these would be noise, the line is the mean of the target. Which way is taken depends on
epsilon, rows and columns alone.

Sensitivity of the four sums. |f - f'| + 2 |f^2 - f'^2| + |f t - f' t'| + |t - t'| is convex in t and in t', so that it
is largest where both are 1 or -1. Where they are alike it is 2 |f - f'| (1 + |f + f'|) <= 9/2; else it is
2 max(|f|, |f'|) + 2 |f^2 - f'^2| + 2 <= 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.learning.budget import LearningBudget
from discreet.learning.centred import WITHIN, Centred, centred, length_for, located, places_noise, spectral
from discreet.learning.models.releasing import released
from discreet.learning.statistics import STEPS, Floats, Integers
from discreet.learning.whole import Whole, loudness, whole_rows
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.records import dataclass
from discreet.release.draw import Draw, Use

WIDE: Final = 2
TOO_LOUD: Final = 0.7
"""Directions are taken where the largest eigenvalue of the noise is above so many people's share."""
WHOLE: Final = 0.6
"""Rows are taken whole where the largest eigenvalue of the noise on their products is below so many people's share,
divided by the square of the number of features: beyond that, shortened ones foretell more."""
RIDGE: Final = 0.25
"""The ridge beside that of the user: so much of the largest eigenvalue of the noise."""
SHARES: Final = {
    "level": Fraction(1, 10), "places": Fraction(1, 5), "directions": Fraction(1, 2), "slope": Fraction(1, 5)
}  # fmt: skip
"""The shares of epsilon of a line by directions."""
HOPELESS: Final = 0.5
"""Not even directions are asked for where the noise on each is more than this."""


@dataclass(frozen=True)
class LinearScore:
    """A target between -1 and 1 as intercept + weights z, of columns z between -1 and 1; and its moments, if any."""

    weights: Floats
    intercept: float
    moments: Whole | None = None


def fitted_line(
    rows: Integers,
    epsilon: Fraction,
    budget: LearningBudget,
    words: str,
    ridge: float = 0.0,
    whole: bool | None = False,
    to_units: Floats | None = None,
) -> LinearScore:
    """The line through rows on the grid (n, k + 1), the target last.

    Args:
        rows: of people.
        epsilon: of all of it.
        budget: is charged.
        words: for the ledger.
        ridge: is added to the diagonal.
        whole: whether rows are taken whole; None where noise is small.
        to_units: for whole rows, as `whole_rows` takes it.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.
    """
    people, width = max(len(rows), 1), rows.shape[1] - 1
    if whole is None:
        whole = loudness(float(epsilon), width) * width**2 <= WHOLE * people
    if whole and to_units is not None:
        return whole_line(whole_rows(rows, to_units, epsilon, budget, words), ridge)
    noise = spectral(float(epsilon), width + 1, length_for(float(epsilon), people, width + 1))
    if noise > TOO_LOUD * people:
        shares = {name: share * epsilon for name, share in SHARES.items()}
        cube = CubeVector(2 * STEPS / shares["directions"], 2 * STEPS, width)
        if cube.deviation / STEPS / people * WIDE > HOPELESS:
            return _constant(rows, epsilon, budget, words)
        return _by_direction(rows, shares, cube, budget, words)
    found = centred(rows, epsilon, budget, words)
    return _least_squares(found, ridge + RIDGE * noise)


def line_of(found: Centred, ridge: float = 0.0) -> LinearScore:
    """The line of moments that were released elsewhere."""
    loud = 2 * math.sqrt(2) * found.scale * math.sqrt(len(found.spread))
    return _least_squares(found, ridge + RIDGE * loud)


def whole_line(found: Whole, ridge: float = 0.0) -> LinearScore:
    """The line of moments of whole rows."""
    count = len(found.beside) - 1
    inside = found.inside + np.diag([0.0] + [ridge + RIDGE * found.loud] * count)
    weights = found.reach * solved(inside, found.beside, max(found.loud / 2 / math.sqrt(count + 1), 1e-9))
    return LinearScore(weights[1:], found.level + float(weights[0]), found)


def _least_squares(found: Centred, ridge: float) -> LinearScore:
    """Ridge regression of the last column on the others, all but the constant made smaller."""
    matrix = found.matrix
    count = len(matrix) - 2
    inside = matrix[:-1, :-1] + np.diag([0.0] + [ridge] * count)
    beside, noise = matrix[:-1, -1], math.sqrt(2) * found.scale
    weights = solved(inside, beside, max(noise, 1e-9))
    signal = float((beside[1:] ** 2).sum())
    weights *= max(0.0, 1 - count * noise**2 / max(signal, 1e-12))
    return told(weights[0], weights[1:], found)


def told(constant: float, weights: Floats, found: Centred) -> LinearScore:
    """The line of centred and scaled columns in columns between -1 and 1."""
    slopes = weights * found.spread[-1] / found.spread[:-1]
    start = found.middle[-1] + constant * found.spread[-1] - slopes @ found.middle[:-1]
    return LinearScore(slopes, float(start))


def solved(inside: Floats, beside: Floats, least: float) -> Floats:
    """The solution of a symmetric system whose eigenvalues are at least `least`: noise may have made them less."""
    sizes, axes = np.linalg.eigh(inside)
    found: Floats = axes @ ((axes.T @ beside) / np.maximum(sizes, least))
    return found


def _constant(rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str) -> LinearScore:
    """The mean of the target."""
    noise = LaplaceVector(2 * STEPS / epsilon, 2 * STEPS)
    (level,) = released(
        {"level": Use(noise, budget.neighbours, 1)},
        lambda draw: [_level(draw, rows, noise)],
        f"{words}, the mean alone",
        budget,
    )
    return LinearScore(np.zeros(rows.shape[1] - 1), float(level[0]))


def _level(draw: Draw, rows: Integers, noise: LaplaceVector) -> Floats:
    """The mean of the target, shortened by the share of its noise: float64 (1,)."""
    people = max(len(rows), 1)
    error = math.sqrt(2) * float(noise.scale) / STEPS / people
    noisy = draw("level", rows[:, -1:].sum(axis=0)) / STEPS / people
    found: Floats = np.clip(noisy / (1 + error**2 / WITHIN), -1, 1)
    return found


def _by_direction(
    rows: Integers, shares: dict[str, Fraction], cube: CubeVector, budget: LearningBudget, words: str
) -> LinearScore:
    width = rows.shape[1] - 1
    level = LaplaceVector(2 * STEPS / shares["level"], 2 * STEPS)
    places = places_noise(shares["places"], width)
    slope = LaplaceVector(6 * STEPS / shares["slope"], 6 * STEPS)
    uses = {
        "level": Use(level, budget.neighbours, 1),
        "places": Use(places, budget.neighbours, 2 * width),
        "directions": Use(cube, budget.neighbours, width),
        "slope": Use(slope, budget.neighbours, 4),
    }
    weights, constant, middle, spread = released(
        uses,
        lambda draw: _directed(draw, rows, level, places, cube, slope),
        f"{words}, by directions",
        budget,
    )
    slopes = weights / spread
    return LinearScore(slopes, float(constant - slopes @ middle))


def _directed(
    draw: Draw,
    rows: Integers,
    level: LaplaceVector,
    places: CubeVector,
    cube: CubeVector,
    slope: LaplaceVector,
) -> list[Floats]:
    """Weights of u, the constant, means and spreads, from noisy numbers alone."""
    people = max(len(rows), 1)
    start = _level(draw, rows, level)[0]
    middle, spread = located(draw, rows[:, :-1], places)
    u = np.clip((rows[:, :-1] / STEPS - middle) / spread, -WIDE, WIDE)
    t = np.clip(rows[:, -1] / STEPS - start, -1, 1)
    beside = draw("directions", np.rint(u * t[:, None] / WIDE * STEPS).astype(np.int64).sum(axis=0)[None])[0]
    beside = beside / STEPS / people * WIDE
    error = cube.deviation / STEPS / people * WIDE
    weights = beside * np.sqrt(np.maximum(1 - (error / np.maximum(np.abs(beside), 1e-12)) ** 2 / 4, 0))
    weights /= max(float(np.abs(weights).sum()) / 2, 1e-12)  # so that most f lie in -1 to 1
    f = np.clip(u @ weights, -1, 1)
    columns = np.column_stack([f, 2 * f * f - 1, f * t, t])
    sums = draw("slope", np.rint(columns * STEPS).astype(np.int64).sum(axis=0)) / STEPS / people
    noise = float(slope.scale) * math.sqrt(2) / STEPS / people
    mean, square, product, rest = sums[0], (sums[1] + 1) / 2, sums[2], sums[3]
    rest = rest / (1 + noise**2 / WITHIN)
    variance = max(square - mean**2, 0.0) + noise
    steep = max((product - mean * rest), 0.0) / variance
    return [steep * weights, np.array(start + rest - steep * mean), middle, spread]


__all__ = ["LinearScore", "fitted_line", "line_of", "solved", "told", "whole_line"]
