"""Reference systems: units, order of axes, ends of the earth; none that does not fit is charged."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.spatial import Grid, adaptive_map, heat_map
from discreet.spatial.projection import Projection
from tests import shared

pytest.importorskip("pyproj")

PLACES = [
    ("EPSG:28992", (155_000, 463_000), (5.387, 52.155)),  # the tower of Amersfoort
    ("EPSG:3857", (0, 0), (0, 0)),
    ("EPSG:2180", (500_000, 459_309), (19.0, 52.0)),  # its own order is north, east
    ("EPSG:25832", (500_000, 5_538_631), (9.0, 50.0)),
    ("EPSG:4258", (5.0, 52.0), (5.0, 52.0)),  # its own order is latitude, longitude
]


@pytest.mark.parametrize(("crs", "point", "wanted"), PLACES)
def test_x_is_to_the_east_in_every_system(
    crs: str, point: tuple[float, float], wanted: tuple[float, float]
) -> None:
    (found,) = Projection(crs).degrees([point])
    assert found == pytest.approx(wanted, abs=2e-3)


def test_other_degrees_are_degrees() -> None:
    area = (4.0, 50.0, 6.0, 54.0)
    for crs in ("EPSG:4258", "OGC:CRS84", "EPSG:4269"):
        for size in ("0.1deg", "3km"):
            grid, usual = Grid.read(size, area, crs), Grid.read(size, area)
            assert (grid.width, grid.height) == (usual.width, usual.height)
    (ring,) = Grid.read("0.5deg", area, "EPSG:4258").rings([(5.0, 52.0, 5.5, 52.5)])
    assert ring[0] == pytest.approx((5.0, 52.0), abs=1e-4)


def test_a_size_in_metres_is_one_in_feet_too() -> None:
    grid = Grid.read("3km", (9e5, 1e5, 1e6, 2e5), "EPSG:2263")
    assert float(grid.width) * 1200 / 3937 == pytest.approx(
        3000
    )  # the foot of surveyors of the United States
    (ring,) = grid.rings([grid.box(95, 15)])
    assert math.dist(ring[1], ring[2]) * 111_195 == pytest.approx(3000, rel=0.01)


ONE = pa.table({"x": [1.0], "y": [2.0]})


@pytest.mark.parametrize(
    ("crs", "area", "said"),
    [
        ("EPSG:99999", (0, 0, 1e4, 1e4), "does not know"),
        ("no system", (0, 0, 1e4, 1e4), "does not know"),
        ("EPSG:4978", (0, 0, 1e4, 1e4), "neither"),  # from the middle of the earth
        ("EPSG:4807", (0, 40, 5, 50), "neither"),  # grads from Paris
        ("EPSG:5703", (0, 0, 1e4, 1e4), "neither"),  # heights
        ("EPSG:32631", (1e9, 1e9, 1.1e9, 1.1e9), "beyond the ends"),
        ("EPSG:28992", (4.3, 51.5, 6.0, 52.7), "EPSG:28992 is not used"),  # degrees, where it has metres
        ("EPSG:3857", (4.3, 51.5, 6.0, 52.7), "smaller than one cell"),
    ],
)
def test_a_system_that_does_not_fit_is_refused_before_the_charge(
    crs: str, area: tuple[float, float, float, float], said: str
) -> None:
    session = shared.protect(
        ONE, privacy_unit="row", budget=1, bounds={"x": (0, 2 * area[2]), "y": (0, 2 * area[3])}
    )
    for ask in (heat_map, adaptive_map):
        with pytest.raises(InvalidParameter, match=said):
            ask(session, "data", "1000km", 0.5, area=area, x="x", y="y", crs=crs)
    assert session.budget.spent == 0


@pytest.mark.parametrize(
    ("crs", "area"),
    [
        ("EPSG:28992", (100_000, 400_000, 200_000, 500_000)),
        ("EPSG:28992", (-50_000, 200_000, 100_000, 400_000)),  # one corner is in the country
        ("EPSG:3832", (3e6, -1e6, 4e6, 1e6)),  # around the Pacific, across the date line
        ("+proj=laea +lat_0=52 +lon_0=5", (-1e5, -1e5, 1e5, 1e5)),  # nobody says where it is used
    ],
)
def test_areas_where_a_system_is_used_are_taken(crs: str, area: tuple[float, float, float, float]) -> None:
    pytest.importorskip("pyproj")
    assert Grid.read("10km", area, crs).crs == crs


def test_points_beyond_the_area_are_in_no_cell() -> None:
    table = pa.table({"x": [150_000.0, 99_999.9, 200_000.0, 9e9, None], "y": [450_000.0] * 5})
    session = shared.protect(
        table, privacy_unit="row", budget=400, bounds={"x": (0, 300_000), "y": (300_000, 600_000)}
    )
    area = (100_000, 400_000, 200_000, 500_000)
    made = heat_map(session, "data", "50km", 400, area=area, x="x", y="y", crs="EPSG:28992")
    assert sum(round(cell.value) for cell in made.cells) == 1  # noise of scale 1/400
    assert len(made.cells) == 4


def test_a_map_without_pyproj_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(InvalidParameter, match="need pyproj"):
        Grid.read("3km", (0, 0, 1e4, 1e4), "EPSG:28992")
    assert json.dumps(Grid.read("3km", (4, 50, 6, 54)).rings([(0, 0, 1, 1)]))
