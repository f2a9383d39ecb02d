"""The discrete Gaussian mechanism on a vector of 64-bit integers, block by block.

Let f give a vector of integers of which neighbours differ by at most S in L2, over all coordinates together. f(D) + Z
with Z discrete Gaussian of parameter v in each coordinate is (S^2/2v)-zCDP: the divergence of order a of a coordinate
that moves by d is at most a d^2/2v, and divergences of independent coordinates add up (Canonne, Kamath and Steinke
2020, theorem 4 and proposition 5). So it does not matter in how many pieces the vector comes, as long as each
coordinate gets noise once. Sums saturate at +-(2^63 - 1), as a function of the exact sum: post-processing.

S itself is rarely rational, as where a unit counts once in each of 50 groups, but S^2 is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InvalidParameter
from discreet.mechanisms.numeric.discrete_gaussian import half_width_of
from discreet.mechanisms.parameters import read_confidence, read_sensitivity
from discreet.mechanisms.values import integers
from discreet.noise import gaussian, saturating_add
from discreet.noise.gaussian import LARGEST, SMALLEST
from discreet.rational import Number, exact
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.accounting.events import DiscreteGaussianNoise, Neighbours
    from discreet.accounting.zcdp import ZCDP

    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GaussianVector:
    """Release a vector of integers with discrete Gaussian noise of a parameter on each.

    Privacy: (square/2 variance)-zCDP for all calls of `release` together, if they have each coordinate once, and
    neighbours differ by at most the root of `square` in L2 over all coordinates together. That premise is the caller's
    to answer for. It is not pure epsilon-DP. Source and proof: the module's text.

    Args:
        variance: the parameter of the noise, rational from 2^-20 to 2^50.
        square: of the L2 sensitivity of all coordinates together, a positive rational.

    Raises:
        InvalidParameter: a parameter is outside its range.

    Example:
        >>> vector = GaussianVector(variance=2500, square=50)
        >>> vector.loss, vector.half_width(0.95)
        (ZCDP(0.01), 98)
        >>> vector.release(np.zeros((3, 2), np.int64)).shape
        (3, 2)
    """

    variance: Fraction
    square: Fraction

    def __init__(self, variance: Number, square: Number = 1) -> None:
        object.__setattr__(self, "variance", exact(variance, "variance"))
        object.__setattr__(self, "square", read_sensitivity(square))
        if not SMALLEST <= self.variance <= LARGEST:
            raise InvalidParameter("variance is outside 2^-20 to 2^50.", "Choose one in that range.")

    @property
    def loss(self) -> ZCDP:
        """The privacy loss of the whole vector: square/(2 variance) in zCDP."""
        from discreet.accounting.zcdp import ZCDP

        return ZCDP(self.square / (2 * self.variance))

    def event(self, neighbours: Neighbours) -> DiscreteGaussianNoise:
        """The event that accountants price.

        Args:
            neighbours: those for which the sensitivity holds.
        """
        from discreet.accounting.events import DiscreteGaussianNoise

        return DiscreteGaussianNoise(self.variance, self.square, neighbours=neighbours)

    def half_width(self, confidence: Number = 0.95) -> int:
        """An m with P(|noise| <= m) >= confidence for one coordinate; the least one, or at most a step more."""
        return half_width_of(float(self.variance), float(1 - read_confidence(confidence)))

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
        given = exact if getattr(exact, "dtype", None) == np.int64 else integers(exact, "Round it.")
        noisy: Integers = saturating_add(given, gaussian(self.variance, given.shape))
        return noisy
