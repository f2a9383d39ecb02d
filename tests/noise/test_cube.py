"""Cube noise: its law from every radius, exactly, and by draws."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest

from discreet.noise.cube import accepted, chance, cube
from tests.depth import DEEP
from tests.noise.tape import every_tape


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_the_radius_that_is_kept_makes_the_law(dimensions: int) -> None:
    """P(R = r) of d + 1 geometrics, kept with its chance, is (2r + 1)^d q^r times what no radius changes."""
    for r in range(50):
        weight = comb(r + dimensions, dimensions) * chance(r, dimensions)
        assert weight * 2**dimensions * factorial(dimensions) == (2 * r + 1) ** dimensions


def test_a_radius_is_kept_with_its_chance_by_every_tape() -> None:
    for radius, dimensions in ((0, 1), (1, 1), (3, 1), (1, 2), (2, 2)):
        found, undecided = every_tape(lambda source: accepted(source, radius, dimensions, 1), 14)  # noqa: B023
        right = chance(radius, dimensions)
        assert found[True] <= right <= found[True] + undecided
        assert undecided < Fraction(1, 50)


def test_the_law_of_points_by_draws() -> None:
    """6,000 points of 2 at scale 2, by the largest coordinate: within 7 standard errors, an alarm below 1e-9.

    A radius of d geometrics, not d + 1, moves the first cell by more than 40 of them; of 12,000 points in a deep run by
    more than 60.
    """
    many, moved = (12_000, 60) if DEEP else (6_000, 40)
    points = np.abs(np.array(cube(Fraction(2), many, 2)))
    largest = points.max(axis=1)
    sizes = np.arange(400)
    shells = np.where(sizes == 0, 1, 8 * sizes) * np.exp(-sizes / 2)
    law = shells / shells.sum()
    for m in range(12):
        deviation = np.sqrt(law[m] * (1 - law[m]) / len(points))
        assert abs((largest == m).mean() - law[m]) < 7 * deviation
    planted = sizes + 1.0  # the radius of one geometric less
    planted = planted * np.exp(-sizes / 2) / (planted * np.exp(-sizes / 2)).sum()
    assert abs(planted[0] - law[0]) > moved * np.sqrt(law[0] / len(points))


def test_a_point_is_symmetric_and_coordinates_are_alike() -> None:
    """Means of 4,000 points (8,000 in a deep run) within 7 standard errors of 0, and both spreads within a tenth."""
    many = 8_000 if DEEP else 4_000
    points = np.array(cube(Fraction(50), many, 2))
    right = 50 * np.sqrt(3 * 4 / 3)
    assert np.abs(points.mean(axis=0)).max() < 7 * right / np.sqrt(many)
    assert np.abs(points.std(axis=0) / right - 1).max() < 0.1
