"""How wide a weighted sum of independent Laplace variables is, for few weights and for many.

Few weights: exact, by partial fractions of the characteristic function, the product of 1/(1 + w_i^2 s^2).

Many weights, as in a tree of counts: the sum is as wide as one of n equal weights with the same variance and the
same kurtosis, where n = (sum w^2)^2 / sum w^4 is the effective number of weights. That is exact for equal weights,
and the fourth cumulant is right for all; n = 1 is Laplace and n = infinity is normal.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum import equal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_EXACT = 4
"""Partial fractions of more weights than this lose too many digits when the weights are close."""
MOST_EQUAL = 40
"""Half-widths are computed for up to so many equal weights, and interpolated in 1/n to the normal beyond."""


def tail(weights: Floats, t: Floats) -> Floats:
    """P(|sum of w_i L_i| > t) for independent standard Laplace variables L_i.

    Equal weights are moved apart by a part in ten thousand, which moves the tail by less than 1e-4.

    Args:
        weights: float64 array (..., k), k at most 4.
        t: float64 array (...), at least 0.
    """
    w = np.sort(np.abs(weights), axis=-1)
    k = w.shape[-1]
    w = np.maximum(w, 1e-9 * np.max(w, axis=-1, keepdims=True))
    for i in range(1, k):
        w[..., i] = np.maximum(w[..., i], w[..., i - 1] * (1 + 1e-4))
    out = np.zeros(np.broadcast_shapes(t.shape, w.shape[:-1]))
    squares = w * w
    for i in range(k):
        factor = np.ones(w.shape[:-1])
        for j in range(k):
            if j != i:
                factor = factor * squares[..., i] / (squares[..., i] - squares[..., j])
        out = out + factor * np.exp(-t / w[..., i])
    return np.clip(out, 0, 1)


def reach(weights: Floats, confidence: float) -> Floats:
    """The t at which the tail of a weighted sum is 1 - confidence.

    Args:
        weights: float64 array (..., k); exact for k up to 4 and for equal weights.
        confidence: strictly between 0 and 1.

    Returns:
        float64 array (...), in the units of the weights.

    Example:
        >>> round(float(reach(np.array([2.0]), 0.95)), 3)
        5.991
        >>> round(float(reach(np.ones(9), 0.95)), 2)
        8.42
    """
    w = np.abs(np.asarray(weights, dtype=np.float64))
    # Measured in the largest weight, whose square may be beyond doubles where bounds are very wide.
    unit = w.max(axis=-1)
    unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
    with np.errstate(over="ignore"):
        return _in_units(w / unit[..., np.newaxis], confidence) * unit


def _in_units(w: Floats, confidence: float) -> Floats:
    """The half-width of weights of which the largest is 1."""
    if w.shape[-1] == 1:
        return np.asarray(w[..., 0] * -np.log1p(-confidence))
    if w.shape[-1] > MOST_EXACT:
        squares = (w * w).sum(axis=-1)
        effective = squares * squares / (w**4).sum(axis=-1)
        return np.asarray(np.sqrt(2 * squares) * standard_reach(effective, confidence))
    low = np.zeros(w.shape[:-1])
    high = w.sum(axis=-1) * (-np.log1p(-confidence) + 1.0) + 1e-300
    for _ in range(60):
        middle = (low + high) / 2
        above = tail(w, middle) > 1 - confidence
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)


def standard_reach(effective: Floats, confidence: float) -> Floats:
    """The half-width of a sum of `effective` equally wide Laplace variables, in standard deviations of the sum.

    Args:
        effective: float64 array, the effective number of weights, at least 1.
        confidence: strictly between 0 and 1.
    """
    inverse, widths = _equal_half_widths(confidence)
    return np.asarray(np.interp(1 / np.asarray(effective), inverse, widths))


@lru_cache(maxsize=64)
def _equal_half_widths(confidence: float) -> tuple[Floats, Floats]:
    """1/n, increasing from 0, and the half-widths for n = infinity, MOST_EQUAL, ..., 1."""
    inverse, widths = [0.0], [NormalDist().inv_cdf((1 + confidence) / 2)]
    for n in range(MOST_EQUAL, 0, -1):
        inverse.append(1 / n)
        widths.append(equal.reach(n, Fraction(confidence)) / math.sqrt(2 * n))
    return np.array(inverse), np.array(widths)
