"""Sums of products: exact without noise, and the sensitivity is that of the worst pair of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.learning import LearningBudget
from discreet.learning.statistics import STEPS, pairs_of, scaled, second_moments, sensitivity


def moved(first: tuple[float, ...], second: tuple[float, ...], squares: bool) -> float:
    """How far the vector moves when one row is replaced, in units of STEPS^2."""
    ones = [np.array([1.0, *row]) for row in (first, second)]
    a, b = pairs_of(len(first))
    wanted = (a != b) | squares
    change = ones[0][a] * ones[0][b] - ones[1][a] * ones[1][b]
    return float(np.abs(change[wanted]).sum())


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("squares", [False, True])
def test_no_pair_of_rows_moves_it_further(columns: int, squares: bool) -> None:
    """All pairs of rows on a grid of fifths; without squares the bound is reached."""
    grid = [-1, -0.6, 0, 0.6, 1] if columns == 3 else list(np.linspace(-1, 1, 11))
    rows = list(itertools.product(grid, repeat=columns))
    most = max(moved(first, second, squares) for first, second in itertools.product(rows, repeat=2))
    bound = sensitivity(columns, columns * squares) / STEPS**2
    assert most <= bound
    assert squares or most == bound


def test_a_bound_that_forgets_the_sums_is_too_small() -> None:
    """Planted: products alone, as if the column of ones were not there."""
    assert moved((1.0, 1.0), (-1.0, 1.0), squares=False) > max(2 * f * (2 - f) for f in range(3))


def test_sums_are_exact_but_for_the_noise() -> None:
    """At epsilon 10^5 the noise is some 10^-5 rows: no number is off by 0.01 but with a chance below e^-100."""
    values = np.random.default_rng(1).uniform(-1, 1, (500, 3))
    rows = scaled(values, [(-1, 1)] * 3)
    found, scale = second_moments(rows, [True, True, False], 10**5, LearningBudget(10**5), "test")
    whole = np.column_stack([np.ones(500), rows / STEPS])
    exact = whole.T @ whole
    exact[3, 3] = 500  # was not asked for
    assert scale < 1e-3
    assert np.abs(found - exact).max() < 0.01


def test_noise_has_the_scale_that_is_told() -> None:
    """Of 20,000 products of nothing, the mean size is the scale: 5 % off has a chance below 1e-9; half is seen."""
    rows = np.zeros((1, 200), np.int64)
    found, scale = second_moments(rows, [True] * 200, 1, LearningBudget(1), "test")
    sizes = np.abs(found[np.triu_indices(201, 1)])
    assert len(sizes) == 20_100
    assert 0.95 < sizes.mean() / scale < 1.05


def test_odd_values_are_points_on_the_grid() -> None:
    odd = scaled([[np.nan, 5.0], [np.inf, -np.inf], [-0.0, 1e308]], [(-1, 1), (0, 10)])
    assert odd.tolist() == [[0, 0], [STEPS, -STEPS], [0, STEPS]]


@pytest.mark.parametrize(
    "bounds", [[(0, 1)], [(1, 0), (0, 1)], [(0, 0), (0, 1)], [0, 1], [(0, 1, 2), (0, 1)]]
)
def test_bounds_that_do_not_fit(bounds: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidParameter):
        scaled([[0.5, 0.5]], bounds)


def test_units_of_several_rows_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="public number"):
        second_moments(
            np.zeros((3, 1), np.int64), [True], 1, LearningBudget(1, neighbours="add_remove"), "test"
        )
