"""Addition that stops at the ends instead of wrapping."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_LIMIT: Final = np.int64((1 << 63) - 1)


def saturating_add(values: npt.NDArray[np.int64], noise: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Add two int64 arrays; a sum beyond +-(2^63 - 1) stays at that end.

    For fixed noise the result moves by at most as much as the value does, and it is a function of the
    exact sum, so saturation is post-processing: it changes neither sensitivity nor privacy. The same operations run
    for all values.

    Args:
        values: int64 array of any shape.
        noise: int64 array of a shape that broadcasts with it.

    Raises:
        TypeError: an array that is not int64.

    Example:
        >>> saturating_add(np.array([2**63 - 1, 5]), np.array([7, -9]))
        array([9223372036854775807,                  -4])
    """
    if values.dtype != np.int64 or noise.dtype != np.int64:
        raise TypeError("saturating_add needs int64 arrays")
    total = np.add(np.atleast_1d(values), noise)
    wrapped = ((values ^ total) & (noise ^ total)) < 0
    total = np.where(wrapped, np.where(values < 0, -_LIMIT, _LIMIT), total)
    return np.maximum(total, -_LIMIT).reshape(np.broadcast_shapes(values.shape, noise.shape))
