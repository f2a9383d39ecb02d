"""Grids: sizes, cells of points, outlines."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.errors import InvalidParameter
from discreet.spatial import Grid

AREA = (4.0, 50.0, 6.0, 54.0)
DUTCH = (100_000.0, 400_000.0, 200_000.0, 500_000.0)
"""In metres of EPSG:28992."""


def test_a_size_in_degrees_is_the_size() -> None:
    assert (Grid.read("0.05deg", AREA).width, Grid.read(" 0.05 deg ", AREA).height) == (Fraction("0.05"),) * 2


@pytest.mark.parametrize(("size", "metres"), [("3km", 3000), ("500m", 500), ("0.25km", 250)])
def test_a_size_in_metres_is_square_in_the_middle(size: str, metres: int) -> None:
    grid = Grid.read(size, AREA)
    assert math.isclose(float(grid.height) * 111195.08, metres, rel_tol=1e-9)
    assert math.isclose(float(grid.width) * 111195.08 * math.cos(math.radians(52)), metres, rel_tol=1e-9)


def test_a_point_is_in_its_cell_and_cells_share_ends() -> None:
    grid = Grid.read("3km", AREA)
    for x, y in [(4.9, 52.3), (-0.001, -33.2), (5.0, 50.0)]:
        column, row = grid.index(x, y)
        west, south, east, north = grid.box(column, row)
        assert west <= x < east
        assert south <= y < north
        assert grid.box(column + 1, row + 1)[:2] == (east, north)
    assert grid.coarser(8).index(4.9, 52.3) == tuple(place // 8 for place in grid.index(4.9, 52.3))


@pytest.mark.parametrize("size", ["3", "km", "0km", "-1km", "3 miles", "1e3m", "3kmx", ""])
def test_other_sizes_are_refused(size: str) -> None:
    with pytest.raises(InvalidParameter, match="cell"):
        Grid.read(size, AREA)


@pytest.mark.parametrize(("crs", "area"), [("EPSG:4326", AREA), ("EPSG:28992", DUTCH)])
def test_a_size_of_which_nothing_is_left_is_refused(
    crs: str, area: tuple[float, float, float, float]
) -> None:
    """The cells of a map would be divided by 0."""
    pytest.importorskip("pyproj")
    with pytest.raises(InvalidParameter, match="too small"):
        Grid.read("0.0000000000001m", area, crs)


def test_an_area_of_more_cells_than_a_map_has_is_refused() -> None:
    Grid.read("0.004deg", (0, 50, 4, 54))  # a million
    with pytest.raises(InvalidParameter, match=r"has 1,001,000 cells of 0\.004deg, and a map has 1,000,000"):
        Grid.read("0.004deg", (0, 50, 4.001, 54))


def test_degrees_do_not_fit_a_projection_nor_metres_a_pole() -> None:
    with pytest.raises(InvalidParameter, match="not degrees"):
        Grid.read("1deg", AREA, "EPSG:28992")
    with pytest.raises(InvalidParameter, match="pole"):
        Grid.read("1km", (0, 89.9, 1, 90))


def test_outlines_end_at_the_poles() -> None:
    grid = Grid.read("20deg", (-20, -90, 20, 90))
    rows = range(-5, 5)
    rings = grid.rings([grid.box(0, row) for row in rows])
    ends = [(ring[0][1], ring[2][1]) for ring in rings]
    assert ends == [(-90, -80), *((20 * row, 20 * row + 20) for row in rows[1:-1]), (80, 90)]
    assert grid.index(0, 90) == (0, 4), "the pole itself has a cell"


def test_outlines_of_a_projection_are_degrees() -> None:
    pytest.importorskip("pyproj")
    grid = Grid.read("1km", DUTCH, "EPSG:28992")
    ring = grid.rings([grid.box(155, 463)])[0]  # the tower of Amersfoort is at 155 km, 463 km, by definition
    assert ring[0] == ring[-1]
    assert math.isclose(ring[0][0], 5.387, abs_tol=1e-3)
    assert math.isclose(ring[0][1], 52.155, abs_tol=1e-3)
    with pytest.raises(InvalidParameter, match="does not know"):
        Grid.read("1km", (0, 0, 1, 1), "EPSG:1")
