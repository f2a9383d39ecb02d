"""Errors of many numbers at once, and of the largest of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import planning as plan
from discreet.mechanisms import Laplace
from discreet.planning import LaplaceError, VectorError


def test_three_thousand_counties() -> None:
    replaced = VectorError.of_counts(3143, 0.1, "replace_one")
    assert replaced.scale == 20
    assert replaced.one.mean_abs == 20
    assert round(replaced.one.rms, 2) == 28.28
    assert round(replaced.bound_max, 2) == 181.06
    assert round(replaced.expected_max, 2) == 172.61
    assert replaced.expected_l1 == 3143 * 20
    added = VectorError.of_counts(3143, 0.1, "add_remove")
    for name in ("scale", "bound_max", "expected_max", "expected_l1"):
        assert getattr(added, name) == pytest.approx(getattr(replaced, name) / 2)


def test_the_largest_of_many_is_exact() -> None:
    assert plan.harmonic(2) == 1.5
    for d in (999, 1000, 1001, 5000):
        assert plan.harmonic(d) == pytest.approx(math.fsum(1 / k for k in range(1, d + 1)), rel=1e-14)
    ten = VectorError(2.0, 10)
    # E max by integrating P(max > x) = 1 - (1 - e^(-x/b))^d on a fine grid
    x = np.linspace(0, 120, 600_001)
    tail = 1 - (1 - np.exp(-x / 2)) ** 10
    assert float(np.trapezoid(tail, x)) == pytest.approx(ten.expected_max, rel=1e-7)
    assert ten.expected_max < ten.bound_max
    for t in (0.0, 1.0, 4.0):
        assert ten.max_beyond(t) <= math.exp(-t)
        at = 2 * (math.log(10) + t)
        assert ten.max_beyond(t) == pytest.approx(1 - (1 - math.exp(-at / 2)) ** 10)
    assert 1 - (1 - math.exp(-ten.max_radius(0.9) / 2)) ** 10 == pytest.approx(0.1)


def test_expected_errors_of_what_is_drawn_are_within_the_plan() -> None:
    for epsilon, sensitivity in (("1/10", 2), (1, 1), (3, 1)):
        mechanism = Laplace(epsilon, sensitivity)
        one = LaplaceError.of(epsilon, sensitivity)
        assert mechanism.distribution.mean_abs <= one.mean_abs
        assert mechanism.distribution.sd <= one.rms
