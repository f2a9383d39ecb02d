"""The half-widths of weighted sums of the integers of a group, by the noise that each of them has.

Sums of Laplace variables have closed forms (`mechanisms.laplace_sum`). A sum of discrete Gaussian variables of
parameters v_i and weights w_i is like a normal variable of variance sum of w_i^2 v_i, as the parameters are 1 or more
(then sums of the lattice differ from integrals by less than one part in 10^8: Canonne, Kamath and Steinke 2020, fact
18), but for its steps: half of the largest is added. Where a sum has both kinds, the chance to be outside is shared
between them, and the two half-widths are added: an interval of at least the confidence.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import each as half_width
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def single(release: PlannedRelease, measure: int, confidence: float) -> int:
    """The half-width of the noise of one integer of a measure, decided for its own law."""
    from discreet.mechanisms.numeric.laplace import float_half_width

    parameter = release.gaussian(measure)
    if parameter is not None:
        from discreet.mechanisms.numeric.discrete_gaussian import half_width_of

        return half_width_of(float(parameter), 1 - confidence)
    return float_half_width(float(release.scale(measure)), 1 - confidence)


def deviation(release: PlannedRelease, measure: int) -> float:
    """The standard deviation of the noise on each integer of a measure."""
    parameter = release.gaussian(measure)
    return math.sqrt(2) * float(release.scale(measure)) if parameter is None else _deviation_of(parameter)


def _deviation_of(parameter: Fraction) -> float:
    return math.sqrt(parameter)


def half_widths(
    release: PlannedRelease, weights: Floats, measures: NDArray[np.intp], confidence: float
) -> Floats:
    """The half-widths of weighted sums of integers: float64 (...) of weights (..., integers).

    Args:
        release: whose integers get noise themselves.
        weights: of each sum.
        measures: int array (integers,), the measure that each belongs to.
        confidence: strictly between 0 and 1.
    """
    kinds = np.array([release.gaussian(int(index)) is not None for index in measures])
    scales = np.array(
        [
            deviation(release, int(index)) if normal else float(release.scale(int(index)))
            for index, normal in zip(measures, kinds, strict=True)
        ]
    )
    laplace = (weights * scales)[..., ~kinds]
    laplace = laplace[..., np.any(laplace, axis=tuple(range(laplace.ndim - 1)))]
    normal = weights[..., kinds]
    if not normal.any():
        return half_width(np.abs(laplace), confidence)
    outside = (1 - confidence) / (2 if laplace.size else 1)
    reach = -NormalDist().inv_cdf(outside / 2)
    found = reach * np.sqrt(((normal * scales[kinds]) ** 2).sum(axis=-1)) + np.abs(normal).max(axis=-1) / 2
    return np.asarray(found + (half_width(np.abs(laplace), 1 - outside) if laplace.size else 0.0))
