"""Logistic regression: least squares of labels, and where people are many a step from there toward the logistic loss.

Least squares on labels of -1 and 1 is the logistic loss to its second order at zero (`learning.scores`). Where most
scores are large that is not the least of the loss itself. So where noise is small, STEP of epsilon buys the sum of
u r, with u = (1, z) and r = y - 1/(1 + e^-s), the gradient at the scores s of that line, and Newton's step is taken
with the released moments in place of the Hessian: p (1 - p) is at most 1/4. Both are one release.

Sensitivity. Coordinates of u r lie in -1 to 1: replacing a row moves each sum by at most 2 (`CubeVector`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.learning.budget import LearningBudget
from discreet.learning.centred import Centred, measuring
from discreet.learning.models.releasing import released
from discreet.learning.scores import RIDGE, LinearScore, fitted_line, line_of, solved
from discreet.learning.statistics import STEPS, Floats, Integers
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.release.draw import Draw, Use

STEP: Final = Fraction(2, 5)
"""The share of epsilon of the step."""
MANY: Final = 200
"""A step is taken from so many rows on, times epsilon, for each coefficient."""


def steps_for(epsilon: float, rows: int, features: int) -> bool:
    """Whether a step is taken, by public numbers alone."""
    return epsilon * rows >= MANY * (features + 1)


def logit_line(
    rows: Integers, epsilon: Fraction, budget: LearningBudget, words: str, ridge: float = 0.0
) -> LinearScore:
    """The line through labels of -1 and 1, half of the score, of rows on the grid (n, d + 1), the label last.

    Raises:
        InvalidParameter: epsilon is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.
    """
    count = rows.shape[1]
    parts = measuring(rows, epsilon * (1 - STEP), budget)
    if parts is None or not steps_for(float(epsilon), len(rows), count - 1):
        return fitted_line(rows, epsilon, budget, words, ridge)
    noise = CubeVector(2 * STEPS / (epsilon * STEP), 2 * STEPS, count)
    measure, told = parts.measure, parts.told

    def compute(draw: Draw) -> list[Any]:
        found = measure(draw)
        line = line_of(told(*found), ridge)
        u = np.column_stack([np.ones(len(rows)), rows[:, :-1] / STEPS])
        scores = 2 * (u @ np.append(line.intercept, line.weights))
        rest = (rows[:, -1] > 0) - 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        parts_of = np.rint(u * rest[:, None] * STEPS).astype(np.int64)
        return [*found, draw("step", parts_of.sum(axis=0)[None])[0]]

    uses = parts.uses | {"step": Use(noise, budget.neighbours, count)}
    *found, gradient = released(uses, compute, f"{words}, with a step", budget)
    moments = told(*found)
    return stepped(line_of(moments, ridge), moments, gradient / STEPS, len(rows), ridge)


def stepped(line: LinearScore, found: Centred, gradient: Floats, people: int, ridge: float) -> LinearScore:
    """Newton's step from a line, by released numbers alone."""
    width = len(gradient) - 1
    middle, spread = found.middle[:-1], found.spread[:-1]
    turn = np.diag(np.append(1.0, 1 / spread))
    turn[1:, 0] = -middle / spread  # from (1, z) to (1, u)
    loud = 2 * math.sqrt(2) * found.scale * math.sqrt(width + 1)
    inside = found.matrix[:-1, :-1] + np.diag([0.0] + [ridge + RIDGE * loud] * width)
    longer = people / max(float(found.matrix[0, 0]), 1.0)  # rows were shortened
    move = solved(inside * longer / 4, turn @ gradient, max(loud * longer / 4, 1e-9))
    both = np.append(line.intercept, line.weights) + (turn.T @ move) / 2
    return LinearScore(both[1:], float(both[0]))


__all__ = ["logit_line", "steps_for"]
