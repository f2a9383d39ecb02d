"""Choose one of many with probability proportional to a weight times e^-x, in many groups at once, exactly.

Let candidate i have an integer weight w and an integer gap x; the law is P(i) proportional to w e^(-x/s). With
v_i = w_i e^(-x_i/s) 2^16, a real number, take an integer c_i >= v_i, draw a place uniformly among the sum of all c, let
it lie o units inside the share of candidate i, and accept i if o + u < v_i for a uniform u in [0, 1); else begin again.
Candidate i is then returned with probability v_i over the sum of all v: no probability is rounded.

The c are made of integers alone. e^(-x/s) is the product of e^(-2^j/s) over the bits j of x that are 1; each factor is
an integer of 31 bits, rounded up, times a power of two, and so is the product after each step. At most 62 steps, each
off by a factor of at most (1 + 2^-29)^2 or so, give v <= c <= v (1 + 2^-21) + 2, so it is almost always certain from
o and c alone that o + u < v: where o < c - c 2^-20 - 3. Else the digits of v decide, as many as are needed.

Attempts. One is accepted but for a chance of (2 n + 2^-21 C)/C at most, with n candidates and C the sum of all c; it
depends on the gaps, and is below one in a million unless there are millions of candidates of hardly any weight.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.noise import digits, entropy
from discreet.noise.digits import Digits
from discreet.noise.entropy import RandomSource, undivided
from discreet.rational import Number, exact, positive

Integers = npt.NDArray[np.int64]

FINER: Final = 16
"""Weights are counted in 2^-16."""
MOST: Final = 1 << 45
"""The sum of the weights of a group is below it, so that all sums fit 64 bits."""
_MANTISSA: Final = 31
_BEYOND: Final = 80
"""From x = 80 s on, a weight below 2^45 is less than one unit: e^-80 < 2^-115."""


@undivided
def weighted_choices(
    weights: Integers, gaps: Integers, starts: Integers, scale: Number, times: int = 1
) -> Integers:
    """Choose one candidate of each group with probability proportional to weight e^(-gap/scale), exactly.

    Args:
        weights: int64 array (n,), not negative; each group has one that is positive, and a sum below 2^45.
        gaps: int64 array (n,), not negative.
        starts: int64 array (groups,): where each group begins; the candidates of a group stand together.
        scale: positive rational.
        times: how often, independently.

    Returns:
        int64 array (groups * times,): the place of each choice in the whole array, those of a group together.

    Raises:
        InvalidParameter: a weight or a gap is negative, a group has no weight or too much, or the scale is not
            positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> weighted_choices(np.array([1, 1, 0, 5]), np.array([10**6, 0, 0, 3]), np.array([0, 2]), 1).tolist()
        [1, 3]
    """
    divisor = positive(exact(scale, "scale"), "scale")
    if not len(starts):
        return np.zeros(0, np.int64)
    if (weights < 0).any() or (gaps < 0).any():
        raise InvalidParameter("A weight or a gap is negative.", "Give weights and gaps >= 0.")
    sums = np.add.reduceat(weights, starts)
    if (sums <= 0).any() or (sums >= MOST).any():
        raise InvalidParameter("A group has no weight, or 2^45 or more.", "Divide the weights.")
    return choose(entropy.system(), weights, gaps, starts, divisor, times)


def choose(
    source: RandomSource, weights: Integers, gaps: Integers, starts: Integers, scale: Fraction, times: int = 1
) -> Integers:
    """The same from a source of random words."""
    counts = np.diff(starts, append=len(weights))
    group = np.repeat(np.arange(len(starts)), counts)
    # Of each group only the distances from its least gap matter.
    least = np.minimum.reduceat(np.where(weights > 0, gaps, np.iinfo(np.int64).max), starts)
    gaps = np.where(weights > 0, gaps - least[group], 0)
    shares = above(weights, gaps, scale)
    ends = np.cumsum(shares.view(np.uint64))  # it may wrap; the differences within a group do not
    ends -= (ends[starts] - shares.view(np.uint64)[starts])[group]
    within = ends.view(np.int64)
    totals = within[starts + counts - 1]
    out = np.full(len(starts) * times, -1, np.int64)
    left = np.arange(len(out))
    while left.size:
        of = left // times
        place = uniform_each(source, totals[of])
        if times == 1 and left.size == len(starts):
            chosen = starts + np.add.reduceat((within <= place[group]).astype(np.int64), starts)
        else:
            bounds = np.flatnonzero(np.diff(of, prepend=-1, append=-1))
            chosen = np.empty(len(left), np.int64)
            for first, last in itertools.pairwise(bounds):
                begin = starts[of[first]]
                own = within[begin : begin + counts[of[first]]]
                chosen[first:last] = begin + np.searchsorted(own, place[first:last], "right")
        inside = place - (within[chosen] - shares[chosen])
        accepted = inside < shares[chosen] - (shares[chosen] >> 20) - 3
        for index in np.flatnonzero(~accepted):
            candidate = chosen[index]
            accepted[index] = below(
                source,
                int(inside[index]),
                value(int(weights[candidate]), Fraction(int(gaps[candidate])) / scale),
            )
        out[left[accepted]] = chosen[accepted]
        left = left[~accepted]
    return out


@undivided
def uniform_below(n: Integers) -> Integers:
    """Draw an exact uniform integer from 0 to below each of some numbers.

    Args:
        n: int64 array (k,), all positive.

    Returns:
        int64 array (k,).

    Raises:
        InvalidParameter: one is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> uniform_below(np.array([1, 1])).tolist()
        [0, 0]
    """
    if (n <= 0).any():
        raise InvalidParameter("A number of outcomes is not positive.", "Give each one outcome at least.")
    return uniform_each(entropy.system(), n)


def uniform_each(source: RandomSource, n: Integers) -> Integers:
    """Uniform integers below each of some numbers, all positive: int64 array (len(n),)."""
    mask = n - 1
    for shift in (1, 2, 4, 8, 16, 32):
        mask = mask | mask >> shift
    out = np.empty(len(n), np.int64)
    left = np.arange(len(n))
    while left.size:
        drawn = (source.words(left.size, 64).view(np.int64)) & mask[left]
        kept = drawn < n[left]
        out[left[kept]] = drawn[kept]
        left = left[~kept]
    return out


def above(weights: Integers, gaps: Integers, scale: Fraction) -> Integers:
    """The integers c of the module's text: at least weight e^(-gap/scale) 2^16, and hardly more; 0 for no weight."""
    out = (weights > 0).astype(np.int64)  # far away it is one unit
    most = math.ceil(_BEYOND * scale)
    near = np.flatnonzero(out & (gaps < most))
    gap, weight = gaps[near], weights[near]
    if most < len(gap):  # each possible gap once
        mantissa, exponent = (table[gap] for table in _powers(np.arange(most), scale))
    else:
        mantissa, exponent = _powers(gap, scale)
    units = ((weight >> 16) * mantissa << 1) + ((weight & 0xFFFF) * mantissa >> 15) + 1
    out[near] = (units >> np.minimum(exponent, 63)) + 1
    return out


def _powers(gaps: Integers, scale: Fraction) -> tuple[Integers, Integers]:
    """Integers m and h with e^(-gap/scale) <= m 2^(-31-h), and 2^30 <= m: int64 arrays (n,)."""
    mantissa = np.full(len(gaps), 1 << _MANTISSA, np.int64)
    exponent = np.zeros(len(gaps), np.int64)
    for j, (factor, halvings) in enumerate(_factors(scale)):
        bit = gaps >> j & 1
        product = (mantissa * factor >> _MANTISSA) + 1
        low = (product < 1 << _MANTISSA - 1).astype(np.int64)
        mantissa = np.where(bit, product << low, mantissa)
        exponent += bit * (halvings + low)
    return mantissa, exponent


@lru_cache(maxsize=64)
def _factors(scale: Fraction) -> tuple[tuple[int, int], ...]:
    """For each bit j of a gap, integers m and h with e^(-2^j/scale) < m 2^(-31-h) and 2^30 < m <= 2^31."""
    out = []
    j = 0
    while (1 << j) < _BEYOND * scale:
        leading = digits.of_exp((1 << j) / scale).leading(_MANTISSA + 2 * _BEYOND)
        spare = leading.bit_length() - _MANTISSA
        out.append(((leading >> spare) + 1, 2 * _BEYOND - spare))
        j += 1
    return tuple(out)


def value(weight: int, x: Fraction) -> Digits:
    """The digits of weight e^-x 2^(16 - 62): its first 62 are the whole units."""
    units = weight << FINER
    if not x:
        return digits.of_rational(Fraction(units, 1 << 62))

    def enclosure(count: int) -> tuple[int, int]:
        low, high = digits.enclose_exp(x, count)
        return low * units >> 62, -(-high * units >> 62)

    return Digits(enclosure)


def below(source: RandomSource, units: int, bound: Digits) -> bool:
    """Whether so many units and a uniform fraction of one, drawn here, are below a number."""
    whole = bound.leading(62)
    if units != whole:
        return units < whole
    start = 62
    while True:
        drawn, digit = int(source.words(1, 64)[0]), bound.word(start, 64)
        if drawn != digit:
            return drawn < digit
        start += 64
