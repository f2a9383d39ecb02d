"""How far a sum of Laplace variables strays: the half-width of an interval, from the characteristic function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal

_POINTS = 1 << 13
Floats: TypeAlias = npt.NDArray[np.float64]


def reach(
    scales: Sequence[float] | Floats, confidence: Number = 0.95, counts: npt.NDArray[np.int64] | None = None
) -> float:
    """The t with P(|Z_1 + ... + Z_k| <= t) = confidence, for independent Laplace Z_i of the given scales.

    The characteristic function of the sum is the product of 1/(1 + b_i^2 u^2); the probability follows by
    Gil-Pelaez inversion, integrated numerically, to about 1e-7. One scale has the closed form
    b ln(1/(1 - confidence)).

    Args:
        scales: at least one, none below zero; those that are zero add nothing.
        confidence: strictly between 0 and 1.
        counts: how many variables there are of each scale; one, where it is left out.

    Raises:
        InvalidParameter: an argument is out of range.

    Example:
        >>> round(reach([2.0]), 4), round(reach([1.0] * 500) / 500**0.5, 3)
        (5.9915, 2.772)
    """
    level = float(decimal(confidence, "confidence"))
    given = np.asarray(scales, np.float64)
    if not 0 < level < 1:
        raise InvalidParameter("confidence is not strictly between 0 and 1.", "Give 0.95, say.")
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidParameter("The scales are not a row of numbers from 0 up.", "Give at least one.")
    largest = float(given.max())
    if largest == 0:
        return 0.0
    there = given > 0
    parts, places = np.unique(given[there] / largest, return_inverse=True)
    many = np.ones(len(given), np.int64) if counts is None else counts
    totals = np.bincount(places, weights=many[there]).astype(np.int64)
    return largest * _quantile(tuple(parts.tolist()), tuple(totals.tolist()), level)


@lru_cache(maxsize=256)
def _quantile(parts: tuple[float, ...], counts: tuple[int, ...], level: float) -> float:
    """The half-width for scales that are at most 1, each so many times; many questions have the same ones."""
    if sum(counts) == 1:
        return -math.log1p(-level) * parts[0]
    nodes, weights = _nodes(np.array(parts), np.array(counts))
    low, high = 0.0, 1.0
    while _inside(high, nodes, weights) < level:
        low, high = high, 2 * high
    below, above = (_inside(end, nodes, weights) - level for end in (low, high))
    # False position, halving the end that stays (Dowell and Jarratt 1971): about ten steps.
    for _ in range(100):
        middle = (low * above - high * below) / (above - below)
        found = _inside(middle, nodes, weights) - level
        if abs(found) < 1e-9 * (1 - level) or high - low < 1e-9 * high:
            break
        if found < 0:
            low, below, above = middle, found, above / 2
        else:
            high, above, below = middle, found, below / 2
    return middle


def _nodes(parts: Floats, counts: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Points u, and the characteristic function there times the weight of the point.

    u = sinh(v)/s with s the standard deviation, v evenly from 0 to where the product is e^-32: near zero the
    points are dense, and far out, where the product falls at least like u^-4, they are sparse.
    """
    spread = math.sqrt(float((2 * counts * parts**2).sum()))
    end = 1.0
    while float((counts * np.log1p((parts * end / spread) ** 2)).sum()) < 32:
        end *= 2
    step = math.asinh(end) / _POINTS
    places = (np.arange(_POINTS) + 0.5) * step
    grid = np.sinh(places) / spread
    log = -(counts[:, None] * np.log1p((parts[:, None] * grid) ** 2)).sum(axis=0)
    return grid, np.exp(log) * np.cosh(places) / spread * step / grid * 2 / math.pi


def _inside(t: float, nodes: Floats, weights: Floats) -> float:
    """P(|sum| <= t) = 2/pi * integral of sin(t u)/u * product du."""
    return float((np.sin(t * nodes) * weights).sum())
