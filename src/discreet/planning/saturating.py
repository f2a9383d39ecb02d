"""Sums of integers that saturate at +-2^62: no total wraps, so that no neighbour moves it farther than its sum says.

A sum is taken of the upper and of the lower bits by themselves. To saturate moves no two totals apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_HALF: Final = 31
_LOW: Final = (1 << _HALF) - 1
_MOST: Final = 1 << 62


def saturated(values: Integers, added: Callable[[Integers], Integers]) -> Integers:
    """Sums of some values, plain or weighted.

    Args:
        values: of up to 2^62.
        added: takes the sums, whose weights add up to less than 2^31, of an array like the values.

    Example:
        >>> saturated(np.array([1 << 62, 1 << 62, -5]), lambda part: part.sum(keepdims=True)).tolist() == [2**62]
        True
    """
    high, low = added(values >> _HALF), added(values & _LOW)
    high = high + (low >> _HALF)
    inside = np.clip(high, -(1 << _HALF), _LOW)
    out = (inside << _HALF) + (low & _LOW)
    return np.asarray(np.where(high > inside, _MOST, np.where(high < inside, -_MOST, out)))
