"""The discrete Laplace distribution: geometric bits and a sign.

Let q = e^(-1/s), G geometric with P(G = g) = (1 - q) q^g, and S an independent bit with
P(S = 1) = q/(1 + q) = 1/(1 + e^(1/s)). Then Z = G if S = 0 and Z = -1 - G if S = 1 has, for k >= 0,

    P(Z = k)      = 1/(1 + q) (1 - q) q^k      = (1 - q)/(1 + q) q^|k|
    P(Z = -1 - k) = q/(1 + q) (1 - q) q^k      = (1 - q)/(1 + q) q^|-1 - k|

which is the discrete Laplace distribution (Inusah and Kozubowski 2006). -1 - G is the bitwise complement
of G, so S is the sign bit of two's complement with the other bits exchanged. It needs one Bernoulli
variable where "zero, or else a sign times 1 + G" needs two, and zero is no special case to be timed.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
import numpy.typing as npt

from discreet.noise.entropy import undivided
from discreet.noise.geometric import sample
from discreet.noise.parameters import Size, read_scale, read_size


@overload
def laplace(scale: object, size: None = None) -> int: ...
@overload
def laplace(scale: object, size: int | tuple[int, ...]) -> npt.NDArray[np.int64]: ...
@undivided
def laplace(scale: object, size: Size = None) -> int | npt.NDArray[np.int64]:
    """Draw exact discrete Laplace variables: P(k) proportional to e^(-|k|/scale), k any integer.

    The output distribution is the formula: every bit of a draw is an exact Bernoulli variable, decided by
    comparing uniform bits with proven digits of its probability, as many as it takes (`noise.lanes`,
    `noise.digits`), and the bits are independent (`noise.geometric`). No probability is ever rounded. The
    bits come from AES-256-CTR keyed by the operating system; there is no seed. Values beyond
    +-(2^63 - 1) saturate there (at the largest scale, with probability e^-128); nothing wraps.

    Privacy: adding these draws to integers whose L1 sensitivity is D gives epsilon = D/scale (Ghosh,
    Roughgarden, Sundararajan 2009, for the geometric mechanism); the caller answers for D.
    `discreet.mechanisms.Laplace` does the sum and the bookkeeping.

    Args:
        scale: rational from 2^-10 to 2^56: int, Fraction, Decimal, or a float at its exact value.
        size: None for one int; an int or a tuple of ints for an int64 array of that shape.

    Raises:
        InvalidParameter: a scale outside the range, or a size that is not a shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> laplace(1 << 20, size=3).dtype
        dtype('int64')
    """
    value, shape = read_scale(scale), read_size(size)
    if size is None:
        return int(sample(value, 1, signed=True)[0])
    return sample(value, math.prod(shape), signed=True).astype(np.int64, copy=False).reshape(shape)
