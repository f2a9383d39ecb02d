"""Rounded Cauchy noise has exactly the law of its formula, on every tape."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.large.cauchy import draw, rounded_cauchy
from tests.depth import DEEP
from tests.noise.tape import agrees, every_tape


def law(scale: Fraction, k: int) -> Fraction:
    with mpmath.workprec(260):
        ends = [
            mpmath.atan((mpmath.mpf(2 * k + side) / 2) * scale.denominator / scale.numerator)
            for side in (-1, 1)
        ]
        return Fraction(int(mpmath.floor((ends[1] - ends[0]) / mpmath.pi * mpmath.mpf(2) ** 240)), 1 << 240)


# A deep run asks scale 1/2 as well.
@pytest.mark.parametrize("scale", [Fraction(3, 2), *[Fraction(1, 2)] * DEEP])
def test_the_law_is_exact_on_every_tape(scale: Fraction) -> None:
    found, undecided = every_tape(lambda source: draw(source, scale, 2), 16)
    assert undecided < Fraction(1, 2)
    assert agrees(found, undecided, lambda k: law(scale, k))


def test_another_scale_is_found() -> None:
    # Tapes of 13 bits show it as well as those of 16, of which there are eight times as many.
    found, undecided = every_tape(lambda source: draw(source, Fraction(1, 4), 2), 13)
    assert not agrees(found, undecided, lambda k: law(Fraction(1, 2), k))


def test_the_scale_is_positive() -> None:
    assert abs(rounded_cauchy(Fraction(1, 10**9))) < 10**9  # false alarms: below 1e-18
    with pytest.raises(InvalidParameter):
        rounded_cauchy(0)
