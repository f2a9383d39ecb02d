"""Columns on the grid: odd values have a place, and bounds that do not fit are refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.learning.statistics import STEPS, scaled


def test_odd_values_are_points_on_the_grid() -> None:
    odd = scaled([[np.nan, 5.0], [np.inf, -np.inf], [-0.0, 1e308]], [(-1, 1), (0, 10)])
    assert odd.tolist() == [[0, 0], [STEPS, -STEPS], [0, STEPS]]


@pytest.mark.parametrize(
    "bounds", [[(0, 1)], [(1, 0), (0, 1)], [(0, 0), (0, 1)], [0, 1], [(0, 1, 2), (0, 1)]]
)
def test_bounds_that_do_not_fit(bounds: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidParameter):
        scaled([[0.5, 0.5]], bounds)
