"""From noisy nodes to estimates with intervals: post-processing."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.mechanisms.numeric.gaussian_vector import GaussianVector

if TYPE_CHECKING:
    from discreet.streams.measure import Measure
    from discreet.streams.spec import StreamSpec
    from discreet.streams.strategy import Floats


def estimated(
    spec: StreamSpec, measure: Measure, weights: Floats, sums: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """The estimates of all groups, and half the widths of their intervals.

    Args:
        spec: of the stream.
        measure: of it.
        weights: of the nodes.
        sums: the nodes so weighted, of all parts and groups.
        confidence: of each interval.
    """
    grid, groups = float(measure.grid), len(spec.keys)
    if not measure.mean:
        return sums * grid, np.full(groups, reach(spec, measure, weights, confidence) * grid)
    # Both parts lie within `wide` of their truth at once, with the confidence. The mean rises with the first one and
    # falls with the second one, so its ends are at two corners, which have the same sum.
    wide = reach(spec, measure, weights, (1 + confidence) / 2)
    low, high = sums[:groups], sums[groups:]
    lo, hi = (end * grid for end in measure.ends)
    both = np.maximum(low + high, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(both > 0, np.clip(low / both, 0, 1), 0.5)
        error = np.where(both > 0, np.minimum(1, wide / both), 1.0)
    return lo + share * (hi - lo), error * (hi - lo)


def reach(spec: StreamSpec, measure: Measure, weights: Floats, confidence: float) -> float:
    """How far a weighted sum of the nodes lies from its truth, with this confidence, in steps."""
    mechanism = spec.mechanism(measure)
    if isinstance(mechanism, GaussianVector):
        # A sum of discrete Gaussians, of which each is nearly normal; half a step more where they are coarse.
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        steps = float(np.abs(weights).max()) / 2
        return z * math.sqrt(float(mechanism.variance) * float(weights @ weights)) + steps
    return half_width(np.abs(weights) * float(mechanism.scale), confidence)
