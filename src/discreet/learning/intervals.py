"""Intervals for the coefficients of a line, over the noise and over the people who happened to be asked.

Let A and b be the true moments of u with u and with the target. The release shows A + E and b + e (`learning.whole`).
E and e are noise of a known law, so that both are drawn anew: the line that the people themselves have may be least
squares on A + E - E' and b + e - e', and among the draws it lies as often left of an end as the noise says. The people
are a draw from a population, too: the variance of a coefficient over these was measured with noise, for leftovers of
any law, and normal draws of it are added. An interval ends where so many draws do, and is WIDER by a little, since that
variance is not known exactly. All of it is post-processing.

The interval covers the coefficients of least squares in the population that people were drawn from, each by itself,
with their values clamped to the bounds: also where leftovers are skewed or larger for some people than for others, and
where another curve than a line would be right. Where noise may be all that there is of some moments, lines of some
draws are steep, and the interval is as wide as these say. Where noisy moments could be of nobody, since some direction
has a negative square, everything is possible, and the interval has no ends.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.learning.statistics import Floats
from discreet.learning.whole import Whole
from discreet.mechanisms.parameters import read_confidence
from discreet.rational import Number

DRAWS: Final = 4000
WIDER: Final = 1.08


def coefficient_intervals(found: Whole | None, box: Floats, confidence: Number) -> Floats:
    """Ends (d + 1, 2) of the slopes and of the intercept.

    Args:
        found: the noisy moments; None where none were released.
        box: the bounds of the features and, last, of the target (d + 1, 2).
        confidence: of each interval, strictly between 0 and 1.
    """
    share = float(read_confidence(confidence))
    nothing: Floats = np.tile([-np.inf, np.inf], (len(box), 1))
    if found is None or not np.isfinite(found.variances).all():
        return nothing
    # Of intervals, not of the release. The same moments have the same intervals, also of a model that was saved.
    rng = np.random.default_rng(np.frombuffer(found.inside.tobytes(), np.uint32))
    inside, beside = _noise(found, rng)
    if float(np.linalg.eigvalsh(found.inside)[0]) <= 0:
        return nothing
    weights = np.linalg.solve(found.inside, found.beside)
    drawn = np.linalg.solve(found.inside - inside, (found.beside - beside)[:, :, None])[:, :, 0]
    turn = found.reach * units_of(box)
    away = (drawn - weights) @ turn.T + rng.normal(size=drawn.shape) * np.sqrt(found.variances)
    reach = WIDER * np.quantile(np.abs(away), share, axis=0)
    half, centre = (box[-1, 1] - box[-1, 0]) / 2, box[-1].mean()
    middle = turn @ weights
    middle[-1] += centre + found.level * half
    return np.column_stack([middle - reach, middle + reach])


def _noise(found: Whole, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draws of the noise on both moments: (DRAWS, d + 1, d + 1) and (DRAWS, d + 1)."""
    count = len(found.beside)
    first, second = (places[1:] for places in np.triu_indices(count))
    inside = np.zeros((DRAWS, count, count))
    inside[:, first, second] = _draws(rng, found.noise_inside[first, second], found.joint)
    inside[:, second, first] = inside[:, first, second]
    inside[:, 0, 0] = rng.laplace(0, 1, DRAWS) * found.noise_inside[0, 0]
    return inside, _draws(rng, found.noise_beside, found.joint)


def _draws(rng: np.random.Generator, scales: Floats, joint: bool) -> Floats:
    """Noise (DRAWS, k), of a cube with a radius of Gamma(k + 1), or of Laplace."""
    size = (DRAWS, len(scales))
    if joint:
        found: Floats = rng.gamma(len(scales) + 1, 1, (DRAWS, 1)) * rng.uniform(-1, 1, size) * scales
        return found
    return rng.laplace(0, 1, size) * scales


def units_of(box: Floats) -> Floats:
    """The matrix (d + 1, d + 1) from weights of (1, z) to slopes and, last, the intercept in the units of the bounds.

    The middle of the target's bounds, which adds to the intercept, is left out.
    """
    half, centre = (box[:, 1] - box[:, 0]) / 2, box.mean(axis=1)
    width = len(box) - 1
    slopes = half[-1] / half[:-1]
    turn = np.zeros((width + 1, width + 1))
    turn[:width, 1:] = np.diag(slopes)
    turn[width] = np.append(half[-1], -slopes * centre[:-1])
    return turn


__all__ = ["coefficient_intervals", "units_of"]
