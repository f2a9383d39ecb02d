"""A scripted bit source, and the exact law of a sampler from all its tapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeVar

import mpmath
import numpy as np

from discreet.noise.digits import Digits
from discreet.noise.entropy import RandomSource, Words

Outcome = TypeVar("Outcome", bound=Hashable)


class TapeEndError(Exception):
    """The script is over, and `needed` more bits were asked for."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


class Tape:
    """Gives the bits of `script`, an integer of `length` bits, most significant first, and then stops."""

    def __init__(self, script: int, length: int) -> None:
        self._script = script
        self._left = length

    def words(self, count: int, width: int) -> Words:
        if count * width > self._left:
            raise TapeEndError(count * width - self._left)
        out = []
        for _ in range(count):
            self._left -= width
            out.append(self._script >> self._left & ((1 << width) - 1))
        return np.array(out, np.uint8 if width <= 8 else np.uint64)


class Growing(Tape):
    """A tape that goes on with zeros up to `depth` bits, and lists in `others` the tapes that go on otherwise."""

    def __init__(self, script: int, length: int, depth: int) -> None:
        super().__init__(script, length)
        self.length = length
        self.others: list[tuple[int, int]] = []
        self._depth = depth

    def words(self, count: int, width: int) -> Words:
        more = count * width - self._left
        if more > 0:
            if self.length + more > self._depth:
                raise TapeEndError(more)
            self._script <<= more
            self.length += more
            self._left += more
            self.others += [(self._script + tail, self.length) for tail in range(1, 1 << more)]
        return super().words(count, width)


def every_tape(
    run: Callable[[RandomSource], Outcome], depth: int
) -> tuple[dict[Outcome, Fraction], Fraction]:
    """Run on every tape of up to `depth` bits.

    Returns the exact probability of each outcome over the tapes that decide one, and the probability of
    those that do not: the truth lies between the first and their sum. A tape is extended only by bits
    that the sampler asked for, so a decided prefix stands for all its extensions.
    """
    found: defaultdict[Outcome, int] = defaultdict(int)
    undecided = 0
    unit = 1 << depth
    stack = [(0, 0)]
    while stack:
        tape = Growing(*stack.pop(), depth)
        try:
            outcome = run(tape)
        except TapeEndError:
            undecided += unit >> tape.length
        else:
            found[outcome] += unit >> tape.length
        stack += tape.others
    assert sum(found.values()) + undecided == unit
    return {outcome: Fraction(mass, unit) for outcome, mass in found.items()}, Fraction(undecided, unit)


def agrees(found: dict[Outcome, Fraction], undecided: Fraction, law: Callable[[Outcome], Fraction]) -> bool:
    """Whether every outcome's mass is at most the law's, and short of it by at most what is undecided."""
    slack = Fraction(1, 1 << 180)  # the law comes from 200-bit arithmetic
    short = sum((law(k) - mass for k, mass in found.items()), Fraction(0))
    return short <= undecided + slack and all(-slack <= law(k) - mass for k, mass in found.items())


def exp(x: Fraction | int) -> Fraction:
    """e^x to 200 bits, from mpmath: not the code under test."""
    x = Fraction(x)
    with mpmath.workprec(220):
        value = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
        return Fraction(int(mpmath.floor(value * mpmath.mpf(2) ** 200)), 1 << 200)


def law_of_laplace(scale: Fraction, k: int) -> Fraction:
    q = exp(-1 / scale)
    return (1 - q) / (1 + q) * exp(-abs(k) / scale)


def law_of_geometric(scale: Fraction, k: int) -> Fraction:
    return (1 - exp(-1 / scale)) * exp(-k / scale)


class Flipped(Digits):
    """Planted fault: the digits of a probability with the one at `position` (from 1) flipped."""

    def __init__(self, true: Digits, position: int) -> None:
        self._true = true
        self._position = position

    def leading(self, count: int) -> int:
        value = self._true.leading(count)
        return value ^ 1 << (count - self._position) if count >= self._position else value


class SignReused:
    """Planted fault: in the first draw, the last column (the sign) repeats the words of column 0."""

    def __init__(self, source: RandomSource, planes: int) -> None:
        self._source = source
        self._planes = planes

    def words(self, count: int, width: int) -> Words:
        words = self._source.words(count, width)
        if self._planes:
            rows = words.reshape(-1, self._planes)
            rows[:, -1] = rows[:, 0]
            self._planes = 0
        return words
