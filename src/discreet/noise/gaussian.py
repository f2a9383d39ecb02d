"""The discrete Gaussian distribution, by exact rejection from the discrete Laplace distribution.

P(Z = z) is proportional to e^(-z^2/(2 v)), z any integer. Take a rational mu > 0, let Y be discrete Laplace of scale
v/mu, and accept Y with probability e^(-(|Y| - mu)^2/(2 v)). Then P(accepted Y = y) is proportional to

    e^(-|y| mu/v) e^(-(|y| - mu)^2/(2 v)) = e^(-y^2/(2 v)) e^(-mu^2/(2 v)),

as the terms in |y| cancel, and the last factor does not depend on y (Canonne, Kamath, Steinke 2020, algorithm 3). How
many attempts a draw takes is independent of its value. From v = 1 on, mu is the integer next to sqrt(v), so that
exponents have small denominators; below it is v, which makes the scale 1.

With mu = n/d the exponent is m^2/(2 v d^2) for the integer m = ||y| d - n|. Where m is too large to square in 64 bits,
the coin is a product: m = m1 2^h + m0 gives m^2 = m1^2 2^2h + m1 m0 2^(h+1) + m0^2, one exact coin each.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, overload

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise.bernoulli import Coins, bernoulli_exp
from discreet.noise.entropy import undivided
from discreet.noise.laplace import laplace
from discreet.noise.parameters import Size, read_size
from discreet.rational import Number, exact

SMALLEST: Final = Fraction(1, 1 << 20)
LARGEST: Final = Fraction(1 << 50)

_SPLIT: Final = 31
_WHOLE: Final = (1 << 62) - 1


@overload
def gaussian(variance: Number, size: None = None) -> int: ...
@overload
def gaussian(variance: Number, size: int | tuple[int, ...]) -> npt.NDArray[np.int64]: ...
@undivided
def gaussian(variance: Number, size: Size = None) -> int | npt.NDArray[np.int64]:
    """Draw exact discrete Gaussian variables: P(z) proportional to e^(-z^2/(2 variance)), z any integer.

    Args:
        variance: rational from 2^-20 to 2^50, the parameter of the formula; the variance of a draw is at most
            this, and equal to it to 7 digits from 1 on.
        size: None for one int; an int or a tuple of ints for an int64 array of that shape.

    Raises:
        InvalidParameter: a variance outside the range, or a size that is not a shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> gaussian(10_000, size=(2, 3)).shape
        (2, 3)
    """
    value, shape = exact(variance, "variance"), read_size(size)
    if not SMALLEST <= value <= LARGEST:
        raise InvalidParameter("variance is outside 2^-20 to 2^50.", "Choose one in that range.")
    count = math.prod(shape)
    out = np.empty(count, np.int64)
    left = count
    while left:
        drawn = laplace(value / centre(value), left + left // 2 + 8)
        kept = drawn[accepted(drawn, value)][:left]
        out[count - left : count - left + kept.size] = kept
        left -= kept.size
    return int(out[0]) if size is None else out.reshape(shape)


def centre(variance: Fraction) -> Fraction:
    """Return mu."""
    if variance < 1:
        return variance
    below = math.isqrt(math.floor(variance))
    return Fraction(below if variance <= below * (below + 1) else below + 1)


def accepted(drawn: npt.NDArray[np.int64], variance: Fraction) -> Coins:
    """Return coins (n,) that accept discrete Laplace draws of scale variance/mu."""
    mu = centre(variance)
    width = 2 * variance * mu.denominator**2
    size = np.abs(drawn)
    if int(size.max(initial=0)) * mu.denominator + mu.numerator > _WHOLE or width > 1 << 56:
        # Beyond 64 bits: exact rationals, one at a time.
        far: Coins = bernoulli_exp([(int(y) - mu) ** 2 / (2 * variance) for y in size])
        return far
    m = np.abs(size * mu.denominator - mu.numerator)
    high, low = m >> _SPLIT, m & ((1 << _SPLIT) - 1)
    coins: Coins = bernoulli_exp(low * low, scale=width)
    if high.any():
        coins &= bernoulli_exp(high * low, scale=width / (1 << (_SPLIT + 1)))
        coins &= bernoulli_exp(high * high, scale=width / (1 << (2 * _SPLIT)))
    return coins
