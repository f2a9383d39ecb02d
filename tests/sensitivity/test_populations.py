"""Closed forms of populations, against the numbers of the checklist and numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet.errors import InvalidParameter
from discreet.sensitivity import HEIGHTS, Empirical, Mixture, Normal


def test_heights_are_those_of_the_checklist() -> None:
    assert HEIGHTS.mean == 170
    assert round(HEIGHTS.sd, 3) == 10.470
    assert round(HEIGHTS.mean_gap(), 4) == 11.9939
    assert round(HEIGHTS.gap_above(HEIGHTS.mean_gap()), 3) == 0.437
    sizes = [HEIGHTS.mean_gap() + more * HEIGHTS.sd for more in range(3)]
    assert [round(size, 2) for size in sizes] == [11.99, 22.46, 32.93]


@pytest.mark.parametrize("weights", [None, [3, 1], [1, 0]])
def test_gaps_agree_with_integration(weights: list[float] | None) -> None:
    population = Mixture([Normal(178, 7), Normal(162, 6.5)], weights)
    pairs = list(population._pairs())

    def density(z: float) -> float:
        return math.fsum(w * norm.pdf(z, d, s) for w, d, s in pairs)

    mean = quad(lambda z: abs(z) * density(z), -120, 120, points=[0], limit=200)[0]
    assert population.mean_gap() == pytest.approx(mean, rel=1e-8)
    above = 1 - quad(density, -9.0, 9.0)[0]
    assert population.gap_above(9) == pytest.approx(above, rel=1e-8)


def test_draws_are_of_the_population() -> None:
    # 100,000 draws: the mean has sd .033, so .25 is more than 7 deviations; it catches swapped weights or means.
    draws = Mixture([Normal(178, 7), Normal(162, 6.5)], [1, 3]).sample(100_000)
    assert draws.shape == (100_000,)
    assert abs(draws.mean() - 166) < 0.25
    assert abs((draws > 170).mean() - (norm.sf(170, 178, 7) + 3 * norm.sf(170, 162, 6.5)) / 4) < 0.011
    assert Empirical(np.ones((4, 2))).sample(3).shape == (3, 2)


@pytest.mark.parametrize(
    "make",
    [lambda: Normal(0, 0), lambda: Normal(float("nan"), 1), lambda: Mixture([]), lambda: Mixture([Normal(0, 1)], [0]),
     lambda: Mixture([Normal(0, 1)], [1, 2]), lambda: Empirical([]), lambda: HEIGHTS.gap_above(-1)],
)  # fmt: skip
def test_bad_parameters_are_refused(make: object) -> None:
    with pytest.raises(InvalidParameter):
        make()  # type: ignore[operator]
