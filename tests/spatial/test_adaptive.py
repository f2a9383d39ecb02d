"""Adaptive grids: cells that fill the area once, counts that add up, intervals that hold, less error."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from discreet.spatial import HeatMap, adaptive_map, heat_map
from discreet.spatial import adaptive as adaptive
from tests.spatial.invented import AREA, finest, session, sightings, truth


def error(made: HeatMap, exact: Counter[tuple[int, int]]) -> float:
    """The rms error of the finest cells, where a large cell gives its share to each."""
    squares = [
        (cell.value / cell.side**2 - exact[(cell.column * cell.side + i, cell.row * cell.side + j)]) ** 2
        for cell in made.cells
        for i in range(cell.side)
        for j in range(cell.side)
    ]
    return math.sqrt(sum(squares) / len(squares))


def inside(made: HeatMap, exact: Counter[tuple[int, int]]) -> list[bool]:
    return [
        cell.low - 1e-6
        <= sum(
            exact[(cell.column * cell.side + i, cell.row * cell.side + j)]
            for i in range(cell.side)
            for j in range(cell.side)
        )
        <= cell.high + 1e-6
        for cell in made.cells
    ]


@pytest.mark.parametrize("epsilon", ["1/2", 3])
def test_cells_fill_the_area_once_and_hold_together(epsilon: str) -> None:
    """A map whose intervals do not all hold has a chance below 1e-9."""
    table = sightings()
    made = adaptive_map(session(table, 20), "data", "2km", epsilon, area=AREA, confidence=1 - 1e-9)
    seen = Counter(
        (cell.column * cell.side + i, cell.row * cell.side + j)
        for cell in made.cells
        for i in range(cell.side)
        for j in range(cell.side)
    )
    assert set(seen.values()) == {1}
    assert set(truth(table, made.grid)) <= set(seen)
    assert len({cell.side for cell in made.cells}) > 1
    assert all(inside(made, truth(table, made.grid)))


def test_too_short_intervals_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a tenth of their length, of 200 intervals some miss: all hold with a chance below 1e-9."""
    width = adaptive._error
    monkeypatch.setattr(adaptive, "_error", lambda *given: width(*given) / 40)
    table = sightings()
    made = adaptive_map(session(table, 20), "data", "2km", 3, area=AREA)
    assert not all(inside(made, truth(table, made.grid)))


def test_it_errs_less_where_most_is_empty() -> None:
    """The even grid errs by the noise, the root of 2 times 8 = 11.3 a cell; the other by a third of it."""
    table = sightings()
    made = finest()
    even = heat_map(session(table, 4), "data", "1km", "1/2", area=AREA)
    exact = truth(table, made.grid)
    assert error(made, exact) < 0.6 * error(even, exact)


def test_pieces_add_up_to_the_best_estimate_of_their_cell() -> None:
    """Exact counts on both levels: every piece is its own number, and nothing is lost."""
    table = sightings(9000)
    made = adaptive_map(session(table, 30), "data", "5km", 5000, area=AREA)
    exact = truth(table, made.grid)
    assert math.isclose(sum(cell.value for cell in made.cells), sum(exact.values()), abs_tol=1e-3)
    assert error(made, exact) < 1 or {cell.side for cell in made.cells} != {1}
