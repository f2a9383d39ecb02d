"""Noise in a cube: its guarantee from the exact law, its error, and the parameters that it refuses."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import CubeVector, LaplaceVector


def ratio(change: tuple[int, ...], scale: float) -> float:
    """The greatest log-ratio of the law at a point and at its neighbour, over points of a grid."""
    grid = np.array(list(itertools.product(range(-6, 7), repeat=len(change))))
    far = np.abs(grid - np.array(change)).max(axis=1) - np.abs(grid).max(axis=1)
    return float(np.abs(far).max() / scale)


@pytest.mark.parametrize("change", [(1, 1), (2, -1), (0, 2), (1, 1, -1)])
def test_neighbours_differ_by_at_most_the_loss(change: tuple[int, ...]) -> None:
    size = max(map(abs, change))
    mechanism = CubeVector(4, size, len(change))
    assert ratio(change, 4) <= float(mechanism.loss)
    # The fault is caught that the sensitivity is told a step too small.
    assert ratio(change, 4) > (size - 1) / 4


def test_it_errs_less_than_laplace_noise_on_a_box() -> None:
    """At the same loss for 20 numbers that move by 1 each."""
    box, each = CubeVector(1000, 1, 20), LaplaceVector(20_000, 20)
    assert box.loss == each.loss
    assert each.half_width() > 2 * box.half_width()


@pytest.mark.parametrize("scale", [9, 40])
@pytest.mark.parametrize("dimensions", [1, 2, 7])
def test_half_widths_cover_on_the_grid(scale: int, dimensions: int) -> None:
    """By the sum over all radii."""
    radii = np.arange(scale * (dimensions + 80))
    sides = 2.0 * radii + 1
    weights = np.exp(dimensions * np.log(sides) - radii / scale)
    weights /= weights.sum()
    for confidence in (0.5, 0.95, 0.999):
        m = CubeVector(scale, 1, dimensions).half_width(confidence)
        inside = weights @ np.minimum(1, (2 * m + 1) / sides)
        assert confidence <= inside
        assert weights @ np.minimum(1, (1.8 * m - 9) / sides) < confidence, "it is not far too wide"


def test_noise_is_as_wide_as_it_says() -> None:
    """4,000 rows of 5: the share within the half-width of 0.9 is 0.9 within 7 standard errors of rows."""
    mechanism = CubeVector(500, 1, 5)
    drawn = mechanism.release(np.zeros((4000, 5), np.int64))
    inside = (np.abs(drawn) <= mechanism.half_width(Fraction(9, 10))).mean()
    assert abs(inside - 0.9) < 7 * 0.3 / np.sqrt(4000)
    assert abs(drawn.std() / mechanism.deviation - 1) < 0.1


def test_sums_saturate() -> None:
    top = np.full((1, 2), 2**63 - 1, np.int64)
    assert np.abs(CubeVector(2**40, 1, 2).release(top)).min() > 2**62


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1.5), ("x", 1, 1)])
def test_bad_parameters_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        CubeVector(*wrong)


@pytest.mark.parametrize("rows", [[[0.5, 1]], [[1, 2, 3]], [1, 2]])
def test_rows_of_another_shape_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidParameter):
        CubeVector(9, 1, 2).release(rows)
