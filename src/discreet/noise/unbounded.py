"""Draws that go on beyond the end of int64.

`laplace` and `geometric` stop at +-(2^63 - 1). A mechanism that compares noisy numbers needs the number itself,
for a comparison of two draws that stopped is not that of the draws themselves. So does a sum: -5 and a draw that
stopped make 2^63 - 6, which an answer of 0 hardly ever gives. Both tails have no memory: given that Z >= L, Z - L is
geometric with the same scale; given that Z <= -L, -L - Z is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.noise.entropy import undivided
from discreet.noise.geometric import LIMIT, geometric
from discreet.noise.laplace import laplace
from discreet.noise.saturate import saturating_add

BLOCK: Final = 1 << 18
"""How many values get their noise at a time."""


@undivided
def continued(drawn: npt.NDArray[np.int64], scale: Fraction) -> list[int]:
    """Return draws (n,) of `laplace` or `geometric` at a scale as ints without end.

    Example:
        >>> continued(np.array([5, -7]), Fraction(3))
        [5, -7]
        >>> continued(np.array([2**63 - 1]), Fraction(3))[0] >= 2**63 - 1
        True
    """
    return [_continued(int(z), scale) for z in drawn]


@undivided
def add_laplace(values: npt.NDArray[np.int64], scale: Fraction) -> npt.NDArray[np.int64]:
    """Return values plus discrete Laplace noise; a sum beyond +-(2^63 - 1) stays at that end.

    The result is a function of the exact sum alone, so it is post-processing of that sum.

    Args:
        values: int64 array of any shape.
        scale: rational from 2^-10 to 2^56.

    Raises:
        InvalidParameter: a scale outside the range.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> add_laplace(np.array([2**63 - 1, 0]), Fraction(1, 1000))
        array([9223372036854775807,                   0])
    """
    noisy = np.empty(values.shape, np.int64)
    given, out = values.reshape(-1), noisy.reshape(-1)
    # So that memory holds the values and the answer, and no third array.
    for start in range(0, given.size, BLOCK):
        part = slice(start, start + BLOCK)
        out[part] = _add(given[part], scale)
    return noisy


def _add(values: npt.NDArray[np.int64], scale: Fraction) -> npt.NDArray[np.int64]:
    noise = laplace(scale, values.shape)
    noisy = saturating_add(values, noise)
    for index in np.flatnonzero(np.abs(noise) == LIMIT):  # at the largest scale, one draw in 10^55
        exact = int(values[index]) + _continued(int(noise[index]), scale)
        noisy[index] = min(max(exact, -LIMIT), LIMIT)
    return noisy


def _continued(z: int, scale: Fraction) -> int:
    stopped = abs(z) == LIMIT
    while stopped:
        more = geometric(scale)
        z += more if z > 0 else -more
        stopped = more == LIMIT
    return z
