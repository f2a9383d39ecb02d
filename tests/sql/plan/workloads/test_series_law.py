"""The law of the noise of a series: its layout, its draws, and the half-widths of single groups."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.planning.ranges.factors import Factors
from discreet.planning.ranges.families import RUNNING, sums
from discreet.sql.plan.workloads.series_law import SeriesLaw

FACTORS = Factors(12, ((4, 60),), 1)
LAW = SeriesLaw(FACTORS, (RUNNING,), (2, 12, 3), 1, (11, *range(11)), (Fraction(2), Fraction(6)))


def test_series_are_put_in_order_and_back() -> None:
    table = np.random.default_rng(1).integers(0, 99, (72, 5))
    series = LAW.in_order(table)
    assert series.shape == (2, 3, 5, 12)
    assert np.array_equal(series[1, 2, :, 0], table.reshape(2, 12, 3, 5)[1, 11, 2])
    assert np.array_equal(LAW.as_groups(series), table)
    assert np.array_equal(LAW.as_groups(np.stack([series, series]))[1], table)


def test_draws_have_the_variances_of_the_estimate_and_of_its_running_totals() -> None:
    """20,000 draws of 6 series: the standard error of a mean square is below 1 %, as the kurtosis is at most 6."""
    drawn = LAW.again(1, 1, 20_000, 5).reshape(20_000, 2, 12, 3)[:, :, list(LAW.order)]
    totals = sums(np.moveaxis(drawn, 2, 0), RUNNING)
    assert abs(np.mean(drawn**2) / (36 * LAW.variance) - 1) < 0.07
    assert abs(np.mean(totals**2) / (36 * FACTORS.variance(RUNNING)) - 1) < 0.07


def test_single_groups_have_the_law_of_the_one_with_the_most_noise() -> None:
    width = LAW.half_width(np.array([1.0]), 0, 0.95)
    drawn = LAW.sample_noise(0, (200_000,), np.random.default_rng(7))
    outside = np.mean(np.abs(drawn) > width)
    assert abs(outside - 0.05) < 0.006  # twelve standard errors, and the error of the formula
    assert np.isclose(drawn.var(), 4 * 2 * FACTORS.law[0].max(), rtol=0.06)


def test_the_same_seed_draws_the_same_noise() -> None:
    assert np.array_equal(LAW.again(0, 2, 3, 9), LAW.again(0, 2, 3, 9))
    assert LAW.again(0, 2, 3, 9).shape == (3, 72, 2)
    assert LAW.drawn_cells == 6 * FACTORS.nodes
    assert LAW.bits(0) == 11
