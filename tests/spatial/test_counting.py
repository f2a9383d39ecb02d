"""Heat maps: the right cells, noise of the right scale, hot spots found, and no nest betrayed."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.spatial import Grid, adaptive_map, heat_map, read_area
from tests import shared
from tests.depth import DEEP
from tests.spatial.invented import AREA, session, sightings, truth


@pytest.mark.parametrize("size", ["10km", "0.25deg"])
def test_every_cell_of_the_area_has_its_number(size: str) -> None:
    table = sightings(9000)
    asked = session(table)
    made = heat_map(asked, "data", size, 10**4, area=AREA)  # of 1,000 cells none errs by 1: e^-500
    exact = truth(table, made.grid)
    assert {(cell.column, cell.row): cell.value for cell in made.cells if cell.value} == exact
    assert isinstance(made.grid, Grid)
    (left, low), (right, high) = made.grid.index(*AREA[:2]), made.grid.index(AREA[2] - 1e-9, AREA[3] - 1e-9)
    assert len(made.cells) == (right - left + 1) * (high - low + 1)
    some = heat_map(asked, "data", size, 10**4, area=AREA, where="lat > 52 -- north")
    assert {(cell.column, cell.row): cell.value for cell in some.cells if cell.value} == truth(
        table, made.grid, 52
    )
    lats = heat_map(asked, "data", size, 10**4, area=AREA, total="lat")
    assert math.isclose(sum(cell.value for cell in lats.cells), 52 * sum(exact.values()), rel_tol=0.01)


def test_hot_spots_are_found_and_noise_is_not() -> None:
    """All 460 intervals hold together at 99.9999999 %: a cell that is wrong has a chance below 1e-9."""
    table = sightings()
    made = heat_map(session(table, 4), "data", "6km", 0.5, area=AREA, confidence=1 - 1e-9, max_rows=4)
    assert 10 < len(made.hot_spots) < 100
    for cell in made.hot_spots[:3]:
        x, y = (cell.box[0] + cell.box[2]) / 2, (cell.box[1] + cell.box[3]) / 2
        assert min(math.hypot(x - 5.1, y - 52.1), math.hypot(x - 4.6, y - 51.9)) < 0.2
    nothing = heat_map(session(table.slice(0, 0)), "data", "6km", 0.5, area=AREA, confidence=1 - 1e-9)
    assert not nothing.hot_spots
    assert all(cell.explained for cell in nothing.cells)


@pytest.mark.parametrize("made", [heat_map, adaptive_map])
def test_a_count_below_zero_is_made_by_noise(made: Any) -> None:
    """At a confidence of 1 % the ends lie at the number; half of 30 numbers of no rows are below zero.

    Five of them are enough. A deep run makes 40 maps of one cell of either kind.
    """
    asked, below = session(sightings(1000).slice(0, 0)), 0
    # 30 cells, which an adaptive map would put together.
    turns, area = (30, (5, 52, 5.5, 52.5)) if made is adaptive_map else (1, (4, 51, 7, 53.5))
    if DEEP:
        turns, area = 40, (5, 52, 5.5, 52.5)
    for turn in range(turns):
        one = made(asked, "data", "0.5deg", f"0.1{turn:02d}1", area=area, confidence=0.01)
        cells = [cell for cell in one.cells if cell.value < 0]
        below += len(cells)
        assert all(cell.low <= cell.value <= 0 <= cell.high and cell.explained for cell in cells)
        if below >= 5 and not DEEP:
            break
    assert below


def test_a_sum_below_zero_may_be_found() -> None:
    table = pa.table({"observer": range(500), "lat": [52.1] * 500, "lng": [5.1] * 500, "v": [-1] * 500})
    bounds = {"lat": (50, 54), "lng": (3, 8), "v": (-1, 1)}
    asked = shared.protect(table, privacy_unit="observer", max_rows=1, budget=1, bounds=bounds)
    (cell,) = heat_map(asked, "data", "0.5deg", 1, area=(5, 52, 5.5, 52.5), total="v").cells
    assert cell.high < 0  # noise of scale 1: e^-400
    assert not cell.explained


def test_a_nest_is_not_betrayed() -> None:
    """Each of ten observers saw one nest four times, alone in its cell, and the attacker knows all else.

    At epsilon 1/2 no guess is right in more than e^.5 / (1 + e^.5) = 62.3 % of the cases. Of 200 guesses, more than 155
    are right with a chance below 1e-9 at that rate; without noise all are, and with noise for one row (scale 2) 84 %.
    """
    others = pa.table({"observer": [1, 2], "lat": [51.31, 51.32], "lng": [5.31, 5.32]})
    cells = [(52.21 + 0.5 * (cell % 2), 5.21 + 0.5 * (cell // 2)) for cell in range(10)]
    rows = [(7 + cell, *place) for cell, place in enumerate(cells) for _ in range(4)]
    names = ("observer", "lat", "lng")
    nests = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    right = 0
    for there in (False, True):
        asked = session(pa.concat_tables([others, nests]) if there else others, 4)
        for turn in range(10):
            made = heat_map(asked, "data", "0.5deg", f"0.5{turn:03d}1", area=(5.0, 52.0, 7.5, 53.0))
            assert len(made.cells) == 10
            right += sum((cell.value > 2) == there for cell in made.cells)
    assert right <= 155


def test_the_map_is_one_charge_and_refusals_are_free() -> None:
    asked = session(sightings(300), budget=1000)
    before = asked.budget.spent
    heat_map(asked, "data", "10km", "1/2", area=AREA)
    assert asked.budget.spent - before == 0.5
    for wrong in ({"where": "lat > 52) OR (1 = 1"}, {"size": "1 mile"}, {"area": (6, 51, 5, 52)}):
        given: dict[str, Any] = {"size": "10km", "area": AREA, **wrong}
        with pytest.raises(InvalidParameter):
            heat_map(asked, "data", epsilon=1, **given)
    with pytest.raises(InvalidParameter, match="154,975,485 cells"):
        heat_map(asked, "data", "10m", 1, area=AREA)
    with pytest.raises(QueryRefused):
        heat_map(asked, "data", "10km", 1, area=AREA, x="longitude")
    with pytest.raises(BudgetExceeded):
        heat_map(asked, "data", "10km", 2000, area=AREA)
    assert asked.budget.spent - before == 0.5


@pytest.mark.parametrize("area", ["4,51,6,53", (4, 51, 6), (4, 51, 4, 53), (4, math.nan, 6, 53), None, 7])
def test_an_area_is_four_numbers(area: object) -> None:
    with pytest.raises(InvalidParameter):
        read_area(area)


def test_points_that_are_no_points_are_in_no_way_special() -> None:
    """NULL and NaN have no cell; what is beyond the bounds is clamped to them."""
    bad = pa.table({"observer": range(5), "lat": [None, math.nan, 90.0, -math.inf, 52.0], "lng": [5.0] * 5})
    made = heat_map(session(bad), "data", "1deg", 10**4, area=(3, 50, 8, 54))
    assert sum(cell.value for cell in made.cells) in (1, 2)


def test_a_map_of_people_counts_the_unit_and_no_other_column() -> None:
    table = sightings(50)
    with session(table, 4) as asked:
        with pytest.raises(InvalidParameter, match="a map counts people by observer"):
            heat_map(asked, "data", "10km", 1, area=AREA, people="lat")
        assert asked.budget.spent == 0
        assert heat_map(asked, "DATA", "10km", 1, area=AREA, people="Observer").name == "people"
    each = shared.protect(table, privacy_unit="row", budget=1, bounds={"lat": (50, 54), "lng": (3, 8)})
    with each, pytest.raises(InvalidParameter, match="Each row of data is one unit"):
        heat_map(each, "data", "10km", 1, area=AREA, people="observer")


def test_the_unit_of_a_table_of_a_server_is_asked_for() -> None:
    class Remote:
        def tables(self) -> list[dict[str, Any]]:
            return [
                {"table_name": "seen", "privacy_unit": "observer"},
                {"table_name": "here", "privacy_unit": None},
            ]

        sql = None

    remote: Any = Remote()
    with pytest.raises(InvalidParameter, match="counts people by observer"):
        heat_map(remote, "Seen", "10km", 1, area=AREA, people="lat")
