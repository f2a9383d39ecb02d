"""Discrete Gaussian noise on a vector: its divergence adds up over the coordinates that move."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.mechanisms import DiscreteGaussian, GaussianVector
from discreet.mechanisms.numeric import gaussian_vector
from discreet.noise import gaussian
from tests.mechanisms.numeric.test_discrete_gaussian import renyi
from tests.noise.fit import ALARM, alarm


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(7, 3), Fraction(40)])
@pytest.mark.parametrize("alpha", [1.1, 2, 16])
def test_no_change_within_the_square_costs_more_than_the_loss(variance: Fraction, alpha: float) -> None:
    # Every whole change of three coordinates with squares up to 6, by the exact law.
    rho = float(GaussianVector(variance, 6).loss.rho)
    by_shift = [renyi(float(variance), shift, alpha) for shift in range(3)]
    costs = [
        sum(by_shift[abs(one)] for one in change)
        for change in product(range(-2, 3), repeat=3)
        if sum(one * one for one in change) <= 6
    ]
    assert max(costs) <= rho * alpha * (1 + 1e-9)
    # Planted fault: the sensitivity stands in the place of its square.
    assert max(costs) > float(GaussianVector(variance, Fraction(2449, 1000)).loss.rho) * alpha


def test_its_loss_is_that_of_numbers_of_the_same_sensitivity() -> None:
    assert GaussianVector(variance=100, square=9).loss == ZCDP("9/200")
    assert DiscreteGaussian(rho="9/200", sensitivity=3).parameter == 100


def test_the_noise_is_of_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    # 60,000 draws; false alarm 2e-11; a parameter wrong by 10 % is caught.
    vector, k = GaussianVector(Fraction(50, 3), 2), np.arange(-30, 31)

    def likely() -> float:
        noise = vector.release(np.full((300, 200), 7, np.int64)) - 7
        return alarm(np.bincount(np.clip(noise, -30, 30).ravel() + 30, minlength=61), law / law.sum())

    law = np.exp(-(k**2) / (2 * 50 / 3))
    assert likely() > ALARM
    monkeypatch.setattr(gaussian_vector, "gaussian", lambda v, shape: gaussian(v * Fraction(9, 10), shape))
    assert likely() < ALARM  # the planted fault


def test_the_half_width_holds_the_noise() -> None:
    vector = GaussianVector(Fraction(50, 3), 2)
    k = np.arange(-200, 201)
    law = np.exp(-(k**2) / (2 * 50 / 3))
    for confidence in (Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**6)):
        inside = [
            law[np.abs(k) <= m].sum() / law.sum() for m in (vector.half_width(confidence) - s for s in (0, 1))
        ]
        assert inside[0] >= float(confidence) > inside[1]


def test_sums_saturate_and_bad_values_are_refused() -> None:
    assert GaussianVector(4).release(np.array([2**63 - 1] * 9))[0] > 2**62
    for variance in (0, 2**51, "x"):
        with pytest.raises(InvalidParameter):
            GaussianVector(variance)
    with pytest.raises(InvalidParameter):
        GaussianVector(4).release(np.array([0.5]))
