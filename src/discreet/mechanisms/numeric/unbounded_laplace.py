"""The Laplace mechanism on a grid, for numbers however far out: sums have no end at which they would stop.

It is `Laplace` for reals, with the same guarantee and proof. Numbers are read exactly, put on the grid, and the noise
is added to integers without end. How long that takes depends on whether a number lies beyond 2^60 steps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.arrays import take
from discreet.mechanisms.numeric.laplace import Laplace
from discreet.noise import laplace
from discreet.rational import exact

NEAR = 1 << 60
"""Numbers of so many steps are added up in 64 bits, others in Python's integers."""


class UnboundedLaplace(Laplace):
    """Release numbers on a grid, in its steps.

    Privacy: as for `Laplace`: one call of `release` is epsilon-differentially private (pure) if the values come from a
    function whose L1 sensitivity is at most `sensitivity`. That premise is the caller's to answer for.

    Args:
        epsilon: as for `Laplace`.
        sensitivity: as for `Laplace`.
        granularity: the grid, a power of two.

    Example:
        >>> noise = UnboundedLaplace(1, sensitivity=1, granularity=2**-20)
        >>> abs(int(noise.release(np.array([2.0**90]))[0]) - 2**110) < 2**30
        True
    """

    def release(self, values: Any) -> npt.NDArray[Any]:
        """Return the numbers on the grid with noise; one call is one epsilon, however many they are.

        Args:
            values: array (d,) of finite numbers.

        Returns:
            Steps of the grid (d,): int64 where the numbers are near, else Python's integers.

        Raises:
            InvalidParameter: a value is no finite number.
        """
        assert self.granularity is not None
        steps: npt.NDArray[Any]
        try:
            steps = grid_values.nearest(values, self.granularity)
        except InvalidParameter:  # beyond 2^62 steps, or no number, at which exact() raises
            half = Fraction(1, 2)
            given = take(values).ravel().tolist()
            whole = [(exact(value) / self.granularity + half).__floor__() for value in given]
            steps = np.array(whole, object)
        drawn = laplace(self.scale_for(len(steps)) / self.granularity, len(steps))
        if any(abs(each).max() >= NEAR for each in (steps, drawn)):
            steps = steps.astype(object)
        noisy: npt.NDArray[Any] = steps + drawn.astype(steps.dtype)
        return noisy
