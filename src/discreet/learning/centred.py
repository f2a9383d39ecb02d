"""Private moments around private means: sums of products of columns that were centred, scaled and shortened.

Columns z lie in [-1, 1], in units of STEPS (`learning.statistics`). First the sums of z and of 2 z^2 - 1 give noisy
means m and spreads g: a row moves each by at most 2 when it is replaced (`CubeVector`). With u = (z - m)/g a row is
then v = s (1, u), shortened by an s <= 1 so that the absolute values of s u add up to at most B, and none is above R.
All products of two coordinates of v are summed, in units of UNIT^2, with Laplace noise.

Sensitivity. The absolute products v_i v_j, i <= j, add up to (|v|_1^2 + |v|_2^2)/2 in each row, where |v|_1 <= B + 1
and |v|_2^2 <= 1 + R B. Replacing a row moves the sums by at most twice as much: (B + 1)^2 + 1 + R B. Integers are cut
toward zero, so that they keep both bounds.

A row that is shortened keeps its direction: where y = a + w u holds for u and y, it holds for s, s u and s y. So
regression stays right, and such rows weigh less. Leftovers of the line are shortened as well, large ones more than
small: where they are skewed and of unlike spread, as those of incomes are, the line turns. Moments around the
mean of rows of a few spreads need many times less noise than those of rows anywhere in the bounds.

In boxes (`boxed`) each column is cut to CLIP spreads by itself, v_j = cut((z_j - m_j)/r_j) with r_j = min(CLIP g_j,
1 + |m_j|), and sums of v_j and v_i v_j, of squares 2 v_j^2 - 1, get noise in a cube: a row that is replaced moves each
by at most 2. So columns of two values, which spread over their bounds and are hardly cut, keep their lengths. On
invented columns the axes of boxes and of shortened rows are as good in the mean where means are not found
(BLIND); of columns of two values those of boxes are better, of normal ones those of shortened rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import released
from discreet.learning.statistics import STEPS, Floats, Integers
from discreet.learning.whole import matrix_of
from discreet.learning.whole import products as whole_products
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.records import dataclass
from discreet.release.draw import Draw, Use

UNIT: Final = 1 << 12
FIRST: Final = Fraction(1, 4)
"""The share of epsilon of means and spreads."""
REACH: Final = 3
"""R: how many spreads a coordinate has at most."""
LENGTHS: Final = (Fraction(3, 4), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))
"""B is one of these for each column: the longest of which the noise stays below QUIET of the people, or the first. At
3/4, half of the rows of independent normal columns are shortened; at 3, none."""
QUIET: Final = 0.12
WITHIN: Final = 0.1
"""About the square of a mean, where nothing is known of a column between -1 and 1; noise above it counts little."""
SPREAD: Final = 0.2
"""About its variance."""
BLIND: Final = 0.1
"""Where means would err by more than this, moments are taken around the middle of the bounds."""
NARROW: Final = 0.05
"""No spread is less, where columns lie in -1 to 1."""
CLIP: Final = 1.5
"""In boxes, a column is cut to so many spreads."""
LOST: Final = 0.35
"""Where means would err by more than this, boxes are those of the bounds."""


@dataclass(frozen=True)
class Centred:
    """Noisy moments of v.

    Attributes:
        matrix: sums of products (k + 1, k + 1), the constant first.
        scale: of the noise on each.
        middle, spread: m and g (k,), of columns between -1 and 1.
    """

    matrix: Floats
    scale: float
    middle: Floats
    spread: Floats


def length_for(epsilon: float, people: int, columns: int) -> int:
    """B in units, by public numbers alone."""
    known = [max(int(length * columns * UNIT), REACH * UNIT // 2) for length in LENGTHS]
    quiet = [length for length in known if spectral(epsilon, columns, length) <= QUIET * people]
    return max(quiet, default=known[0])


def moves(length: int) -> int:
    """How far replacing a row moves the products in L1: the module's text."""
    return (length + UNIT) ** 2 + UNIT**2 + REACH * UNIT * length


def shortened(rows: Integers, middle: Floats, spread: Floats, length: int) -> Integers:
    """The rows v in units: int64 (n, k + 1)."""
    most, reach = length, REACH * UNIT
    u = (rows / STEPS - middle) / spread
    sums, largest = np.abs(u).sum(axis=1), np.abs(u).max(axis=1)
    with np.errstate(all="ignore"):
        s = np.minimum(1, np.minimum(most / (UNIT * sums), reach / (UNIT * largest)))
    whole = (
        np.column_stack([np.ones(len(rows)), u]) * (np.nan_to_num(s, nan=1.0) * (1 - 1e-9))[:, None] * UNIT
    )
    found: Integers = np.trunc(whole).astype(np.int64)
    return found


def products(rows: Integers) -> Integers:
    """The sums of products of two coordinates, first those of the first: int64."""
    first, second = np.triu_indices(rows.shape[1])
    return np.array([rows[:, a] @ rows[:, b] for a, b in zip(first, second, strict=True)], np.int64)


def located(draw: Draw, rows: Integers, noise: CubeVector) -> tuple[Floats, Floats]:
    """Noisy means and spreads of columns between -1 and 1, the part of a release named "places"."""
    people, width = max(len(rows), 1), rows.shape[1]
    vector = np.hstack([rows.sum(axis=0), (2 * rows * rows // STEPS - STEPS).sum(axis=0)])
    sums = draw("places", vector[None])[0] / STEPS / people
    error = noise.deviation / STEPS / people
    kept = 1 / (1 + error**2 / WITHIN)
    middle = np.clip(sums[:width] * kept, -1, 1)
    square = np.clip((sums[width:] + 1) / 2 - middle**2, 0, 1)
    trust = 1 / (1 + (error / SPREAD) ** 2 / width)
    common = trust * float(square.mean()) + (1 - trust) * SPREAD
    weight = 1 / (1 + (2 * error / common) ** 2)
    square = np.maximum(weight * square + (1 - weight) * common, NARROW**2)
    return middle, np.sqrt(np.minimum(square + kept * error**2, 1))


def places_noise(epsilon: Fraction, columns: int) -> CubeVector:
    """The mechanism of `located`."""
    return CubeVector(2 * STEPS / epsilon, 2 * STEPS, 2 * columns)


@dataclass(frozen=True)
class Measuring:
    """How moments are measured, as a part of a release.

    Attributes:
        uses: the mechanisms.
        measure: the noisy products, means and spreads.
        noise: on the products.
    """

    uses: dict[str, Use]
    measure: Callable[[Draw], list[Any]]
    noise: LaplaceVector

    def told(self, found: Integers, middle: Floats, spread: Floats) -> Centred:
        """The moments of that."""
        return _told(found, self.noise, middle, spread)


def measuring(rows: Integers, epsilon: Fraction, budget: LearningBudget) -> Measuring | None:
    """How moments around private means are measured; None where these would not be found."""
    width = rows.shape[1]
    places = places_noise(epsilon * FIRST, width)
    if places.deviation / STEPS > BLIND * max(len(rows), 1):
        return None
    length = length_for(float(epsilon), len(rows), width)
    sensitivity = moves(length)
    noise = LaplaceVector(sensitivity / (epsilon * (1 - FIRST)), sensitivity)

    def measure(draw: Draw) -> list[Any]:
        middle, spread = located(draw, rows, places)
        return [draw("products", products(shortened(rows, middle, spread, length))), middle, spread]

    uses = {
        "places": Use(places, budget.neighbours, 2 * width),
        "products": Use(noise, budget.neighbours, (width + 1) * (width + 2) // 2),
    }
    return Measuring(uses, measure, noise)


def centred(rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str) -> Centred:
    """The noisy moments of rows on the grid (n, k), charged.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.
    """
    parts = measuring(rows, epsilon, budget)
    if parts is None:
        return _around_the_middle(rows, epsilon, budget, words)
    return parts.told(*released(parts.uses, parts.measure, words, budget))


def boxed(rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str) -> Centred:
    """The noisy moments of rows on the grid (n, k), charged: in boxes where means would not be found, else shortened.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.
    """
    width, people = rows.shape[1], max(len(rows), 1)
    places = places_noise(epsilon * FIRST, width)
    error = places.deviation / STEPS / people
    if error <= BLIND:
        return centred(rows, epsilon, budget, words)
    seen = error <= LOST
    count = width * (width + 3) // 2
    noise = CubeVector(2 * STEPS / (epsilon * (1 - FIRST) if seen else epsilon), 2 * STEPS, count)

    def compute(draw: Draw) -> list[Floats]:
        middle, reach = np.zeros(width), np.ones(width)
        if seen:
            middle, spread = located(draw, rows, places)
            reach = np.minimum(CLIP * spread, 1 + np.abs(middle))
        inside = np.rint(np.clip((rows / STEPS - middle) / reach, -1, 1) * STEPS).astype(np.int64)
        u = np.column_stack([np.full(len(rows), STEPS), inside])
        return [draw("products", whole_products(u).sum(axis=0)[None])[0], middle, reach]

    uses = {"places": Use(places, budget.neighbours, 2 * width)} if seen else {}
    uses["products"] = Use(noise, budget.neighbours, count)
    found, middle, reach = released(uses, compute, f"{words}, in boxes", budget)
    return Centred(matrix_of(found / STEPS, len(rows), width), float(noise.scale) / STEPS, middle, reach)


def _around_the_middle(rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str) -> Centred:
    """The same around the middle of the bounds, with spreads of two columns alike: nothing is spent to find them."""
    width = rows.shape[1]
    length = length_for(float(epsilon), len(rows), width)
    sensitivity = moves(length)
    noise = LaplaceVector(sensitivity / epsilon, sensitivity)
    count = (width + 1) * (width + 2) // 2
    middle, spread = np.zeros(width), np.full(width, math.sqrt(SPREAD))
    (found,) = released(
        {"products": Use(noise, budget.neighbours, count)},
        lambda draw: [draw("products", products(shortened(rows, middle, spread, length)))],
        f"{words}, around the middle",
        budget,
    )
    return _told(found, noise, middle, spread)


def _told(found: Integers, noise: LaplaceVector, middle: Floats, spread: Floats) -> Centred:
    first, second = np.triu_indices(len(middle) + 1)
    matrix = np.zeros((len(middle) + 1, len(middle) + 1))
    matrix[first, second] = matrix[second, first] = found / UNIT**2
    return Centred(matrix, float(noise.scale) / UNIT**2, middle, spread)


def spectral(epsilon: float, columns: int, length: int) -> float:
    """About how large the largest eigenvalue of the noise on the products is."""
    deviation = math.sqrt(2) * moves(length) / UNIT**2 / (epsilon * float(1 - FIRST))
    return 2 * deviation * math.sqrt(columns)
