"""Bounded outputs: put released numbers between bounds, at no cost, and know the bias.

A function of a release is as private as the release (post-processing: Dwork and Roth 2014, proposition
2.1). So clamping an answer to bounds that do not come from the data costs nothing. It pulls answers near a bound
inwards. With the grid as unit, q = e^(-1/scale), and f on the grid, a above the lower bound and c below the upper one,

    E clamp(f + Z) - f = (q^(a + 1) - q^(c + 1))/(1 - q^2),   about scale/2 (e^(-a/scale) - e^(-c/scale)),

because E max(0, -Z - a) is the sum of P(Z <= -a - k) = q^(a + k)/(1 + q) over k >= 1. At a bound it is half the scale.

Another way does cost: to draw again until the answer lies within the bounds. The answer is then divided by the
probability of lying there, which depends on the data, and the loss can be twice epsilon. Nothing here does that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise.distribution import DiscreteLaplace
from discreet.rational import Number, decimal


def clamp(released: Any, low: Number | None = None, high: Number | None = None) -> Any:
    """Put released numbers between bounds: those below become `low`, those above `high`.

    Privacy: none is lost, if the bounds do not come from the data. Do this to the answer of a mechanism, never
    in place of the mechanism.

    Args:
        released: an int or a float, or an array of them of any shape.
        low: the least value; None for none.
        high: the largest; None for none.

    Returns:
        The same type and shape. Bounds of integers are rounded inwards.

    Raises:
        InvalidParameter: bounds that are not finite, or not in order; not a number.

    Example:
        >>> clamp(-7, low=0), clamp(np.array([-3, 5, 99]), 0, 50)
        (0, array([ 0,  5, 50]))
    """
    array = np.asarray(released)
    if array.dtype.kind not in "iuf":
        raise InvalidParameter("The release is not a number.", "Give the numbers that a mechanism returned.")
    lower, upper = (None if bound is None else decimal(bound, "A bound") for bound in (low, high))
    whole = array.dtype.kind != "f"
    least = None if lower is None else math.ceil(lower) if whole else float(lower)
    most = None if upper is None else math.floor(upper) if whole else float(upper)
    if lower is not None and upper is not None and (lower > upper or (whole and least > most)):  # type: ignore[operator]
        raise InvalidParameter("low is above high.", "Give the bounds in order.")
    if array.ndim == 0:
        value: int | float = array.item()
        value = value if least is None else max(value, least)
        return value if most is None else min(value, most)
    return array if least is None and most is None else np.clip(array, least, most)


def clamp_bias(
    noise: DiscreteLaplace, value: npt.ArrayLike, low: Number | None = None, high: Number | None = None
) -> npt.NDArray[np.float64]:
    """E clamp(value + noise) - value, for values between the bounds, all of them on the grid of the noise.

    Args:
        noise: the distribution of the noise, as `Laplace(...).distribution`.
        value: the number that is released, of any shape.
        low: the lower bound; None for none.
        high: the upper bound; None for none.

    Returns:
        float64 of the same shape, in the unit of the values.

    Raises:
        InvalidParameter: a value outside the bounds.

    Example:
        >>> from discreet.mechanisms import Laplace
        >>> count = Laplace(epsilon="1/10")
        >>> round(float(clamp_bias(count.distribution, 0, low=0)), 2)  # about half the scale of 10
        4.99
    """
    values, grid = np.asarray(value, np.float64), float(noise.grid)
    rate = float(noise.grid / noise.scale)

    def beyond(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if (distance < 0).any():
            raise InvalidParameter("A value is outside the bounds.", "Give values between them.")
        return np.exp(-rate * (distance / grid + 1)) / -math.expm1(-2 * rate)

    up = 0.0 if low is None else beyond(values - float(decimal(low, "low")))
    down = 0.0 if high is None else beyond(float(decimal(high, "high")) - values)
    bias: npt.NDArray[np.float64] = np.asarray(grid * (up - down) + 0 * values)[()]
    return bias
