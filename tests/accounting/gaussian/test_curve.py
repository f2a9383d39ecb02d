"""The curve of Gaussian noise against what is known of it in other ways."""

from __future__ import annotations

import math
from decimal import Context
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.gaussian import curve
from discreet.accounting.gaussian.curve import delta_of


def textbook(mu: float, epsilon: float) -> float:
    """The formula of Balle and Wang in floats."""

    def phi(t: float) -> float:
        return math.erfc(-t / math.sqrt(2)) / 2

    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("mu", ["0.01", "0.2", "1", "3", "9"])
@pytest.mark.parametrize("epsilon", ["0", "0.01", "0.5", "1", "7", "40"])
def test_it_is_the_formula(mu: str, epsilon: str) -> None:
    found = float(delta_of(Fraction(mu) ** 2, Fraction(epsilon)))
    expected = textbook(float(mu), float(epsilon))
    if expected > 1e-13:  # below, the floats of the formula are nothing but rounding
        assert found == pytest.approx(expected, rel=1e-4 if expected < 1e-9 else 1e-6)
    assert 0 <= found <= 1


def test_it_is_the_integral_of_the_positive_part() -> None:
    """Deep in the tail, where the formula in floats says nothing: the integral of (p - e^epsilon q)+ has no difference.

    Its integrand is p(x) (1 - e^(epsilon - mu x + mu^2/2))+ at x = epsilon/mu - mu/2 and beyond, mu to the right.
    """
    for mu, epsilon in ((0.1, 1.0), (0.2, 3.0), (2.0, 30.0)):
        start = epsilon / mu + mu / 2
        x = np.linspace(start, start + 4, 400_001)
        inside = (
            np.exp(-((x - mu) ** 2) / 2) * -np.expm1(epsilon - mu * x + mu**2 / 2) / math.sqrt(2 * math.pi)
        )
        expected = float(np.trapezoid(inside, x))
        assert float(delta_of(Fraction(mu) ** 2, Fraction(epsilon))) == pytest.approx(expected, rel=1e-6)


def test_more_digits_give_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The margin is above the rounding: with a hundred digits more the curve is lower by about the margin."""
    places = [
        (Fraction(square), Fraction(epsilon))
        for square in ("1e-6", "0.05", "7")
        for epsilon in ("0.001", "1", "60")
    ]
    short = [delta_of(*place) for place in places]
    monkeypatch.setattr(curve, "GUARD", 160)
    monkeypatch.setattr(curve, "MARGIN", Fraction(0))
    for place, one in zip(places, short, strict=True):
        exact = delta_of(*place)
        assert exact < one <= exact * (1 + Fraction(2, 10**20)) or exact == one in (1, Fraction(1, 10**346))


def test_the_ends() -> None:
    assert delta_of(Fraction(1, 10**40), Fraction(1)) == Fraction(1, 10**346)
    assert delta_of(Fraction(10**9), Fraction(1)) == 1
    assert str(curve._pi(Context(prec=30))) == "3.14159265358979323846264338328"
    rising = [delta_of(Fraction(k, 100), Fraction(1)) for k in range(1, 40)]
    assert rising == sorted(rising)
    falling = [delta_of(Fraction(1), Fraction(k, 10)) for k in range(40)]
    assert falling == sorted(falling, reverse=True)
