"""The formulas of the Laplace mechanism, number by number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import ExpectedLaplaceError, Laplace
from discreet.mechanisms.numeric.laplace_error import harmonic
from discreet.noise.distribution import DiscreteLaplace

COUNTIES = 3143


def test_checklist_density() -> None:
    # Scales 1, 2, 4, 7 peak at .5, .25, .125, .0714; the mass of a fine grid is the density times the grid.
    for scale, peak in ((1, 0.5), (2, 0.25), (4, 0.125), (7, 0.0714)):
        fine = DiscreteLaplace(Fraction(scale), Fraction(1, 1 << 20))
        assert float(fine.pmf(0)) * 2**20 == pytest.approx(peak, abs=5e-5)
        for x in (-3.0, 0.5, 9.0):
            assert float(fine.pmf(x)) * 2**20 == pytest.approx(
                math.exp(-abs(x) / scale) / (2 * scale), rel=1e-5
            )
            assert float(fine.cdf(fine.quantile(fine.cdf(x)))) == pytest.approx(float(fine.cdf(x)))
            assert float(fine.survival(x)) == pytest.approx(1 - float(fine.cdf(x)))


def test_checklist_counties() -> None:
    replace, add = Laplace(0.1, sensitivity=2).expected(COUNTIES), Laplace(0.1).expected(COUNTIES)
    assert replace.scale == 20
    assert replace.mean_abs == 20
    assert replace.rms == pytest.approx(28.28, abs=0.005)
    assert replace.mean_max_bound == pytest.approx(181.06, abs=0.005)
    assert replace.mean_max == pytest.approx(172.61, abs=0.005)
    for name in ("mean_abs", "rms", "mean_max_bound", "mean_max", "mean_l1"):
        assert getattr(add, name) == pytest.approx(getattr(replace, name) / 2)


def test_checklist_formulas() -> None:
    error = Laplace(2, sensitivity=3, granularity=2**-30).expected()
    b = 1.5
    assert error.mean_abs == b
    assert error.rms == pytest.approx(math.sqrt(2) * b)
    assert error.mse == 2 * b**2
    for t in (0, 0.5, 3):
        assert error.tail(t * b) == pytest.approx(math.exp(-t))
    assert ExpectedLaplaceError(Fraction(3, 2), 10).mean_l1 == 10 * b
    # Half the epsilon, four times the mean square.
    assert Laplace(1, sensitivity=3).expected().mse == 4 * Laplace(2, sensitivity=3).expected().mse
    for d in (1, 2, 50, 10**6):
        many = ExpectedLaplaceError(Fraction(3, 2), d)
        assert many.mean_max <= many.mean_max_bound
        for t in (0.1, 1, 5):
            x = b * (math.log(d) + t)
            assert many.max_tail(x) <= math.exp(-t) * (1 + 1e-12)
            assert many.max_tail(x) == pytest.approx(1 - (1 - math.exp(-x / b)) ** d, rel=1e-6)
    assert ExpectedLaplaceError(Fraction(1), 3).max_tail(0) == 1


def test_checklist_two_people() -> None:
    # Ages capped at 100, epsilon .5: P(|Z| > 100) = e^-1/2.
    assert Laplace(0.5, sensitivity=100).expected().tail(100) == pytest.approx(0.6065, abs=5e-5)


def test_checklist_loss_of_one_output() -> None:
    assert Laplace(0.5).loss_of(38.2, 37.9, 38.9) == Fraction(1, 5)
    assert Laplace(0.5).loss_of(38.2, 38.9, 37.9) == -Fraction(1, 5)
    assert Laplace(0.5).loss_of(30, 37.9, 38.9) == Fraction(1, 2)
    pair = Laplace(1, 2)
    assert pair.loss_of([3, 4], [3, 5], [2, 4]) == 0
    assert pair.loss_of(np.array([0, 0]), [0, 0], [1, 1]) == 1


def test_the_loss_of_outputs_is_that_of_the_law() -> None:
    mechanism = Laplace("3/10", 2)
    for y in range(-9, 12):
        ratio = float(np.log(mechanism.distribution.pmf(y - 1) / mechanism.distribution.pmf(y - 3)))
        loss = mechanism.loss_of(y, 1, 3)
        assert float(loss) == pytest.approx(ratio, abs=1e-12)
        assert abs(loss) <= mechanism.epsilon


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20)])
@pytest.mark.parametrize("d", [1, 7, 3143])
def test_expectations_of_the_discrete_law_are_within_a_step(scale: Fraction, d: int) -> None:
    m = np.arange(0, 60 * math.ceil(scale))
    outside = 2 * DiscreteLaplace(scale).survival(m)
    largest = float((-np.expm1(d * np.log1p(-np.minimum(outside, 1 - 1e-16)))).sum())
    assert 0 <= ExpectedLaplaceError(scale, d).mean_max - largest < 1
    assert 0 <= ExpectedLaplaceError(scale, d).mean_abs - DiscreteLaplace(scale).mean_abs < 1


def test_draws_have_the_errors_of_the_formulas() -> None:
    # 2,000 vectors of 500: means within 7 deviations, false alarm 1e-11; the largest is off by 8 if ln d were lost.
    noise = np.abs(Laplace(0.1).release(np.zeros((2000, 500), int)))
    expected = Laplace(0.1).expected(500)
    for seen, paper, sd in (
        (noise.mean(), expected.mean_abs, 10 / 1000),
        (noise.sum(axis=1).mean(), expected.mean_l1, math.sqrt(500 / 2000) * 10),
        (noise.max(axis=1).mean(), expected.mean_max, 1.3 * 10 / math.sqrt(2000)),
    ):
        assert seen == pytest.approx(paper, abs=7 * sd + 1 * (paper < 100) + 10 * (paper > 1000))


def test_harmonic_numbers() -> None:
    assert harmonic(1) == 1
    for d in (999, 1000, 1001, 5000):
        assert harmonic(d) == pytest.approx(math.fsum(1 / k for k in range(1, d + 1)), rel=1e-14)


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_bad_distances(bad: Any) -> None:
    for call in (ExpectedLaplaceError(Fraction(1), 2).tail, ExpectedLaplaceError(Fraction(1), 2).max_tail):
        with pytest.raises(InvalidParameter, match="x is"):
            call(bad)


def test_bad_arguments() -> None:
    with pytest.raises(InvalidParameter, match="d is not"):
        Laplace(1).expected(0)
    for outputs in (([1, 2], [1], [1]), (1, [1, 2], [1, 2]), ("x", 1, 2), (float("nan"), 1, 2)):
        with pytest.raises(InvalidParameter):
            Laplace(1).loss_of(*outputs)
