"""The half-width of the interval of a sum of independent Laplace variables: nothing outside works it out by itself.

| of | exact | way |
|---|---|---|
| `equal`: n variables of one scale, n up to 10^7 | to about 1e-9 | closed form |
| `half_width`: one sum of any scales | to about 1e-7 | characteristic function |
| `each`: arrays of sums, one for each group of an answer | for up to 4 scales, and for equal ones | partial fractions |
| `effective`: sums as wide as so many equal ones | as far as their kurtosis tells | interpolation in 1/n |

Where two of them meet, they agree; a test holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.mechanisms.laplace_sum import equal as closed
from discreet.mechanisms.laplace_sum import scales as inverted
from discreet.mechanisms.laplace_sum import weighted
from discreet.rational import Number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def half_width(
    scales: Sequence[float] | Floats, confidence: Number = 0.95, counts: NDArray[np.int64] | None = None
) -> float:
    """The t with P(|Z_1 + ... + Z_k| <= t) = confidence, for independent Laplace Z_i of the given scales.

    Args:
        scales: at least one, none below zero; those that are zero add nothing.
        confidence: strictly between 0 and 1.
        counts: how many variables there are of each scale; one, where it is left out.

    Raises:
        InvalidParameter: an argument is out of range.

    Example:
        >>> round(half_width([2.0]), 4), round(half_width([1.0] * 500) / 500**0.5, 3)
        (5.9915, 2.772)
    """
    return inverted.reach(scales, confidence, counts)


def equal(n: int, confidence: Fraction) -> float:
    """The least x, to 9 digits and rounded up, with P(|S| <= x) >= confidence, for n variables of scale 1."""
    return closed.reach(n, confidence)


def each(scales: Floats, confidence: float) -> Floats:
    """The half-widths of many sums: float64 (...) of scales (..., k), in their unit."""
    return weighted.reach(scales, confidence)


def effective(number: Floats, confidence: float) -> Floats:
    """The half-width of a sum as wide as so many equal ones, in standard deviations of the sum: float64, at least 1."""
    return weighted.standard_reach(number, confidence)
