"""Lines by least squares, by directions and by the mean alone: each is near the truth where it is taken."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.learning import LearningBudget
from discreet.learning.centred import Centred
from discreet.learning.scores import fitted_line, line_of, solved
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(3)


def grid(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.rint(np.clip(values, -1, 1) * STEPS).astype(np.int64)
    return found


def columns(rows: int, width: int) -> np.ndarray:
    x = RNG.normal(0, 0.3, (rows, width))
    return grid(np.column_stack([x, x[:, :2] @ [0.4, -0.2] + 0.1]))


def test_least_squares_where_people_are_many() -> None:
    """Of whole rows, which have moments, and of shortened ones, which have none."""
    for whole in (None, False):
        budget = LearningBudget(50)
        found = fitted_line(columns(20_000, 3), Fraction(50), budget, "test", whole=whole, to_units=np.eye(4))
        assert np.abs(found.weights - [0.4, -0.2, 0]).max() < 0.02
        assert abs(found.intercept - 0.1) < 0.02
        assert (found.moments is None) is (whole is False)


def test_directions_where_products_would_be_noise() -> None:
    """40 columns, 4,000 people, epsilon 8: the line foretells most of the target, and has no moments."""
    rows = columns(4000, 40)
    found = fitted_line(rows, Fraction(8), LearningBudget(8), "test")
    assert found.moments is None
    told = found.intercept + rows[:, :-1] / STEPS @ found.weights
    assert np.corrcoef(told, rows[:, -1])[0, 1] > 0.8


def test_the_mean_alone_where_there_is_noise_alone() -> None:
    found = fitted_line(columns(50, 20), Fraction(1, 10), LearningBudget(1), "test")
    assert not found.weights.any()
    assert -1 <= found.intercept <= 1


def test_the_sums_of_a_slope_move_by_six_at_most() -> None:
    """All pairs on a grid of tenths; the bound of 6 is reached, so that one of 5 is too small."""
    tenths = np.linspace(-1, 1, 21)
    f, t = (one.ravel() for one in np.meshgrid(tenths, tenths))
    parts = np.column_stack([f, 2 * f * f - 1, f * t, t])
    change = np.abs(parts[:, None] - parts).sum(axis=2)
    assert 6 - 1e-9 < change.max() < 6 + 1e-9


def test_a_system_that_noise_made_singular_has_a_solution() -> None:
    assert np.isfinite(solved(np.zeros((2, 2)), np.ones(2), 1.0)).all()
    nothing = Centred(np.zeros((3, 3)), 5.0, np.zeros(2), np.ones(2))
    assert np.isfinite(line_of(nothing).weights).all()
