"""Discrete Laplace noise of large scales has exactly the law of its formula, on every tape."""

from __future__ import annotations

import inspect
from fractions import Fraction

import mpmath
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.large import laplace as module
from discreet.noise.large.laplace import draw, large_laplace
from tests.depth import DEEP
from tests.noise.tape import agrees, every_tape

SCALE = Fraction(2)
DEPTH = 13 if DEEP else 12


def law(scale: Fraction, k: int) -> Fraction:
    with mpmath.workprec(260):
        x = mpmath.mpf(scale.denominator) / scale.numerator
        found = mpmath.tanh(x / 2) * mpmath.exp(-abs(k) * x)
        return Fraction(int(mpmath.floor(found * mpmath.mpf(2) ** 240)), 1 << 240)


@pytest.mark.parametrize("scale", [SCALE, Fraction(3, 2)])
def test_the_law_is_exact_on_every_tape(scale: Fraction) -> None:
    found, undecided = every_tape(lambda source: draw(source, scale, 1, 1), DEPTH)
    assert undecided < Fraction(1, 2)
    assert agrees(found, undecided, lambda k: law(scale, k))
    assert not agrees(found, undecided, lambda k: law(scale / 3, k))


def test_a_zero_of_both_signs_is_found() -> None:
    """Where minus zero is zero, zero comes about twice as often."""
    planted = inspect.getsource(module.draw).replace("        if size:\n", "        if True:\n")
    names = dict(vars(module))
    exec(planted, names)
    found, undecided = every_tape(lambda source: int(names["draw"](source, SCALE, 1, 1)), DEPTH)
    assert not agrees(found, undecided, lambda k: law(SCALE, k))


def test_scales_without_end() -> None:
    scale = Fraction(10**60, 7)
    drawn = [large_laplace(scale) for _ in range(40)]
    # Within 100 scales, and not all within a thousandth of one: false alarms are below 1e-40.
    assert 10**57 < max(map(abs, drawn)) < 100 * 10**60
    assert large_laplace(Fraction(1, 1000)) == 0  # but for a chance of 1e-434
    with pytest.raises(InvalidParameter):
        large_laplace(0)
