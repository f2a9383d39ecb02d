"""The Laplace mechanism on a vector of 64-bit integers, block by block.

Let f give a vector of integers of which neighbours differ by at most S in L1, over all coordinates together. f(D) + Z
with Z discrete Laplace of scale b in each coordinate is (S/b)-differentially private: for neighbours D and D' and any
output y, P(y|D)/P(y|D') = exp((|y - f(D')|_1 - |y - f(D)|_1)/b) <= exp(|f(D) - f(D')|_1/b) <= e^(S/b) by the
triangle inequality (Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009 for the discrete
form). The coordinates of Z are independent, so it does not matter in how many pieces the vector comes, as long as each
coordinate gets noise once. Sums saturate at +-(2^63 - 1), as a function of the exact sum: post-processing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.parameters import read_confidence, read_sensitivity
from discreet.noise import add_laplace
from discreet.noise.parameters import read_scale
from discreet.rational import Number
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.accounting.events import LaplaceNoise, Neighbours

    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LaplaceVector:
    """Release a vector of integers with discrete Laplace noise of a scale on each.

    Privacy: (sensitivity/scale)-differentially private (pure) for all calls of `release` together, if they have each
    coordinate once, and neighbours differ by at most `sensitivity` in L1 over all coordinates together. That premise
    is the caller's to answer for. Source and proof: the module's text.

    Args:
        scale: of the noise, rational from 2^-10 to 2^56.
        sensitivity: L1, of all coordinates together, a positive rational.

    Raises:
        InvalidParameter: a parameter is outside its range.

    Example:
        >>> vector = LaplaceVector(scale=20, sensitivity=2)
        >>> vector.loss, vector.half_width(0.95)
        (Fraction(1, 10), 60)
        >>> vector.release(np.zeros((3, 2), np.int64)).shape
        (3, 2)
    """

    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number = 1) -> None:
        object.__setattr__(self, "scale", read_scale(scale))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))

    @property
    def loss(self) -> Fraction:
        """The privacy loss of the whole vector: pure epsilon."""
        return self.sensitivity / self.scale

    def event(self, neighbours: Neighbours) -> LaplaceNoise:
        """The event that accountants price.

        Args:
            neighbours: those for which the sensitivity holds.
        """
        from discreet.accounting.events import LaplaceNoise

        # Neither a mechanism nor its event ever changes.
        known: dict[Neighbours, LaplaceNoise] = self.__dict__.setdefault("_events", {})
        if neighbours not in known:
            grid = 1 if self.sensitivity.denominator == 1 else None
            known[neighbours] = LaplaceNoise(self.scale, self.sensitivity, grid, neighbours=neighbours)
        return known[neighbours]

    def half_width(self, confidence: Number = 0.95) -> int:
        """The least m with P(|noise| <= m) >= confidence for one coordinate, decided in exact arithmetic."""
        from discreet.mechanisms.numeric.laplace import least_half_width

        return least_half_width(self.scale, 1, read_confidence(confidence))

    def release(self, exact: Integers) -> Integers:
        """Return some coordinates with noise.

        Args:
            exact: int64 array of any shape.

        Returns:
            int64 array of the same shape.

        Raises:
            InvalidParameter: a value is no integer. No noise was drawn.
            EntropyError: the operating system gave no randomness.
        """
        if getattr(exact, "dtype", None) != np.int64:
            from discreet.mechanisms.values import integers

            exact = integers(exact, "Round it.")
        return add_laplace(np.ascontiguousarray(exact, np.int64), self.scale)
