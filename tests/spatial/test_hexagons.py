"""Maps in hexagons: the right numbers, outlines that close, people counted in few cells, pictures."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import h3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InvalidParameter, QueryRefused
from discreet.spatial import Hexagons, heat_map, hexagon_map
from discreet.spatial.heat_map import HeatMap
from tests.spatial.invented import AREA, session, sightings


def made(resolution: int = 6, table: pa.Table | None = None, epsilon: object = 500) -> HeatMap:
    return hexagon_map(session(table or sightings(9000)), "data", resolution, epsilon, area=AREA)  # type: ignore[arg-type]


def inside(table: pa.Table) -> list[tuple[int, float, float]]:
    west, south, east, north = AREA
    rows = zip(*(table[name].to_pylist() for name in ("observer", "lat", "lng")), strict=True)
    return [row for row in rows if south <= row[1] < north and west <= row[2] < east]


def test_every_hexagon_of_the_area_has_its_number() -> None:
    """At this epsilon, of 600 cells with noise of scale 20/500 one is off with a chance of 600 e^-12.5: below 0.003,
    so the total error of all is bounded, by 3, which has a chance below 1e-9."""
    table = sightings(9000)
    exact = Counter(h3.latlng_to_cell(lat, lng, 6) for _, lat, lng in inside(table))
    found = made(6, table)
    assert sum(abs(cell.value - exact[cell.name]) for cell in found.cells) <= 3
    assert set(exact) <= {cell.name for cell in found.cells}
    assert len({cell.place for cell in found.cells}) == len(found.cells)


def test_outlines_close_and_hold_their_middle() -> None:
    for cell, ring in zip((found := made(5)).cells, found.rings(), strict=True):
        assert ring[0] == ring[-1]
        lat, lng = h3.cell_to_latlng(cell.name)
        assert min(x for x, _ in ring) < lng < max(x for x, _ in ring)
        assert min(y for _, y in ring) < lat < max(y for _, y in ring)
        assert math.dist(cell.middle, (lng, lat)) < 0.1
    beyond = Hexagons(2).ring(h3.latlng_to_cell(0, 180, 2))
    assert max(x for x, _ in beyond) - min(x for x, _ in beyond) < 10


def test_smoothing_takes_the_cells_around() -> None:
    plain = made(5)
    smooth = plain.smooth(1)
    value = {cell.name: cell.value for cell in plain.cells}
    for cell in smooth.cells:
        near = [value[name] for name in h3.grid_disk(cell.name, 1) if name in value]
        assert math.isclose(cell.value, sum(near) / len(near), abs_tol=1e-9)
    assert "up to 7 cells" in smooth.notes[-1]
    assert "off where they differ" in str(smooth.plot().to_dict()["title"])
    assert "off where they differ" not in str(plain.plot().to_dict()["title"])


def test_every_form_names_the_cells(tmp_path: Path) -> None:
    found = made(5)
    first = found.cells[0].name
    for ending in ("geojson", "parquet", "json"):
        assert found.save(tmp_path / f"map.{ending}").stat().st_size > 1000
    collection = json.loads((tmp_path / "map.geojson").read_text())
    assert collection["features"][0]["properties"]["cell"] == first
    assert first in pq.read_table(tmp_path / "map.parquet").column("cell").to_pylist()
    drawn = (tmp_path / "map.json").read_text()
    assert "geoshape" in drawn
    assert all(cell.name in drawn for cell in found.cells)


def test_people_are_counted_once_in_a_cell_and_in_few_cells() -> None:
    """Each of 300 people has two rows in each of six cells; with four cells of each the total is 4 x 300."""
    spots = [(52.0 + 0.1 * at, 5.05) for at in range(6)]
    rows = [(who, lat, lng) for who in range(300) for lat, lng in spots for _ in range(2)]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("observer", "lat", "lng"))})
    asked = session(table, 12)
    given = {"area": (5.0, 51.9, 5.1, 52.7), "people": "observer"}
    few = heat_map(asked, "data", "0.1deg", 400, max_groups=4, **given)  # type: ignore[arg-type]
    every = hexagon_map(asked, "data", 6, 400, max_groups=6, **given)  # type: ignore[arg-type]
    assert few.name == every.name == "people"
    assert abs(sum(cell.value for cell in few.cells) - 1200) <= 5
    assert abs(sum(cell.value for cell in every.cells) - 1800) <= 5


def test_the_survey_its_grid_its_price_and_its_hot_spots() -> None:
    """3 km, epsilon 1/2, four cells of each observer: a wrong hot spot has a chance below 1e-9."""
    asked = session(sightings(60_000), 20)
    before = asked.budget.spent
    found = heat_map(
        asked, "data", "3km", "1/2", area=AREA, people="observer", max_groups=4, confidence=1 - 1e-9
    )
    assert asked.budget.spent - before == 0.5
    width = {round(cell.high - cell.value) for cell in found.cells}
    assert len(width) == 1
    assert abs(width.pop() - 8 * math.log(len(found.cells) / 1e-9)) < 12
    assert found.hot_spots
    for cell in found.hot_spots:
        assert min(math.dist(cell.middle, spot) for spot in ((5.1, 52.1), (4.6, 51.9))) < 0.3


@pytest.mark.parametrize("resolution", [-1, 16, True, 7.0, "7", None])
def test_a_resolution_is_a_whole_number(resolution: object) -> None:
    with pytest.raises(InvalidParameter, match="resolution"):
        Hexagons.read(resolution)


def test_refusals_are_free() -> None:
    asked = session(sightings(300))
    with pytest.raises(InvalidParameter, match="not both"):
        heat_map(asked, "data", "1deg", 1, area=AREA, total="lat", people="observer")
    with pytest.raises(QueryRefused, match="more than 1,000,000 cells"):
        hexagon_map(asked, "data", 15, 1, area=AREA)
    assert asked.budget.spent == 0
