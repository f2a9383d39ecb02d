"""The Bernstein basis in integers: for t in [0, R], degree + 1 non-negative integers whose sum is R exactly.

With r = R - t, and // rounding down, as all divisions here do:

    degree 1    t
    degree 2    b1 = 2 t r // R                  b2 = t t // R
    degree 3    s = t t // R, v = r r // R       b1 = 3 v t // R    b2 = 3 s r // R    b3 = s t // R
    degree 4    also m = t r // R                b1 = 4 m v // R    b2 = 6 m m // R    b3 = 4 m s // R    b4 = s s // R

and b0 = R - (the sum of the others). Each b_k with k > 0 is at most C(d, k) t^k r^(d - k) / R^(d - 1), as s, v and m
are at most t t / R, r r / R and t r / R; these numbers, with r^d / R^(d - 1), add up to (t + r)^d / R^(d - 1) = R. So
b0 is at least r^d / R^(d - 1) >= 0, and one row moves the vector by R in L1 for every t. All products stay below 2^62
for R up to 2^30, and each b_k is less than 13 below the number that it is rounded from: a billionth of a row.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from discreet.sql.expressions.dialect import Dialect, divided

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_DEGREE = 4


def integers(t: str, r: int, degree: int, dialect: Dialect) -> list[str]:
    """All of them but b0, in SQL.

    Args:
        t: SQL of the scaled integer.
        r: R.
        degree: from 1 to 4.
        dialect: of the engine.
    """
    rest = f"({r} - {t})"

    def over(product: str) -> str:
        return f"({divided(product, str(r), dialect)})"

    if degree == 1:
        return [t]
    if degree == 2:
        return [over(f"2 * {t} * {rest}"), over(f"{t} * {t}")]
    s, v, m = over(f"{t} * {t}"), over(f"{rest} * {rest}"), over(f"{t} * {rest}")
    if degree == 3:
        return [over(f"3 * {v} * {t}"), over(f"3 * {s} * {rest}"), over(f"{s} * {t}")]
    assert degree == MOST_DEGREE
    return [over(f"4 * {m} * {v}"), over(f"6 * {m} * {m}"), over(f"4 * {m} * {s}"), over(f"{s} * {s}")]


def power(degree: int, of: int) -> NDArray[np.float64]:
    """The weights of the basis that give the mean of (t / R)^of, for of up to the degree.

    Example:
        >>> power(2, 1), power(2, 2)
        (array([0. , 0.5, 1. ]), array([0., 0., 1.]))
    """
    return np.array([comb(k, of) / comb(degree, of) for k in range(degree + 1)])


__all__ = ["MOST_DEGREE", "integers", "power"]
