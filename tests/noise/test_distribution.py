from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.distribution import DiscreteLaplace

SCALES = [Fraction(1, 1024), Fraction(1, 30), Fraction(1, 2), Fraction(1), Fraction(20), Fraction(10**6, 3)]
SCALES += [Fraction(1 << 33), Fraction(1 << 56)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 1 << 20), Fraction(8)])
def test_against_two_hundred_digits(scale: Fraction, grid: Fraction) -> None:
    law = DiscreteLaplace(scale * grid, grid)
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        g = mpmath.mpf(grid.numerator) / grid.denominator
        near(law.mean_abs, g * 2 * q / (1 - q * q))
        near(law.sd, g * mpmath.sqrt(2 * q) / (1 - q))
        for k in sorted({0, 1, -1, 7, -7, int(scale), -int(scale), int(30 * scale), -int(30 * scale)}):
            tail = q ** (abs(k) + (k >= 0)) / (1 + q)
            x = float(k * grid)
            near(law.pmf(x), (1 - q) / (1 + q) * q ** abs(k))
            near(law.cdf(x), tail if k < 0 else 1 - tail)
            near(law.survival(x), 1 - tail if k < 0 else tail)
    assert law.mean == 0.0


def near(found: Any, truth: Any) -> None:
    # exp(-k/scale) in float64 has a relative error of up to k/scale half-units, here up to 30 (or 7,000).
    assert abs(mpmath.mpf(float(found)) - truth) <= 2e-12 * truth + mpmath.mpf(2) ** -1074


@pytest.mark.parametrize("scale", [s for s in SCALES if s < 10**6])
def test_the_quantile_is_the_least_that_reaches_p(scale: Fraction) -> None:
    law = DiscreteLaplace(scale)
    p = np.concatenate(
        [np.linspace(0.001, 0.999, 999), [1e-300, 1e-9, 1 - 1e-9, 0.5, law.cdf(3), law.cdf(-4)]]
    )
    p = p[(p > 0) & (p < 1)]
    k = law.quantile(p)
    assert (law.cdf(k) >= p).all()
    assert (law.cdf(k - 1) < p).all()
    assert (k == np.floor(k)).all()


def test_checklist_peaks_and_moments() -> None:
    # The continuous Laplace law with scale b peaks at 1/2b; on a fine grid the pmf over the grid does too.
    for b, peak in ((1, 0.5), (2, 0.25), (4, 0.125), (7, 0.0714)):
        fine = DiscreteLaplace(Fraction(b), Fraction(1, 1 << 20))
        assert float(fine.pmf(0)) * 2**20 == pytest.approx(peak, abs=5e-5)
        assert fine.mean_abs == pytest.approx(b)  # E|Z| = b
        assert fine.sd == pytest.approx(2**0.5 * b)  # rms = sqrt(2) b
        for t in (0.5, 1.0, 3.0):  # P(|Z| > t b) = e^-t
            assert 2 * float(fine.survival(t * b)) == pytest.approx(np.exp(-t), rel=1e-5)


def test_checklist_counties() -> None:
    # 3,143 counties, b = 20: E|Z| 20, rms 28.28, E max exactly b H_d = 172.61 (for the continuous law).
    law = DiscreteLaplace(Fraction(20), Fraction(1, 64))
    assert law.mean_abs == pytest.approx(20, abs=1e-4)
    assert law.sd == pytest.approx(28.28, abs=5e-3)
    m = np.arange(0, 2000, 1 / 64)
    exceeds = -np.expm1(3143 * np.log1p(-2 * law.survival(m)))
    assert exceeds.sum() / 64 == pytest.approx(172.61, abs=0.02)


def test_off_the_grid() -> None:
    law = DiscreteLaplace(Fraction(3), Fraction(1, 2))
    assert law.pmf([0.25, 0.5]).tolist() == [0.0, law.pmf(0.5)]
    assert law.cdf(0.74) == law.cdf(0.5)
    assert law.survival(-0.1) == law.survival(-0.5)
    assert law.pmf(np.zeros((2, 3))).shape == (2, 3)


def test_draws() -> None:
    assert DiscreteLaplace(Fraction(3)).draws((2, 2)).dtype == np.int64
    assert isinstance(DiscreteLaplace(Fraction(3)).draws(), int)
    halves = DiscreteLaplace(Fraction(3), Fraction(1, 2)).draws(1000)
    assert (halves * 2 % 1 == 0).all()
    assert isinstance(DiscreteLaplace(Fraction(3), Fraction(1, 2)).draws(), float)


def test_bad_parameters() -> None:
    for scale, grid in ((0, 1), (1, 0), (1, -1), (2**57, 1), (1, 2**11)):
        with pytest.raises(InvalidParameter):
            DiscreteLaplace(Fraction(scale), Fraction(grid))
    for p in (0.0, 1.0, [0.5, 2], float("nan")):
        with pytest.raises(InvalidParameter):
            DiscreteLaplace(Fraction(1)).quantile(p)
