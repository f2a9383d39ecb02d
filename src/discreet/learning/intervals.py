"""Intervals for the coefficients of a line, over the noise and over the people who happened to be asked.

Let A and b be the true moments of u with u and with the target, and w the coefficients of the population: b = A w + r,
where r adds up the products of u with the leftovers of the line. The release shows A + E and b + e. Least squares on
these, without a ridge, errs by about (A + E)^-1 (e - E w + r). E and e are Laplace noise of a known scale, and r is
close to normal with a covariance of at most A times the variance of the leftovers. Both are drawn, and an
interval ends where so many draws do. All of it is post-processing.

The interval covers the noise of the release and the chance of drawing these people from a population in which a line
with leftovers of one variance holds. It does not cover that values beyond the bounds are clamped, nor that another
curve than a line would be right. Rows are shortened by their target, too (`centred`): where leftovers are skewed and
larger for some rows than for others, as those of incomes are, this turns the line, which no interval covers. Where the
noise is so large that the least eigenvalue of the moments may be of it alone, everything is possible, and the interval
says that: it has no ends.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from discreet.learning.centred import Centred
from discreet.learning.statistics import Floats
from discreet.mechanisms.parameters import read_confidence
from discreet.rational import Number

DRAWS: Final = 4000
CLEAR: Final = 2.0
"""The least eigenvalue must be so many times the largest of the noise."""


def coefficient_intervals(found: Centred | None, box: Floats, confidence: Number) -> Floats:
    """Ends (d + 1, 2) of the slopes and of the intercept.

    Args:
        found: the noisy moments; None where none were released.
        box: the bounds of the features and, last, of the target (d + 1, 2).
        confidence: of each interval, strictly between 0 and 1.
    """
    share, width = float(read_confidence(confidence)), len(box) - 1
    nothing: Floats = np.tile([-np.inf, np.inf], (width + 1, 1))
    if found is None:
        return nothing
    inside, beside = found.matrix[:-1, :-1], found.matrix[:-1, -1]
    deviation = math.sqrt(2) * found.scale
    sizes = np.linalg.eigvalsh(inside)
    if sizes[0] < CLEAR * 2 * deviation * math.sqrt(width + 1):
        return nothing
    back = np.linalg.inv(inside)
    weights: Floats = back @ beside
    moved = back @ _leftovers(found, weights, deviation).T
    turn, start = to_columns(found, box)
    middle = turn @ weights + np.append(np.zeros(width), start)
    reach = np.quantile(np.abs(turn @ moved), share, axis=1)
    return np.column_stack([middle - reach, middle + reach])


def _leftovers(found: Centred, weights: Floats, deviation: float) -> Floats:
    """Draws (DRAWS, d + 1) of e - E w + r."""
    # Of intervals, not of the release. The same moments have the same intervals, also of a model that was saved.
    rng = np.random.default_rng(np.frombuffer(found.matrix.tobytes(), np.uint32))
    inside, count = found.matrix[:-1, :-1], len(weights)
    first, second = np.triu_indices(count)
    noise = rng.laplace(0, found.scale, (DRAWS, len(first)))
    turned = np.zeros((DRAWS, count))
    for at, (a, b) in enumerate(zip(first, second, strict=True)):
        turned[:, a] += noise[:, at] * weights[b]
        if a != b:
            turned[:, b] += noise[:, at] * weights[a]
    both = np.append(weights, -1.0)
    left = float(both @ found.matrix @ both) + deviation * float(both @ both)
    variance = max(left, 0.0) / max(float(found.matrix[0, 0]), 1.0)
    root = np.linalg.cholesky(inside)
    sampled = rng.normal(size=(DRAWS, count)) @ root.T * math.sqrt(variance)
    return rng.laplace(0, found.scale, (DRAWS, count)) - turned + sampled


def to_columns(found: Centred, box: Floats) -> tuple[Floats, float]:
    """The matrix (d + 1, d + 1) from weights of (1, u) to slopes and intercept in the units of the bounds.

    The second is the number that is added to the intercept.
    """
    half, centre = (box[:, 1] - box[:, 0]) / 2, box.mean(axis=1)
    spread, middle = found.spread * half, centre + found.middle * half
    slopes = spread[-1] / spread[:-1]
    width = len(slopes)
    turn = np.zeros((width + 1, width + 1))
    turn[:width, 1:] = np.diag(slopes)
    turn[width] = np.append(spread[-1], -slopes * middle[:-1])
    return turn, float(middle[-1])


__all__ = ["coefficient_intervals", "to_columns"]
