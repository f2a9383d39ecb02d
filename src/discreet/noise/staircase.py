"""The discrete staircase distribution: flat steps, each lower than the one inside it by the factor e^-epsilon.

With q = e^-epsilon, a width w and 1 <= r <= w,

    P(k) = a q^j      for |k| = j w + i, 0 <= i < r,
    P(k) = a q^(j+1)  for |k| = j w + i, r <= i < w,        a = (1 - q)/(2 r + 2 q (w - r) - (1 - q)).

Draw |k|: j is geometric; the outer part of its block is taken with odds q (w - r)/r; the place in the part is uniform.
That gives |k| = i >= 0 with probability proportional to the formula. A fair sign follows; the pair (minus, 0) is drawn
again, since 0 would count twice. The number of repetitions says nothing about the kept pair.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.noise.bernoulli import bernoulli, bernoulli_odds
from discreet.noise.choice import uniform
from discreet.noise.entropy import undivided
from discreet.noise.geometric import geometric
from discreet.noise.unbounded import continued


@undivided
def staircase(epsilon: Fraction, width: int, inner: int, size: int) -> list[int]:
    """Draw exact staircase variables, as ints without end.

    Args:
        epsilon: rational from 2^-56 to 2^10.
        width: w, at least 1.
        inner: r, from 1 to w.
        size: how many.

    Raises:
        InvalidParameter: an epsilon outside its range.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> len(staircase(Fraction(2), 100, 27, 3))
        3
    """
    drawn: list[int] = []
    while len(drawn) < size:
        count = size - len(drawn)
        magnitude = _magnitudes(epsilon, width, inner, count)
        minus = bernoulli(Fraction(1, 2), count)
        drawn += [
            -k if sign else k for k, sign in zip(magnitude, minus.tolist(), strict=True) if k or not sign
        ]
    return drawn


def mass(k: npt.NDArray[Any], epsilon: Fraction, width: int, inner: int) -> npt.NDArray[np.float64]:
    """P(k) of the formula, float64 of the same shape."""
    q = math.exp(-epsilon)
    block, place = np.divmod(np.abs(k), width)
    top = -math.expm1(-epsilon) / (2 * inner + 2 * q * (width - inner) + math.expm1(-epsilon))
    probabilities: npt.NDArray[np.float64] = top * np.exp(-float(epsilon) * (block + (place >= inner)))
    return probabilities


def _magnitudes(epsilon: Fraction, width: int, inner: int, count: int) -> list[int]:
    block = continued(geometric(1 / epsilon, count), 1 / epsilon)
    outer = width - inner
    low = uniform(inner, count).tolist()
    if not outer:
        return [j * width + i for j, i in zip(block, low, strict=True)]
    out = bernoulli_odds(epsilon, count, weight=Fraction(outer, inner)).tolist()
    high = uniform(outer, count).tolist()
    return [
        j * width + (inner + h if outside else i)
        for j, i, h, outside in zip(block, low, high, out, strict=True)
    ]
