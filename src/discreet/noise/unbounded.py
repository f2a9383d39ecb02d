"""Go on where a draw stopped at the end of int64.

`laplace` and `geometric` stop at +-(2^63 - 1). A mechanism that compares noisy numbers needs the number itself,
for a comparison of two that stopped is not the comparison of what they were. Both tails have no memory: given
that Z >= L, Z - L is geometric with the same scale; given that Z <= -L, -L - Z is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.noise.geometric import LIMIT, geometric


def continued(drawn: npt.NDArray[np.int64], scale: Fraction) -> list[int]:
    """Return draws (n,) of `laplace` or `geometric` at a scale as ints without end.

    Example:
        >>> continued(np.array([5, -7]), Fraction(3))
        [5, -7]
        >>> continued(np.array([2**63 - 1]), Fraction(3))[0] >= 2**63 - 1
        True
    """
    return [_continued(int(z), scale) for z in drawn]


def _continued(z: int, scale: Fraction) -> int:
    stopped = abs(z) == LIMIT
    while stopped:
        more = geometric(scale)
        z += more if z > 0 else -more
        stopped = more == LIMIT
    return z
