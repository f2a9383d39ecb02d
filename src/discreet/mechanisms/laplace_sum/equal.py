"""The distribution of a sum of n independent Laplace variables, in closed form.

A Laplace variable of scale 1 is the difference of two exponential ones, so the sum S is the difference of two
waiting times, each for n events of a process of rate 1. Let the two race. When one has its n events, the other is
short of K; by symmetry and want of memory |S| is the time for those K events, with

    P(K = n - j) = 2 C(n - 1 + j, j) 2^-(n + j),   j = 0 ... n - 1

and P(|S| > x) = sum over i >= 0 of e^-x x^i/i! P(K > i). For n = 1 it is e^-x, for n = 2 e^-x (1 + x/2).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

_LIMIT: Final = 16.0


def tail(n: int, x: float) -> float:
    """P(|S| > x) for n variables of scale 1 and x >= 0; right to about 1e-9, relatively, up to n = 10^7."""
    return _tail(_more(n), x)


def reach(n: int, confidence: Fraction) -> float:
    """The least x, to 9 digits and rounded up, with P(|S| <= x) >= confidence, for n variables of scale 1."""
    outside = float(1 - confidence)
    more = _more(n)
    low, high = 0.0, 1.0
    while _tail(more, high) > outside:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(more, middle) > outside else (low, middle)
    return high


def _more(n: int) -> npt.NDArray[np.float64]:
    """P(K > i) for i = 0, 1, ..., up to the first that is negligible: K is about sqrt(2n) times a half normal."""
    most = min(n, math.ceil(_LIMIT * math.sqrt(2 * n)) + 100)
    j = n - np.arange(1, most)  # of K = 1, 2, ...
    ladder = np.concatenate([[0.0], np.cumsum(np.log(2 * j / (n - 1 + j)))])
    weights = np.exp(ladder)
    weights /= weights.sum()
    return np.cumsum(weights[::-1])[::-1]


def _tail(more: npt.NDArray[np.float64], x: float) -> float:
    if x <= 0:
        return 1.0
    i = np.arange(more.size)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(i[1:]))])
    return float(np.exp(i * math.log(x) - x - factorials) @ more)
