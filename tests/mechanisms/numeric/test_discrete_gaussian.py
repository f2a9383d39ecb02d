from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from discreet.accounting import ZCDP
from discreet.errors import InvalidParameter
from discreet.mechanisms import DiscreteGaussian, values
from tests.noise.fit import ALARM


def renyi(variance: float, shift: int, alpha: float) -> float:
    """The Renyi divergence of order alpha of the noise from itself, moved by a whole shift."""
    k = np.arange(-4000, 4001).astype(float)
    p, q = (-((k - s) ** 2) / (2 * variance) for s in (0, shift))
    total = np.log(np.exp(p).sum())  # both sum to the same: the shift is whole
    log = alpha * p + (1 - alpha) * q - total
    return float((log.max() + np.log(np.exp(log - log.max()).sum())) / (alpha - 1))


@pytest.mark.parametrize("rho", [0.01, 0.5, 2])
@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("alpha", [1.1, 2, 16])
def test_the_divergence_is_at_most_rho_alpha(rho: float, sensitivity: int, alpha: float) -> None:
    variance = float(DiscreteGaussian(rho, sensitivity).parameter)
    assert renyi(variance, sensitivity, alpha) <= rho * alpha * (1 + 1e-9)
    # Planted fault: the variance sensitivity^2/rho, without the 2, would be half the loss; half of it is twice.
    assert renyi(variance / 2, sensitivity, alpha) > 1.3 * rho * alpha


def test_a_vector_is_charged_in_l2() -> None:
    # Five counts that move by 1 each have L2 sensitivity sqrt 5, and divergences add up over coordinates.
    wide = DiscreteGaussian(0.5, Fraction(isqrt_up(5, 30), 1 << 30))
    assert 5 * renyi(float(wide.parameter), 1, 2) <= 0.5 * 2
    assert 5 * renyi(float(DiscreteGaussian(0.5, 1).parameter), 1, 2) > 4 * 0.5 * 2  # planted: per coordinate
    with pytest.raises(InvalidParameter, match="sequence"):
        DiscreteGaussian(0.5, [1, 1, 1, 1, 1])  # type: ignore[arg-type]


def isqrt_up(n: int, digits: int) -> int:
    return math.isqrt(n << 2 * digits) + 1


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(-5, 5)), min_size=1, max_size=5), st.integers(-6, 2)
)
def test_rounding_moves_a_vector_by_no_more_than_stated(
    pairs: list[tuple[float, float]], exponent: int
) -> None:
    grid = Fraction(2) ** exponent
    before, after = (np.array([x + s * dx for x, dx in pairs]) for s in (0, 1))
    squared = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(before, after, strict=True)), Fraction(0))
    assume(squared > Fraction(1, 10**6))
    bound = Fraction(isqrt_up(math.ceil(squared * 2**80), 0), 2**40)
    moved = int(((values.nearest(before, grid) - values.nearest(after, grid)) ** 2).sum())
    mechanism = DiscreteGaussian(1, bound, granularity=grid)
    assert moved <= 2 * mechanism.parameter_for(len(pairs)) / grid**2


def test_parameters_and_scale() -> None:
    assert DiscreteGaussian(0.125).parameter == 4
    assert DiscreteGaussian("1/2", 3).parameter == 9
    assert DiscreteGaussian(0.5).rho == Fraction(1, 2)
    assert DiscreteGaussian(0.5, 1, granularity=0.125).parameter == 1
    assert DiscreteGaussian(0.5, 1, granularity=0.125).parameter_for(4) > Fraction(25, 16)
    assert DiscreteGaussian(0.5).parameter_for(1000) == 1
    assert DiscreteGaussian(0.5).loss == ZCDP(0.5)  # of a type of its own: a rho is not an epsilon


def test_releases() -> None:
    counts = DiscreteGaussian("1/200")
    assert type(counts.release(7)) is int
    assert counts.release([[1, 2], [3, 4]]).shape == (2, 2)
    mean = DiscreteGaussian(1, 0.01, granularity=2**-20)
    assert type(mean.release(0.3)) is float
    assert (mean.release([0.25, 0.5]) * 2**20 % 1 == 0).all()
    # 100,000 draws; false alarm below 1e-11; a standard deviation off by 1.5 % is caught.
    noise = counts.release(np.full(100_000, 5)) - 5
    assert stats.chi2(100_000).sf(float((noise.astype(float) ** 2).sum()) / 100) > ALARM
    assert stats.chi2(100_000).cdf(float((noise.astype(float) ** 2).sum()) / 100) > ALARM


@pytest.mark.parametrize(
    "variance", [Fraction(1, 3), Fraction(4), Fraction(9999), Fraction(10**6), Fraction(2**40)]
)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_error_is_the_half_width(variance: Fraction, confidence: float) -> None:
    mechanism = DiscreteGaussian(1 / (2 * variance))
    m = int(mechanism.error(confidence))
    if variance < 10**7:
        k = np.arange(0, 60 * int(1 + float(variance) ** 0.5))
        p = np.exp(-(k.astype(float) ** 2) / (2 * float(variance)))
        cover = (2 * p[: m + 1].sum() - 1) / (2 * p.sum() - 1)
        less = (2 * p[: max(m - 1, 0)].sum() - 1) / (2 * p.sum() - 1)
        assert cover >= confidence
        assert m < 2 or less < confidence
    else:
        assert m == pytest.approx(stats.norm.isf((1 - confidence) / 2) * float(variance) ** 0.5, rel=1e-6)
    assert mechanism.max_error(1, confidence) == m
    assert mechanism.max_error(100, confidence) > m
    assert DiscreteGaussian(0.5, 1, granularity=0.5).error() in (2.0, 2.5)


@pytest.mark.parametrize("name", ["rho", "sensitivity", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "x", [1]])
def test_bad_parameters(name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        DiscreteGaussian(**{"rho": 1, name: bad})


@pytest.mark.parametrize("bad", [float("nan"), [1.5], True, "x", [2**70]])
def test_bad_values(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        DiscreteGaussian(1).release(bad)


def test_parameters_out_of_range() -> None:
    for parameters in ({"rho": 1, "sensitivity": 2**26}, {"rho": 10**7}, {"rho": 1, "granularity": 2**-30}):
        with pytest.raises(InvalidParameter, match="2\\^50"):
            DiscreteGaussian(**parameters)
    for call in (DiscreteGaussian(1).variance_for, DiscreteGaussian(1).max_error):
        with pytest.raises(InvalidParameter, match="d is not"):
            call(0)
    with pytest.raises(InvalidParameter, match="confidence"):
        DiscreteGaussian(1).error(1)


@pytest.mark.parametrize("rho", ["1/200", "1/8", "1/6", "1/5", "1/2", 2, 10, 1000])
@pytest.mark.parametrize("granularity", [None, 0.5])
def test_the_variance_is_that_of_the_law(rho: Any, granularity: Any) -> None:
    noise = DiscreteGaussian(rho, 1, granularity)
    grid = granularity or 1
    with mpmath.workdps(40):
        v = mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator / grid**2
        weights = [mpmath.exp(-(k**2) / (2 * v)) for k in range(int(40 * mpmath.sqrt(v)) + 3)]
        moment = sum(k**2 * weight for k, weight in enumerate(weights))
        wanted = float(2 * moment / (2 * sum(weights) - 1) * grid**2)
    assert noise.variance == pytest.approx(wanted, rel=1e-13)
    assert noise.variance <= noise.parameter


def test_the_fault_is_caught_that_the_parameter_is_taken_for_the_variance() -> None:
    noise = DiscreteGaussian(2)
    assert (noise.parameter, round(noise.variance, 3)) == (Fraction(1, 4), 0.215)
    # 10^6 draws of values in 0, 1, 4, ...: their mean is off by more than .01 with probability below 1e-9 (variance
    # of Z^2 at most .2, so that .01 is 22 standard deviations); the parameter is off by .035.
    drawn = noise.release(np.zeros(10**6, np.int64))
    assert abs(float((drawn.astype(float) ** 2).mean()) - noise.variance) < 0.01
    assert abs(float((drawn.astype(float) ** 2).mean()) - float(noise.parameter)) > 0.01
