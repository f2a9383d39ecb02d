"""An integer with Cauchy noise that fits its smooth sensitivity.

Let S be the smooth sensitivity for a rational q >= e^-beta (`mechanisms.numeric.smoothness`): a beta-smooth bound of
the local sensitivity. With beta = epsilon/6 and Z a standard Cauchy variable, f + (6/epsilon) S Z is epsilon-private
(Nissim, Raskhodnikova and Smith 2007, lemmas 2.6 and 2.7, gamma = 2), and so is its rounded value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.numeric.smoothness import SmoothNoise, smooth_sensitivity
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.noise.digits import enclose_exp
from discreet.noise.large.cauchy import rounded_cauchy
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass, field

_BITS: Final = 40
_FINEST: Final = Fraction(1, 100)


@dataclass(frozen=True)
class SmoothCauchy(SmoothNoise, PureLoss):
    """Release an integer with noise that fits its smooth sensitivity.

    Privacy: one call of `release` is epsilon-differentially private (pure) if between neighbouring data sets the width
    moves by at most 1, and the value by at most rung(width) of either of them. These premises are the caller's to
    answer for. Source and proof: the module's text.

    Args:
        epsilon: rational of 1/100 or more; a float is its shortest decimal.
        rung: from a width to the largest local sensitivity, an int >= 0; public, it never falls, and its logarithm
            is concave. If it is 0 for the width 65,536 it is 0 for ever.
        most: the largest value there can be, public.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> from discreet.mechanisms import Climbed
        >>> triangles = SmoothCauchy(1, lambda common: min(common, 32), most=5984)
        >>> 0 <= triangles.release(Climbed(value=45, width=10)) <= 5984
        True
        >>> triangles.half_width(0.5, width=10)  # the median error
        60
    """

    epsilon: Fraction
    rung: Callable[[int], int] = field(repr=False)
    most: int

    def __init__(self, epsilon: Number, rung: Callable[[int], int], most: int) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "rung", rung)
        object.__setattr__(self, "most", read_count(most, "most", "Give the largest value.", least=0))
        if self.epsilon < _FINEST:
            raise InvalidParameter(
                "epsilon is below 1/100.", "Such noise is wider than any count; take more."
            )

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    def sensitivity(self, width: int) -> Fraction:
        """The smooth sensitivity S."""
        return smooth_sensitivity(self.rung, width, self._shrink)

    def scale(self, width: int) -> Fraction:
        """The scale of the noise where this is the width: six times the smooth sensitivity by epsilon."""
        return 6 * self.sensitivity(width) / self.epsilon

    @property
    def _shrink(self) -> Fraction:
        return Fraction(enclose_exp(self.epsilon / 6, _BITS)[1], 1 << _BITS)

    @staticmethod
    def _noise(scale: Fraction) -> int:
        return rounded_cauchy(scale)

    def half_width(self, confidence: Number = 0.95, width: int = 0) -> int:
        """The least m with P(|noise| <= m) >= confidence where this is the width, rounded up.

        Raises:
            InvalidParameter: a confidence not strictly between 0 and 1.
        """
        level = float(read_confidence(confidence))
        scale = float(self.scale(width))
        return min(self.most, math.ceil(scale * math.tan(math.pi * level / 2) - 1e-9))
