"""Choose one of many: uniformly, by the exponential mechanism's law, or by permute-and-flip.

Uniform. The low k bits of a random word, with 2^k >= n, are uniform on [0, 2^k); those below n are kept and
the others drawn again. The kept one is uniform on [0, n), and the number of draws says nothing about it.

Exponential. Take a candidate uniformly and accept it with probability e^(-gap/s), else begin again: a candidate is
returned with probability proportional to e^(-gap/s). The best candidate has gap 0 and is always accepted, so n
attempts are expected at most, and they are made by the block. How many are made depends on the gaps.

Permute-and-flip. Walk through the candidates in a random order and stop at the first whose coin, True with
probability e^(-gap/s), is True (McKenna and Sheldon 2020). Coins and order are independent, so the first True
in a random order is uniform among all that are True: toss every coin, then choose uniformly. One pass, whose
work hardly depends on gaps that are integers.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise import entropy
from discreet.noise.bernoulli import Many, bernoulli_exp
from discreet.noise.entropy import RandomSource, undivided
from discreet.noise.parameters import Size, read_size
from discreet.rational import Number

Indices: TypeAlias = npt.NDArray[np.int64]

_MOST: Final = (1 << 63) - 1
_FIRST, _LARGEST = 64, 1 << 20  # attempts of the exponential choice: first block, largest block


@overload
def uniform(n: int, size: None = None) -> int: ...
@overload
def uniform(n: int, size: int | tuple[int, ...]) -> Indices: ...
@undivided
def uniform(n: int, size: Size = None) -> int | Indices:
    """Draw exact uniform integers from 0 to n - 1.

    Args:
        n: int from 1 to 2^63 - 1.
        size: None for one int; an int or a tuple of ints for an int64 array of that shape.

    Raises:
        InvalidParameter: n outside its range, or a size that is not a shape.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> uniform(1), uniform(6, size=(2, 3)).shape
        (0, (2, 3))
    """
    try:
        outcomes = 0 if isinstance(n, bool) else operator.index(n)
    except TypeError:
        outcomes = 0
    if not 1 <= outcomes <= _MOST:
        raise InvalidParameter("n is not an int from 1 to 2^63 - 1.", "Give the number of outcomes.")
    shape = read_size(size)
    drawn = below(entropy.system(), outcomes, math.prod(shape))
    return int(drawn[0]) if size is None else drawn.reshape(shape)


def below(source: RandomSource, n: int, count: int, width: int = 64) -> Indices:
    """Return `count` uniform integers below n from words of `width` bits; tests choose narrow ones."""
    mask = np.uint64((1 << (n - 1).bit_length()) - 1)
    out = np.empty(count, np.int64)
    left = np.arange(count)
    while left.size:
        drawn = (source.words(left.size, width).astype(np.uint64) & mask).astype(np.int64)
        kept = drawn < n
        out[left[kept]] = drawn[kept]
        left = left[~kept]
    return out


@undivided
def exponential_choice(gaps: Many, scale: Number) -> int:
    """Choose an index with probability proportional to e^(-gaps[i]/scale), exactly.

    The time depends on the gaps: about len(gaps)/sum(e^(-gaps/scale)) attempts.

    Args:
        gaps: int array or sequence of rationals (n,), all >= 0, at least one of them 0.
        scale: positive rational.

    Raises:
        InvalidParameter: no gap is zero, a gap is negative, or the scale is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> exponential_choice([10**9, 0], 1)
        1
    """
    read = _array(gaps)
    block = min(_FIRST, read.size)
    while True:
        attempts = uniform(read.size, block)
        accepted = np.flatnonzero(bernoulli_exp(read[attempts], scale=scale))
        if accepted.size:
            return int(attempts[accepted[0]])
        block = min(2 * block, _LARGEST)


@undivided
def permute_and_flip(gaps: Many, scale: Number) -> int:
    """Choose an index as if by tossing coins of probability e^(-gaps[i]/scale) in random order, exactly.

    Arguments and errors are those of `exponential_choice`; the same coins are tossed for all gaps that are
    integers. Rationals of a large common denominator are tossed one by one, and the time depends on them.

    Example:
        >>> permute_and_flip([10**9, 0], 1)
        1
    """
    heads = np.flatnonzero(bernoulli_exp(_array(gaps), scale=scale))
    return int(heads[uniform(heads.size)])


def _array(gaps: Many) -> npt.NDArray[Any]:
    if isinstance(gaps, np.ndarray):
        read = gaps
    else:
        read = np.empty(len(gaps), object)
        read[:] = gaps
    if read.ndim != 1 or not (read == 0).any():
        raise InvalidParameter("gaps has no entry that is 0.", "Subtract each score from the largest.")
    return read
