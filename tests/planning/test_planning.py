"""The numbers of the textbook, and plans that hold: for the noise we draw, and back again."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import planning as plan
from discreet.errors import InvalidParameter
from discreet.mechanisms import Laplace
from discreet.planning import LaplaceError, Schedule, VectorError

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


def test_sample_sizes_of_a_proportion() -> None:
    for epsilon, laplace, local in ((0.1, 1414, 999_167), (1, 141, 9207)):
        sizes = plan.sample_sizes(0.01, epsilon)
        assert (round(sizes.laplace), round(sizes.randomised_response)) == (laplace, local)
        assert sizes.least_laplace == laplace + 1
        half = plan.sample_sizes(0.005, epsilon)
        assert half.laplace == pytest.approx(2 * sizes.laplace)
        assert half.randomised_response == pytest.approx(4 * sizes.randomised_response)


def test_randomised_response_by_its_coins() -> None:
    """The variance of the unbiased estimate, from the two outcomes of one person."""
    epsilon, n = 0.7, 100
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    values = np.array([(1 - (1 - p)) / (2 * p - 1), -(1 - p) / (2 * p - 1)])  # report 1 and 0, unbiased
    for share in (p, 1 - p):  # a person with 1 and one with 0
        weights = np.array([share, 1 - share])
        mean = float(weights @ values)
        variance = float(weights @ (values - mean) ** 2)
        assert math.sqrt(variance / n) == pytest.approx(plan.proportion_error(n, epsilon).randomised_response)


@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_epsilon_of_one_over_n_is_useless_and_the_planner_says_so(n: int) -> None:
    found = plan.proportion_error(n, Fraction(1, n))
    assert found.laplace == pytest.approx(math.sqrt(2))
    assert found.useless
    assert not plan.proportion_error(n, 1).useless


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


def test_the_gap_of_the_exponential() -> None:
    found = [f"{100 * plan.linear_gap(e):.1f}" for e in (0.5, 1)]
    assert [f"{100 * plan.linear_gap(0.1):.2f}", *found] == ["0.47", "9.9", "35.9"]


def test_mean_release() -> None:
    for n in (200, 500, 1500):
        for epsilon in (1, 0.32, 0.1, 0.03, 0.01):
            found = plan.mean_error((1, 16), n, epsilon)
            assert found.scale == pytest.approx(15 / (n * epsilon))
            assert found.radius(0.95) == pytest.approx(found.scale * math.log(1 / 0.05))


def test_coverage_of_the_radius() -> None:
    """Exactly, for the noise that is drawn: P(|Z| <= b ln(1/alpha)) is 1 - alpha but for the grid."""
    noise = Laplace("1/100", sensitivity=15, granularity=Fraction(1, 256)).distribution
    for alpha in (0.5, 0.1, 0.01):
        radius = float(noise.scale) * math.log(1 / alpha)
        assert 1 - 2 * float(noise.survival(radius)) == pytest.approx(1 - alpha, abs=1e-5)


def test_privacy_loss_of_one_output() -> None:
    assert plan.privacy_loss(38.2, 37.9, 38.9, scale=2) == pytest.approx(0.2)
    y = np.linspace(30, 46, 161)
    losses = [plan.privacy_loss(float(v), 37.9, 38.9, 2) for v in y]
    assert max(losses) == pytest.approx(0.5)
    assert min(losses) == pytest.approx(-0.5)


def test_selection() -> None:
    assert plan.selection_loss(4, 1, 1 - math.exp(-3)) == pytest.approx(2 * (math.log(4) + 3))
    assert plan.selection_loss(4, 1, sensitivity=2) == 2 * plan.selection_loss(4, 1)


def test_two_demands() -> None:
    both = plan.demands(5, (20, 0.001), 1)
    assert both.scale == min(5 / math.sqrt(2), 20 / math.log(1000))
    assert (round(both.epsilon, 4), both.binding, both.feasible, both.relax) == (0.3454, "tail", True, ())
    assert plan.demands(2, (20, 0.001)).binding == "sd"
    strict = plan.demands(5, (20, 0.001), 0.3)
    assert not strict.feasible
    assert strict.relax == (
        "allow errors of 23.0259 with probability 0.001, or of 20 with probability 0.00247876",
    )
    assert len(plan.demands(1, (2, 0.001), 0.3).relax) == 2
    # More noise never makes a plan infeasible: large noise is no leak.
    assert plan.demands(50, (200, 0.001), 0.3).feasible
    assert plan.demands(5, None, Fraction(1), sensitivity=5 / math.sqrt(2)).feasible


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(1e-6, 0.5), st.floats(0.01, 10))
def test_what_is_relaxed_does(sd: float, t: float, beta: float, ceiling: float) -> None:
    found = plan.demands(sd, (t, beta), ceiling)
    assert found.feasible == (not found.relax)
    wider = sd
    for words in found.relax:
        number = float(words.split(" of ")[1].split(" ")[0])
        if "deviation" in words:
            wider = number
            assert plan.demands(number, None, ceiling).feasible
        else:
            assert plan.demands(wider, (number, beta), ceiling).feasible
            likely = float(words.rsplit(" ", 1)[1])
            assert likely >= 1 or plan.demands(wider, (t, likely), ceiling).feasible


def test_information() -> None:
    assert round(plan.divergence(1), 4) == 0.3679
    assert plan.divergence(0.01) == pytest.approx(0.01**2 / 2, rel=0.01)
    for e in (0.5, 2.0):  # by integrating p ln(p/q)
        y = np.linspace(-60, 60, 2_400_001)
        p, q = np.exp(-np.abs(y)) / 2, np.exp(-np.abs(y - e)) / 2
        assert plan.divergence(e) == pytest.approx(float(np.trapezoid(p * np.log(p / q), y)), rel=1e-5)
        m = (p + q) / 2
        both = np.trapezoid(p * np.log(p / m), y) + np.trapezoid(q * np.log(q / m), y)
        assert plan.information(e) == pytest.approx(float(both) / 2, rel=1e-5)
    assert [round(plan.rate_distortion(e), 3) for e in (0.1, 1)] == [0.242, 0.177]
    assert plan.rate_distortion(1e-3) == pytest.approx(0.25, abs=1e-3)
    assert plan.information(200) == pytest.approx(math.log(2))
    assert plan.divergence(9.99e-4) == pytest.approx(plan.divergence(1.001e-3), rel=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: LaplaceError.of(0),
        lambda: LaplaceError.of(1, float("nan")),
        lambda: LaplaceError(1).radius(1),
        lambda: LaplaceError(1).beyond(-1),
        lambda: VectorError.of(0, 1),
        lambda: VectorError.of(True, 1),
        lambda: VectorError.of_counts(3, 1, "both"),
        lambda: plan.sample_sizes(0, 1),
        lambda: plan.sample_sizes(0.1, "x"),
        lambda: plan.proportion_error(1.5, 1),  # type: ignore[arg-type]
        lambda: plan.mean_error((1, 1), 5, 1),
        lambda: plan.mean_error((2, 1), 5, 1),
        lambda: plan.scale_for_tail(1, 1),
        lambda: plan.demands(),
        lambda: plan.demands(1, ceiling=0),
        lambda: plan.selection_loss(0, 1),
        lambda: Schedule("x", 1),
        lambda: Schedule(1, 1, c=0),
    ],
)
def test_bad_parameters(call: Any) -> None:
    with pytest.raises(InvalidParameter):
        call()
