"""How a budget is spread over questions to come."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.planning import Schedule


def test_schedules() -> None:
    half, quarter = Schedule(1, Fraction(1, 2)), Schedule("1/2", "1/4")
    assert (half.exponent, quarter.exponent) == (Fraction(1, 2), Fraction(1, 4))
    for n in (100, 10_000):
        assert half.epsilon_at(n) == pytest.approx(n**-0.5)
        assert half.at(n).scale == pytest.approx(n**-0.5)
        assert quarter.at(n).scale == pytest.approx(n**-0.25)
        assert half.at(n).rms == pytest.approx(math.sqrt(2) * n**-0.5), "sqrt(2) b, not b"
    assert not Schedule(1, 1).vanishes
    assert Schedule(1, 1).at(10**6).scale == 1
    assert Schedule(1, "1/2", c=3, d=2).table([100])[0] == pytest.approx(
        (100, 0.2, 0.15, 0.15 * math.sqrt(2))
    )
