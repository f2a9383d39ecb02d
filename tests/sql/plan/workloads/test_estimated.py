"""The law of an estimated cell: its variance, its half-width, and the binary places that it is rounded to."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.planning.marginal_shares import MarginalStrategy
from discreet.sql.plan.workloads.estimated import FINE_BITS, MOST_BITS, Estimated

HALF = Fraction(1, 2)
SHARED = MarginalStrategy((3, 4), ((), (0,), (0, 1)), (((0,), HALF), ((0, 1), HALF)))
FINEST = MarginalStrategy((3, 4), ((), (0, 1)), (((0, 1), Fraction(1)),))


def table(strategy: MarginalStrategy, axes: tuple[int, ...], scale: int = 4) -> Estimated:
    return Estimated(strategy, axes, (Fraction(scale),))


@pytest.mark.parametrize("strategy", [SHARED, FINEST])
@pytest.mark.parametrize("axes", [(), (0,), (0, 1), (1, 0)])
def test_the_law_has_the_variance_of_the_algebra(strategy: MarginalStrategy, axes: tuple[int, ...]) -> None:
    own = table(strategy, axes)
    assert own.variance == pytest.approx(2 * strategy.measured.variance(own.keys))


@pytest.mark.parametrize("strategy", [SHARED, FINEST])
@pytest.mark.parametrize("axes", [(), (0,), (0, 1)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_half_width_is_the_exact_one_and_that_of_many_is_near(
    strategy: MarginalStrategy, axes: tuple[int, ...], confidence: float
) -> None:
    own = table(strategy, axes)
    scales, counts = own.law
    exact = 4 * half_width(np.repeat(scales, counts.astype(int)), confidence)
    assert own.half_width(np.ones(1), 0, confidence) == pytest.approx(exact, rel=1e-6)
    assert float(own.half_widths(np.ones(1), np.zeros(1, np.intp), confidence)) == pytest.approx(
        exact, rel=0.03
    )


def test_only_the_one_marginal_that_is_measured_is_plain() -> None:
    assert table(FINEST, (1, 0)).plain
    assert not table(FINEST, (0,)).plain
    assert not table(SHARED, (0, 1)).plain


def test_rounding_is_far_below_the_noise_and_sums_of_integers_are_whole() -> None:
    assert table(FINEST, ()).bits(0) == 0
    assert table(SHARED, ()).bits(0) == FINE_BITS + math.ceil(math.log2(12) / 2) - 2
    assert table(SHARED, (), 2**40).bits(0) == 0
    assert Estimated(SHARED, (), (Fraction(1, 2**40),)).bits(0) == MOST_BITS
