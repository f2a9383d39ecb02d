"""The error of a mean, and epsilons that are useless for it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet import planning as plan


@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_epsilon_of_one_over_n_is_useless_and_the_planner_says_so(n: int) -> None:
    found = plan.proportion_error(n, Fraction(1, n))
    assert found.laplace == pytest.approx(math.sqrt(2))
    assert found.useless
    assert not plan.proportion_error(n, 1).useless


def test_mean_release() -> None:
    for n in (200, 500, 1500):
        for epsilon in (1, 0.32, 0.1, 0.03, 0.01):
            found = plan.mean_error((1, 16), n, epsilon)
            assert found.scale == pytest.approx(15 / (n * epsilon))
            assert found.radius(0.95) == pytest.approx(found.scale * math.log(1 / 0.05))
