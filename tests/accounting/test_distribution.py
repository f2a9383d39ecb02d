"""Loss distributions against closed forms, and against dp-accounting used directly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import binomial, exp, mp, mpf
from scipy.stats import norm

from discreet.accounting import (
    Composed,
    Concentrated,
    GaussianNoise,
    Grouped,
    Homogeneous,
    LaplaceNoise,
    Loss,
    LossDistribution,
    Neighbours,
    Parallel,
    Released,
    Repeated,
    ReplaceOne,
    Sampled,
)
from discreet.errors import InvalidParameter, UnsupportedEvent
from tests.depth import few

ADD: Neighbours = "add_remove"


def _exact_delta(epsilon: Fraction, count: int, total: Fraction) -> mpf:
    with mp.workdps(50):
        e, x = mpf(epsilon.numerator) / epsilon.denominator, mpf(total.numerator) / total.denominator
        p = 1 / (1 + exp(-e))
        terms = [
            binomial(count, j) * p ** (count - j) * (1 - p) ** j * (1 - exp(x - (count - 2 * j) * e))
            for j in range(count + 1)
            if (count - 2 * j) * e > x
        ]
        return mp.fsum(terms)


# A deep run asks four.
@pytest.mark.parametrize(("epsilon", "count"), few([("0.01", 2000), ("0.1", 50), ("1", 12), ("1/3", 1)], 2))
def test_many_pure_releases_have_the_exact_price(epsilon: str, count: int) -> None:
    e = Fraction(epsilon)
    many = Homogeneous(e, count)
    tight = LossDistribution.of({Released(e, neighbours=ADD): count})
    for part in ("0", "1/10", "1/3", "9/10"):
        total = Fraction(part) * count * e
        true = _exact_delta(e, count, total)
        for found in (many.delta(total), tight.delta(total)):
            assert mpf(found.numerator) / found.denominator >= true
        assert float(many.delta(total)) <= float(true) * (1 + 1e-5) + 1e-40
        # a loss between two points of the grid is split: a little too much, never more than the grid allows
        assert float(tight.delta(total)) <= float(true) * (1 + 1e-3) + 1e-11
    assert many.delta(count * e) == 0
    assert many.loss(0) == Loss(count * e)
    for delta in (1e-9, 1e-6, 1e-3):
        assert many.delta(many.loss(delta).epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**8))
        assert float(tight.epsilon(delta)) == pytest.approx(float(many.loss(delta).epsilon), rel=2e-3)


def test_the_rounding_of_fourier_transforms_is_within_what_is_added() -> None:
    """100,000 releases: dp-accounting alone is 1.6e-12 too low here; with what is added it is not."""
    many, tight = Homogeneous(0.01, 100_000), LossDistribution.of({Released(0.01, neighbours=ADD): 100_000})
    for total in (6.0, 20.0, 24.0, 27.0):
        assert tight.delta(total) >= many.delta(total) * Fraction(1, 1 + Fraction(2, 10**6))


def test_one_laplace_release() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        one = LossDistribution.of([LaplaceNoise(1, epsilon, None, neighbours=ADD)])
        for at in (0.0, 0.3 * epsilon, 0.9 * epsilon):
            true = -math.expm1((at - epsilon) / 2)
            assert true <= float(one.delta(at)) <= true + 1e-8
        assert one.delta(epsilon) == 0


def test_one_discrete_laplace_release_by_counting() -> None:
    """delta(x) = sum over outputs of (P - e^x Q)+, for a count with noise of scale 2."""
    scale, sensitivity = 2, 3
    one = LossDistribution.of([LaplaceNoise(scale, sensitivity, neighbours=ADD)])
    k = np.arange(-400, 401)
    mass = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)
    shifted = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(k - sensitivity) / scale)
    for at in (0.0, 0.4, 1.0, 1.4):
        true = np.maximum(mass - math.exp(at) * shifted, 0).sum()
        assert true - 1e-13 <= float(one.delta(at)) <= true + 1e-8
    # with a density the same noise would look a little better: a grid that is forgotten is seen
    smooth = LossDistribution.of([LaplaceNoise(scale, sensitivity, None, neighbours=ADD)])
    assert smooth.delta(1.4) < one.delta(1.4)


def test_a_vector_is_no_worse_than_one_number_that_moves_by_all_of_it() -> None:
    k = np.arange(-60, 61)
    mass = np.tanh(1 / 4) * np.exp(-np.abs(k) / 2)
    both = np.outer(mass, mass)

    def moved(by: int) -> Any:
        return np.tanh(1 / 4) * np.exp(-np.abs(k - by) / 2)

    for at in (0.0, 0.3, 0.8, 1.2):
        one = np.maximum(mass - math.exp(at) * moved(3), 0).sum()
        for first in (0, 1, 2, 3):
            shifted = np.outer(moved(first), moved(3 - first))
            assert np.maximum(both - math.exp(at) * shifted, 0).sum() <= one + 1e-12


def test_gaussian_releases_have_their_closed_form() -> None:
    many = LossDistribution.of({GaussianNoise(20, 2, neighbours=ADD): 64})
    mu = math.sqrt(64) * 2 / 20
    for at in (0.5, 2.0, 4.0):
        true = norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu)
        assert true <= float(many.delta(at)) <= true * (1 + 1e-4) + 1e-11


def test_sampled_laplace_is_within_amplification() -> None:
    inner = LaplaceNoise(1, 1, None, neighbours=ADD)
    sampled = LossDistribution.of([Sampled(inner, 0.05, "poisson")])
    assert sampled.delta(0.0825) == 0
    assert 0.081 < float(sampled.epsilon(1e-7)) <= 0.0825


def test_it_is_what_dp_accounting_says() -> None:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant as Theirs

    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(10), 100),
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(20), 50),
            dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2)),
        ]
    )
    theirs = Theirs().compose(event)
    ours = LossDistribution.of(
        {
            LaplaceNoise(10, 1, None, neighbours=ADD): 100,
            GaussianNoise(20, neighbours=ADD): 50,
            Sampled(GaussianNoise(2, neighbours=ADD), 0.1, "poisson"): 1,
        }
    )
    for delta in (1e-9, 1e-6, 1e-3):
        expected = theirs.get_epsilon(delta)
        assert float(ours.epsilon(delta)) == pytest.approx(expected, rel=1e-3)
        assert float(ours.epsilon(delta)) >= expected * (1 - 1e-6)


def test_events_that_have_a_distribution_and_those_that_do_not() -> None:
    noise, gauss = LaplaceNoise(10, neighbours=ADD), GaussianNoise(10, neighbours=ADD)
    twice = LossDistribution.of([Grouped(noise, 2)])
    assert twice.delta(0.1) == LossDistribution.of([LaplaceNoise(10, 2, neighbours=ADD)]).delta(0.1)
    assert LossDistribution.of([ReplaceOne(noise)]).delta(0.1) == twice.delta(0.1)
    three = LossDistribution.of([Composed([noise, Repeated(noise, 2)])])
    assert three.delta(0.2) == LossDistribution.of({noise: 3}).delta(0.2)
    assert LossDistribution.of([Parallel([gauss, gauss])]).delta(0.2) == LossDistribution.of([gauss]).delta(
        0.2
    )
    assert LossDistribution.of([Parallel([noise, Released(0.3, neighbours=ADD)])]).epsilon(0) == Fraction(
        3, 10
    )
    assert LossDistribution.of([Released(Loss(0, 1e-3), neighbours=ADD)]).epsilon(0.01) == 0
    assert float(LossDistribution.of([Grouped(gauss, 3)]).delta(1)) > 0
    assert LossDistribution.of([LaplaceNoise(2**20, 2**20, neighbours=ADD)]).epsilon(0) == 1
    assert LossDistribution.of([]).delta(0) == pytest.approx(0, abs=1e-11)
    for bad in (
        Concentrated(1, neighbours=ADD),
        GaussianNoise(1, discrete=True, neighbours=ADD),
        Parallel([gauss, noise]),
        Released(1000, neighbours=ADD),
    ):
        with pytest.raises(UnsupportedEvent):
            LossDistribution.of([bad])
    with pytest.raises(InvalidParameter):
        LossDistribution.of([noise, ReplaceOne(noise)])


def test_bad_arguments() -> None:
    one = LossDistribution.of([GaussianNoise(10, neighbours=ADD)])
    for delta in (0, 1e-11, 1, -1, float("nan")):
        with pytest.raises(InvalidParameter):
            one.epsilon(delta)
    with pytest.raises(InvalidParameter):
        one.delta(-1)
    with pytest.raises(InvalidParameter):
        one * 0
    with pytest.raises(InvalidParameter):
        LossDistribution.of([], interval=0)
    with pytest.raises(InvalidParameter):
        LossDistribution.of([Released(Loss(1, 1e-3), neighbours=ADD)]).epsilon(1e-4)
    for epsilon, count in ((0, 1), (-1, 1), (1, 0), (1, True), (1, 10**8)):
        with pytest.raises(InvalidParameter):
            Homogeneous(epsilon, count)


def test_sums_and_curves() -> None:
    one, two = (LossDistribution.of([LaplaceNoise(s, neighbours=ADD)]) for s in (10, 20))
    assert (one + two).delta(0.1) == LossDistribution.of(
        [LaplaceNoise(10, neighbours=ADD), LaplaceNoise(20, neighbours=ADD)]
    ).delta(0.1)
    curve = (one * 3).curve([0, 0.1, 0.2, 0.3])
    assert (np.diff(curve) < 0).all()
    assert curve[-1] == 0
