"""Binary digits of a probability, as many as are asked for, each proven right.

A probability p in [0, 1) is known through enclosures: integers lo <= p 2^n <= hi from exact integer
arithmetic with outward rounding. When lo and hi agree after dropping guard digits, the digits left are
those of p, because floor is monotone; when they do not, the enclosure is made tighter. e^-x with
rational x > 0 is irrational (Lindemann 1882), and so is w e^-x/(1 + w e^-x), hence this always ends.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

Enclosure: TypeAlias = Callable[[int], tuple[int, int]]
"""From n to integers lo and hi with lo <= p 2^n <= hi, tighter as n grows."""

_GUARD: Final = 16


class Digits:
    """The binary digits of one probability in [0, 1), extended on demand and kept.

    Safe under threads: the known digits are replaced as a whole, and by a longer prefix of the same number.

    Example:
        >>> bin(of_rational(Fraction(1, 3)).word(0, 8))
        '0b1010101'
    """

    def __init__(self, enclosure: Enclosure) -> None:
        self._enclosure = enclosure
        self._known = (0, 0)

    def leading(self, count: int) -> int:
        """Return floor(p 2^count)."""
        known, value = self._known
        if known < count:
            known = max(count, 2 * known)
            value = self._decide(known)
            self._known = (known, value)
        return value >> (known - count)

    def word(self, start: int, width: int) -> int:
        """Return the `width` digits that follow the first `start`, as an integer."""
        return self.leading(start + width) & ((1 << width) - 1)

    def _decide(self, count: int) -> int:
        guard = _GUARD
        while True:
            low, high = self._enclosure(count + guard)
            if low >> guard == high >> guard:
                return low >> guard
            guard *= 2


def of_rational(p: Fraction) -> Digits:
    """Digits of a rational p in [0, 1); a p such as 1/2 ends in zeros."""

    def enclosure(count: int) -> tuple[int, int]:
        # The floor alone: the floor of a floor is the floor, so dropping guard digits stays exact.
        floor = (p.numerator << count) // p.denominator
        return floor, floor

    return Digits(enclosure)


def of_exp(x: Fraction) -> Digits:
    """Digits of e^-x for rational x > 0."""
    return Digits(lambda count: enclose_exp(x, count))


def of_exp_doubled(x: Fraction, most: int) -> list[Enclosure]:
    """Enclosures of e^-x, e^-2x, e^-4x and so on, `most` times doubled, for rational x > 0.

    Each is the square of the one before, rounded outward, so that all of them take one series. A squaring of a number
    below 1 doubles the width at most, so `most` spare digits keep the result tight.
    """
    kept: tuple[int, list[tuple[int, int]]] = (0, [])

    def all_of(count: int) -> list[tuple[int, int]]:
        nonlocal kept
        known, found = kept  # replaced as a whole, so that threads see one count or the other
        if known != count:
            spare = most + 16
            work, found = count + spare, []
            low, high = enclose_exp(x, work)
            for _ in range(most + 1):
                found.append((low >> spare, -(-high >> spare)))
                low, high = low * low >> work, -(-high * high >> work)
            kept = count, found
        return found

    return [lambda count, index=index: all_of(count)[index] for index in range(most + 1)]  # type: ignore[misc]


def logistic(exponential: Enclosure) -> Digits:
    """Digits of y/(1 + y) for a y in (0, 1), which is 1/(1 + e^x) for y = e^-x."""

    def enclosure(count: int) -> tuple[int, int]:
        low, high = exponential(count)
        unit = 1 << count  # y/(1 + y) grows with y, so the ends of y give the ends of the quotient
        return (low << count) // (unit + low), -((-high << count) // (unit + high))

    return Digits(enclosure)


def of_odds(x: Fraction, weight: Fraction) -> Digits:
    """Digits of the probability whose odds are w e^-x, that is w e^-x/(1 + w e^-x), for rationals x, w > 0."""
    top, bottom = weight.numerator, weight.denominator

    def enclosure(count: int) -> tuple[int, int]:
        low, high = enclose_exp(x, count)
        unit = bottom << count  # wy/(1 + wy) grows with y, so the ends of y give the ends of the quotient
        return (top * low << count) // (unit + top * low), -((-top * high << count) // (unit + top * high))

    return Digits(enclosure)


def enclose_exp(x: Fraction, count: int) -> tuple[int, int]:
    """Return integers lo <= e^-x 2^count <= hi for rational x > 0.

    With y = x/2^r <= 1/2, the terms y^j/j! fall and alternate in sign, so the error of a partial sum is at most its
    last term (Leibniz). Each term is held between a floor and a ceiling in units of 2^-work, and e^-x = (e^-y)^(2^r)
    by r squarings, rounded outward. A squaring doubles the width, so 2r spare digits keep the result tight; tightness
    matters for speed only, containment for exactness.
    """
    if x >= count:
        return 0, 1  # e^-x < 2^-x <= 2^-count
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    work = count + 2 * halvings + 16
    numerator, denominator = x.numerator << work, x.denominator << halvings
    y_low, y_high = numerator // denominator, -(-numerator // denominator)

    low = high = term_low = term_high = 1 << work
    order = 0
    while term_high > 1:
        order += 1
        term_low = (term_low * y_low >> work) // order
        term_high = -((-term_high * y_high >> work) // order)
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - term_high, high + term_high
    for _ in range(halvings):
        low, high = low * low >> work, -(-high * high >> work)
    spare = work - count
    return low >> spare, -(-high >> spare)
