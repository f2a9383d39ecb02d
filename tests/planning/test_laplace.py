"""The error of one number: the numbers of the textbook, and those of the noise that is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import planning as plan
from discreet.mechanisms import Laplace
from discreet.planning import LaplaceError, VectorError

positive = st.floats(1e-3, 1e3)


def test_error_of_one_number() -> None:
    one = LaplaceError(3.0)
    assert one.mean_abs == 3
    assert one.rms == math.sqrt(2) * 3
    assert one.mse == 18
    assert LaplaceError.of(0.1).mse == 4 * LaplaceError.of(0.2).mse, "half the epsilon, four times the MSE"
    for t in (0.5, 1, 3):
        assert one.beyond(3 * t) == pytest.approx(math.exp(-t))
    assert round(LaplaceError.of(0.5, 100).beyond(100), 4) == 0.6065
    assert one.beyond(one.radius(0.95)) == pytest.approx(0.05)


@given(positive, positive, st.integers(1, 10**6))
def test_there_and_back(error: float, epsilon: float, n: int) -> None:
    assert LaplaceError.of(plan.epsilon_for_rms(error)).rms == pytest.approx(error)
    assert LaplaceError(plan.scale_for_rms(error)).rms == pytest.approx(error)
    assert VectorError.of(n, plan.epsilon_for_expected_max(error, n)).expected_max == pytest.approx(error)
    curator, local = plan.epsilon_for_proportion(error, n)
    assert plan.proportion_error(n, curator).laplace == pytest.approx(error)
    assert plan.proportion_error(n, local).randomised_response == pytest.approx(error)
    assert plan.mean_error((0, 7), n, plan.epsilon_for_mean((0, 7), error, n)).rms == pytest.approx(error)
    enough = plan.sample_size_for_mean((0, 7), error, epsilon)
    assert plan.mean_error((0, 7), enough, epsilon).rms <= error * (1 + 1e-9)
    assert enough == 1 or plan.mean_error((0, 7), enough - 1, epsilon).rms > error
    loss = plan.selection_loss(n, epsilon)
    assert plan.epsilon_for_selection(loss, n) == pytest.approx(epsilon) if loss else True


def test_coverage_of_the_radius() -> None:
    """Exactly, for the noise that is drawn: P(|Z| <= b ln(1/alpha)) is 1 - alpha but for the grid."""
    noise = Laplace("1/100", sensitivity=15, granularity=Fraction(1, 256)).distribution
    for alpha in (0.5, 0.1, 0.01):
        radius = float(noise.scale) * math.log(1 / alpha)
        assert 1 - 2 * float(noise.survival(radius)) == pytest.approx(1 - alpha, abs=1e-5)


def test_the_gap_of_the_exponential() -> None:
    found = [f"{100 * plan.linear_gap(e):.1f}" for e in (0.5, 1)]
    assert [f"{100 * plan.linear_gap(0.1):.2f}", *found] == ["0.47", "9.9", "35.9"]


def test_privacy_loss_of_one_output() -> None:
    assert plan.privacy_loss(38.2, 37.9, 38.9, scale=2) == pytest.approx(0.2)
    y = np.linspace(30, 46, 161)
    losses = [plan.privacy_loss(float(v), 37.9, 38.9, 2) for v in y]
    assert max(losses) == pytest.approx(0.5)
    assert min(losses) == pytest.approx(-0.5)
