"""Choose one of many with probability proportional to a weight of any size times e^-x, exactly.

It is `weighted_choice` for integer weights without end, in Python's integers. With v_i = w_i e^(-x_i/s) 2^p, take an
integer c_i >= v_i, draw a place uniformly below the sum of all c, let it lie o units inside the share of candidate i,
and accept i if o + u < v_i for a uniform u in [0, 1); else begin again. Candidate i is then returned with probability
v_i over the sum of all v: no probability is rounded. The c come from e^(-1/s) by powers, rounded upward, and p has the
bits of the sum of all w besides its own, so that this rounding adds next to nothing even to a far candidate of great
weight, and a draw hardly ever begins again. Where o lies far enough below c it is certain that o + u < v; else u and v
are compared by 64 bits at a time, as many as are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final

from discreet.errors import InvalidParameter
from discreet.noise import entropy
from discreet.noise.digits import enclose_exp
from discreet.noise.entropy import RandomSource, undivided
from discreet.rational import Number, exact, positive

_PRECISION: Final = 128
_WORD: Final = 64


@undivided
def large_choice(weights: Sequence[int], scale: Number) -> int:
    """Choose an index with probability proportional to weights[i] e^(-i/scale), exactly.

    Args:
        weights: integers >= 0 without end, one of them positive.
        scale: positive rational.

    Raises:
        InvalidParameter: a weight is negative, none is positive, or the scale is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> large_choice([0, 10**40, 0], 1)
        1
    """
    divisor = positive(exact(scale, "scale"), "scale")
    if min(weights, default=0) < 0 or not any(weights):
        raise InvalidParameter("A weight is negative, or none is positive.", "Give weights >= 0.")
    return choose(entropy.system(), weights, divisor, _PRECISION + sum(weights).bit_length())


@undivided
def uniform_large(n: int) -> int:
    """Draw an exact uniform integer from 0 to n - 1, for n without end.

    Raises:
        InvalidParameter: n is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> uniform_large(1), 0 <= uniform_large(10**40) < 10**40
        (0, True)
    """
    if n < 1:
        raise InvalidParameter("n is not positive.", "Give the number of outcomes.")
    return below(entropy.system(), n)


def choose(source: RandomSource, weights: Sequence[int], scale: Fraction, precision: int = _PRECISION,
           width: int = _WORD) -> int:  # fmt: skip
    """The same from a source of random words; tests choose few bits."""
    first = next(index for index, weight in enumerate(weights) if weight)
    _, factor = enclose_exp(1 / scale, precision)
    power, shares = 1 << precision, []
    for weight in weights[first:]:
        shares.append(weight * power)
        power = (power * factor >> precision) + 1
    ends = list(accumulate(shares))
    while True:
        place = below(source, ends[-1], width)
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if place < ends[middle] else (middle + 1, high)
        inside = place - (ends[low] - shares[low])
        if is_below(source, inside, weights[first + low], low / scale, precision, width):
            return first + low


def is_below(source: RandomSource, inside: int, weight: int, x: Fraction, precision: int, width: int) -> bool:
    """Whether `inside` and a uniform fraction of one, drawn here, are below weight e^-x 2^precision.

    With inside and precision 0 and weight 1 that is an exact Bernoulli variable of probability e^-x.
    """
    if not x:
        return True
    spare = weight.bit_length()
    while True:
        low, high = enclose_exp(x, precision + spare)
        # v lies between weight low 2^-spare and weight high 2^-spare, and inside + u between inside and inside + 1.
        if (inside + 1) << spare <= weight * low:
            return True
        if inside << spare >= weight * high:
            return False
        inside = inside << width | int(source.words(1, width)[0])
        precision += width


def below(source: RandomSource, n: int, width: int = _WORD) -> int:
    """A uniform integer below n from words of some bits."""
    bits = (n - 1).bit_length()
    count = -(-bits // width)
    while True:
        drawn = 0
        for word in source.words(count, width) if count else ():
            drawn = drawn << width | int(word)
        drawn >>= count * width - bits
        if drawn < n:
            return drawn
