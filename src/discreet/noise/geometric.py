"""The geometric distribution, bit by bit.

For G with P(G = g) = (1 - q) q^g and q = e^(-1/s), write g in binary. q^g is a product with one factor
q^(2^k) for each bit that is 1, so the bits are independent, and bit k is 1 with probability
q^(2^k)/(1 + q^(2^k)) = 1/(1 + e^(2^k/s)). The bits below K are drawn at once as planes of Bernoulli lanes.
The number above them, H = floor(G/2^K), is independent of them and geometric again, with q' =
e^(-2^K/s): it is zero unless one more Bernoulli(q') succeeds (P(H >= 1) = q'), and then H - 1 is once more
geometric with q' because the distribution has no memory. K is chosen so that q' < 2^-40: the second step
is all but never taken, costs nothing when it is not, and leaves no approximation.

The same bits with a sign make the discrete Laplace distribution; see `laplace`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, overload

import numpy as np
import numpy.typing as npt

from discreet.noise import digits, entropy, lanes
from discreet.noise.entropy import RandomSource, undivided
from discreet.noise.parameters import Size, read_scale, read_size
from discreet.records import dataclass

LIMIT: Final = (1 << 63) - 1
"""The largest magnitude that is ever returned; anything beyond saturates here."""

_TAIL: Final = 28
"""K is the least with 2^K >= 28 s, so that e^(-2^K/s) <= e^-28 < 2^-40."""


@dataclass(frozen=True, eq=False)
class BitPlanes:
    """How to draw at one scale: planes for bits 0 to K - 1, one for "anything above", perhaps one for a sign.

    Attributes:
        scale: s.
        bits: K.
        signed: whether the last plane is the sign of a discrete Laplace variable.
        thresholds: the probabilities of the planes, in that order.
    """

    scale: Fraction
    bits: int
    signed: bool
    thresholds: lanes.Thresholds

    def above(self) -> BitPlanes:
        """The plan of H - 1, given that H >= 1: one coin at a time, for each is all but never needed."""
        words = self.thresholds
        return plan(self.scale / (1 << self.bits), False, words.width, words.rest, 0)


@lru_cache(maxsize=256)
def plan(scale: Fraction, signed: bool, width: int, rest: int = 64, bits: int | None = None) -> BitPlanes:
    """Return the plan at a scale; tests choose narrow words and few bits to enumerate them all."""
    if bits is None:
        bits = max(0, math.ceil(_TAIL * scale) - 1).bit_length()
        if width == 8:  # a row of bytes is packed eight planes at a time: use all of them
            bits = -(-(bits + 1 + signed) // 8) * 8 - 1 - signed
    powers = digits.of_exp_doubled(1 / scale, bits)  # e^(-2^k/s), from one series
    planes = [digits.logistic(power) for power in powers[:bits]]
    planes.append(digits.Digits(powers[bits]))
    if signed:
        planes.append(digits.logistic(powers[0]))
    return BitPlanes(scale, bits, signed, lanes.Thresholds(tuple(planes), width, rest))


def sample(scale: Fraction, count: int, *, signed: bool) -> npt.NDArray[np.int64]:
    """Return `count` draws at a scale that was read already, from the system's source."""
    source = entropy.system()
    if count <= lanes.FEW:
        return draw(source, plan(scale, signed, 64), count)
    chosen = plan(scale, signed, 8)
    rows = lanes.BLOCK // len(chosen.thresholds.planes)
    tile = chosen.thresholds.tile(rows) if rows < count else None
    out = np.empty(count, np.int64)
    for start in range(0, count, rows):
        part = out[start : start + rows]
        part[:] = draw(source, chosen, part.size, tile if part.size == rows else None)
    return out


def draw(
    source: RandomSource, chosen: BitPlanes, count: int, tile: entropy.Words | None = None
) -> npt.NDArray[np.signedinteger]:
    """Return `count` draws of a plan, in the narrowest of int8 to int64 that its planes need."""
    bits = lanes.pack(lanes.draw(source, chosen.thresholds, count, tile))
    kind = bits.dtype.type
    unit, top, below = kind(1), kind(chosen.bits), kind((1 << chosen.bits) - 1)
    magnitude = bits & below
    sign = -(bits >> (top + unit) & unit) if chosen.signed else np.zeros_like(bits)
    more = np.flatnonzero(bits >> top & unit)
    if more.size:
        magnitude, sign = magnitude.astype(np.int64), sign.astype(np.int64)
        above = draw(source, chosen.above(), more.size)
        for place, high in zip(more.tolist(), above.tolist(), strict=True):
            whole = int(magnitude[place]) + ((1 + high) << chosen.bits)
            magnitude[place] = min(whole, LIMIT + int(sign[place]))  # so that ~ gives -LIMIT at least
    return magnitude ^ sign


@overload
def geometric(scale: object, size: None = None) -> int: ...
@overload
def geometric(scale: object, size: int | tuple[int, ...]) -> npt.NDArray[np.int64]: ...
@undivided
def geometric(scale: object, size: Size = None) -> int | npt.NDArray[np.int64]:
    """Draw exact geometric variables: P(k) = (1 - q) q^k for k = 0, 1, 2, ... and q = e^(-1/scale).

    The output distribution is the formula, not an approximation of it: see the module's text. Values
    above 2^63 - 1 saturate there (at the largest scale, with probability e^-128).

    Args:
        scale: rational from 2^-10 to 2^56: int, Fraction, Decimal, or a float at its exact value.
        size: None for one int; an int or a tuple of ints for an int64 array of that shape.

    Raises:
        InvalidParameter: a scale outside the range, or a size that is not a shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> geometric(100, size=(2, 3)).shape
        (2, 3)
    """
    value, shape = read_scale(scale), read_size(size)
    if size is None:
        return int(sample(value, 1, signed=False)[0])
    return sample(value, math.prod(shape), signed=False).astype(np.int64, copy=False).reshape(shape)
