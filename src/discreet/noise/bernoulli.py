"""Exact coins: with a rational probability, with probability e^-x, or with odds w e^-x.

A coin with one probability is a plane of lanes (`noise.lanes`). For e^(-x/s) with many different integers
x, write x in binary: e^(-x/s) is the product of e^(-2^j/s) over the bits j of x that are 1, so the coin
is 1 if and only if the independent coins of all those bits are 1. Every lane draws every coin and ignores
those that its x does not have. Bits that stand above J, where 2^J >= 64 s, are one coin more: with
h = floor(x/2^J) >= 1, e^(-h 2^J/s) is e^(-2^J/s) (at most e^-64) times the same with h - 1, and that second
factor is drawn only if the first coin, and all the others, came up 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise import digits, entropy, lanes
from discreet.noise.digits import Digits
from discreet.noise.entropy import RandomSource, undivided
from discreet.noise.lanes import Thresholds
from discreet.noise.parameters import Size, read_size
from discreet.rational import Number, exact, positive

Coins: TypeAlias = npt.NDArray[np.bool_]
Many: TypeAlias = npt.NDArray[Any] | list[Any] | tuple[Any, ...]

_BEYOND: Final = 64
"""J is the least with 2^J >= 64 s."""


@overload
def bernoulli(p: Number, size: None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: int | tuple[int, ...]) -> Coins: ...
@undivided
def bernoulli(p: Number, size: Size = None) -> bool | Coins:
    """Toss exact coins: True with probability p, a rational.

    A uniform number is compared with p digit by digit until they differ, so no probability is rounded.

    Args:
        p: from 0 to 1: int, Fraction, Decimal, or a float at its exact value.
        size: None for one bool; an int or a tuple of ints for a bool array of that shape.

    Raises:
        InvalidParameter: p outside 0 to 1, or a size that is not a shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> bernoulli(1), bernoulli(Fraction(1, 3), size=4).shape
        (True, (4,))
    """
    value, shape = exact(p, "p"), read_size(size)
    if not 0 <= value <= 1:
        raise InvalidParameter("p is outside 0 to 1.", "Give a probability.")
    count = math.prod(shape)
    # 1 has no digits below the point.
    coins = _toss(_rational_digits(value), count) if value < 1 else np.ones(count, np.bool_)
    return bool(coins[0]) if size is None else coins.reshape(shape)


@overload
def bernoulli_exp(x: Number, size: None = None, *, scale: Number = 1) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: int | tuple[int, ...], *, scale: Number = 1) -> Coins: ...
@overload
def bernoulli_exp(x: Many, size: Size = None, *, scale: Number = 1) -> Coins: ...
@undivided
def bernoulli_exp(x: Number | Many, size: Size = None, *, scale: Number = 1) -> bool | Coins:
    """Toss exact coins: True with probability e^(-x/scale).

    Each coin is a product of coins whose probabilities are compared digit by digit, as far as needed, so
    none is rounded: see the module's text. Arrays of integers are fast (millions of lanes a second); put their common
    divisor into `scale`. For integers the work depends on `scale` and the number of lanes, not on x.

    Args:
        x: rational >= 0 (a float at its exact value), or an array or sequence of them.
        size: None for one bool, or for one coin per entry of x; else the shape, to which x broadcasts.
        scale: positive rational.

    Raises:
        InvalidParameter: a negative or non-finite x, a scale that is not positive, a wrong shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> bernoulli_exp(0), bernoulli_exp(np.array([0, 10**15]), scale=3)
        (True, array([ True, False]))
    """
    divisor = positive(exact(scale, "scale"), "scale")
    shape = read_size(size)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, (np.ndarray, list, tuple)):
        numerators, divisor = _common(x, divisor)
        try:
            wide = np.broadcast_to(numerators, numerators.shape if size is None else shape)
        except ValueError:
            raise InvalidParameter("x does not broadcast to size.", "Give a size that fits x.") from None
        return _toss_each(wide.ravel(), divisor).reshape(wide.shape)
    value, count = _not_negative(exact(x, "x")) / divisor, math.prod(shape)
    # e^0 = 1 has no digits below the point.
    coins = _toss(_exp_digits(value), count) if value else np.ones(count, np.bool_)
    return bool(coins[0]) if size is None else coins.reshape(shape)


@overload
def bernoulli_odds(x: Number, size: None = None, *, weight: Number = 1) -> bool: ...
@overload
def bernoulli_odds(x: Number, size: int | tuple[int, ...], *, weight: Number = 1) -> Coins: ...
@undivided
def bernoulli_odds(x: Number, size: Size = None, *, weight: Number = 1) -> bool | Coins:
    """Toss exact coins whose odds are weight * e^-x: True with probability w e^-x/(1 + w e^-x).

    With weight 1 it is the coin of randomised response: a lie with probability 1/(1 + e^epsilon).

    Args:
        x: rational >= 0 (a float at its exact value).
        size: None for one bool; an int or a tuple of ints for a bool array of that shape.
        weight: positive rational.

    Raises:
        InvalidParameter: a negative or non-finite x, a weight that is not positive, a wrong shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> bernoulli_odds(Fraction(1, 2), size=(2, 3)).shape
        (2, 3)
    """
    value = _not_negative(exact(x, "x"))
    odds, shape = positive(exact(weight, "weight"), "weight"), read_size(size)
    coins = _toss(_odds_digits(value, odds), math.prod(shape))
    return bool(coins[0]) if size is None else coins.reshape(shape)


def toss(source: RandomSource, probability: Thresholds, count: int) -> Coins:
    """Return coins (count,) of the only plane of `probability`."""
    return lanes.draw(source, probability, count).ravel()


def toss_each(source: RandomSource, powers: Thresholds, x: npt.NDArray[np.int64]) -> Coins:
    """Return coins (len(x),) with probability e^(-x/s) from the planes e^(-2^j/s), j = 0 to J."""
    bits = len(powers.planes) - 1
    coins = lanes.pack(lanes.draw(source, powers, x.size)).astype(np.int64)
    left = x >> bits
    heads: Coins = (x & ~coins & ((1 << bits) - 1)) == 0
    above = coins >> bits & 1 == 1
    heads &= (left == 0) | above
    again = np.flatnonzero(heads & (left > 1))
    if again.size:
        heads[again] = toss_each(source, powers, (left[again] - 1) << bits)
    return heads


def powers(scale: Fraction, width: int, rest: int = 64, bits: int | None = None) -> Thresholds:
    """Return the planes e^(-2^j/scale) for j = 0 to J; tests choose narrow words and a small J."""
    if bits is None:
        bits = max(0, math.ceil(_BEYOND * scale) - 1).bit_length()
        if width == 8:
            bits = -(-(bits + 1) // 8) * 8 - 1
    planes = tuple(digits.of_exp((1 << j) / scale) for j in range(bits + 1))
    return Thresholds(planes, width, rest)


_powers = lru_cache(maxsize=64)(powers)


@lru_cache(maxsize=256)
def _rational_digits(p: Fraction) -> Digits:
    return digits.of_rational(p)


@lru_cache(maxsize=256)
def _exp_digits(x: Fraction) -> Digits:
    return digits.of_exp(x)


@lru_cache(maxsize=256)
def _odds_digits(x: Fraction, weight: Fraction) -> Digits:
    # e^0 = 1 makes the odds rational.
    return digits.of_odds(x, weight) if x else digits.of_rational(weight / (1 + weight))


def _toss(probability: Digits, count: int) -> Coins:
    source = entropy.system()
    few = count <= lanes.FEW
    chosen = Thresholds((probability,), 64 if few else 8)
    rows = lanes.FEW if few else lanes.BLOCK
    parts = [toss(source, chosen, min(rows, count - start)) for start in range(0, count, rows)]
    return np.concatenate(parts) if parts else np.empty(0, np.bool_)


def _toss_each(x: npt.NDArray[Any], scale: Fraction) -> Coins:
    if x.dtype == object:  # numerators beyond int64: one at a time
        return np.array([_toss(_exp_digits(v / scale), 1)[0] if v else True for v in x], np.bool_)
    source = entropy.system()
    chosen = _powers(scale, 64 if x.size <= lanes.FEW else 8)
    out = np.empty(x.size, np.bool_)
    rows = lanes.BLOCK // len(chosen.planes)
    for start in range(0, x.size, rows):
        part = slice(start, start + rows)
        out[part] = toss_each(source, chosen, x[part])
    return out


def _common(x: Many, scale: Fraction) -> tuple[npt.NDArray[Any], Fraction]:
    """Bring rationals to one denominator, which joins the scale; exact Fractions if that leaves int64."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.dtype != np.uint64:
        if x.size and x.min() < 0:
            _not_negative(Fraction(-1))
        return _fitting(x.astype(np.int64), scale)
    given = x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    values = [_not_negative(exact(v, "x")) for v in given.ravel().tolist()]
    denominator = math.lcm(*(v.denominator for v in values))
    numerators = [int(v * denominator) for v in values]
    if max(numerators, default=0) <= np.iinfo(np.int64).max:
        return _fitting(np.array(numerators, np.int64).reshape(given.shape), scale * denominator)
    return _objects(values, given.shape), scale


def _fitting(x: npt.NDArray[np.int64], scale: Fraction) -> tuple[npt.NDArray[Any], Fraction]:
    # 63 planes serve scales up to 2^56; beyond, integers are tossed one at a time.
    if _BEYOND * scale <= 1 << 62:
        return x, scale
    return _objects([Fraction(v) for v in x.ravel().tolist()], x.shape), scale


def _objects(values: list[Fraction], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def _not_negative(value: Fraction) -> Fraction:
    if value < 0:
        raise InvalidParameter("x has a negative entry.", "Give x >= 0.")
    return value
