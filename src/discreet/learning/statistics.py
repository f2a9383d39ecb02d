"""Private sufficient statistics: sums of products of bounded columns, as one release of integers.

Each column is moved to [-1, 1] by its bounds, clamped and rounded to a grid of 2^-16, so that all sums are exact
integers. With k columns, replacing one row by another changes the sums of the columns and of the products of two
columns by at most max over f of 2 f (k - f + 1) in L1, and the sum of squares of a column by 1.

Proof. g(z, z') = sum_i |z_i - z'_i| + sum_(i<j) |z_i z_j - z'_i z'_j| is convex in each coordinate by itself, so that
its greatest value over a box is at corners. There s_i = z_i z'_i is 1 or -1; a column counts 2 where s_i = -1, and a
pair counts 2 where s_i and s_j differ. With f of the k signs negative this is 2 f + 2 f (k - f). A square lies in
[0, 1].
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.learning.budget import LearningBudget
from discreet.ledger import Loss
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.rational import Number, decimal, epsilon_of
from discreet.release import gate
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bounds = Sequence[tuple[Number, Number]]

STEPS: Final = 1 << 16
"""A column lies in -STEPS to STEPS."""
MOST_ROWS: Final = 1 << 28
"""More rows could add up to more than 64 bits."""


def scaled(values: npt.ArrayLike, bounds: Bounds) -> Integers:
    """Columns on the grid, from -STEPS to STEPS: int64 (n, k) from (n, k); NaN is the middle.

    Raises:
        InvalidParameter: values and bounds do not fit, or there are too many rows.
    """
    given = np.asarray(values, np.float64)
    if given.ndim != 2 or given.shape[1] != len(bounds) or len(given) > MOST_ROWS:
        raise InvalidParameter(
            "The columns and their bounds do not fit.", "Give one (least, greatest) for each of the columns."
        )
    ends = read_bounds(bounds)
    middle, half = (ends[:, 0] + ends[:, 1]) / 2, (ends[:, 1] - ends[:, 0]) / 2
    with np.errstate(all="ignore"):
        moved = np.nan_to_num((given - middle) / half, nan=0.0, posinf=1.0, neginf=-1.0)
    found: Integers = np.rint(np.clip(moved, -1, 1) * STEPS).astype(np.int64)
    return found


def read_bounds(bounds: Bounds) -> Floats:
    """Bounds as float64 (k, 2).

    Raises:
        InvalidParameter: one of them is no pair of finite numbers, the lesser first.
    """
    try:
        ends = np.array([[float(decimal(end)) for end in pair] for pair in bounds])
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.ndim != 2 or ends.shape[1] != 2 or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidParameter(
            "The bounds cannot be read.", "Give bounds=[(0, 120), (0, 1)], the least first."
        )
    return ends


def pairs_of(columns: int) -> tuple[Integers, Integers]:
    """The places of the sums, of the products of two columns and of the squares: with a column of ones in front."""
    rows, others = np.triu_indices(columns + 1)
    return rows[1:], others[1:]


def sensitivity(columns: int, squares: int) -> int:
    """How far the vector of integers moves in L1 when one row is replaced, in steps: the module's text."""
    products = max(2 * f * (columns - f + 1) for f in range(columns + 1))
    return (products + squares) * STEPS**2


def second_moments(
    rows: Integers, squares: Sequence[bool], epsilon: Number, budget: LearningBudget, words: str
) -> tuple[Floats, float]:
    """The noisy matrix of the sums of products of all pairs of columns and a column of ones in front.

    Args:
        rows: on the grid (n, k).
        squares: for each column whether its sum of squares is needed; else it is n, which is known.
        epsilon: of all of them.
        budget: is charged.
        words: for the steward who reads the ledger.

    Returns:
        float64 (k + 1, k + 1) in units of [-1, 1], and the scale of the noise on each number.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon for replacing one row, by the Laplace mechanism on integers.
    """
    if budget.neighbours != "replace_one":
        raise InvalidParameter(
            "This learner needs a public number of rows.", 'Give neighbours="replace_one".'
        )
    loss, count = epsilon_of(epsilon), rows.shape[1]
    first, second = pairs_of(count)
    wanted = np.array([a != b or squares[a - 1] for a, b in zip(first, second, strict=True)])
    first, second = first[wanted], second[wanted]
    moves = sensitivity(count, sum(squares))
    noise = LaplaceVector(Fraction(moves) / loss, moves)

    def compute(draw: Draw) -> Integers:
        whole = np.column_stack([np.full(len(rows), STEPS, np.int64), rows])
        sums = np.array([whole[:, a] @ whole[:, b] for a, b in zip(first, second, strict=True)], np.int64)
        noisy: Integers = draw("moments", sums)
        return noisy

    plan: ReleasePlan[Integers, Integers] = ReleasePlan(
        question=_question(words, rows.shape, loss),
        words=words,
        loss=Loss(noise.loss),
        uses={"moments": Use(noise, budget.neighbours, len(first))},
        compute=compute,
        answer=lambda noisy: (noisy, json.dumps(noisy.tolist()).encode()),
    )
    found = gate.release(plan, budget.ledger, budget.account)
    matrix = np.full((count + 1, count + 1), float(len(rows)))
    matrix[first, second] = matrix[second, first] = found / STEPS**2
    return matrix, float(noise.scale) / STEPS**2


def _question(words: str, shape: tuple[int, ...], epsilon: Fraction) -> str:
    parts: list[Any] = ["moments", words, list(shape), str(epsilon)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
