"""Pieces put together: where each tells nothing and their sum does, and nowhere else; each place once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.spatial.grid import Grid
from discreet.spatial.pieces import put_together, unions
from tests.spatial.invented import finest, sightings, truth

GRID = Grid(Fraction(1), Fraction(1))
PLACES = [(column, row) for row in range(8, 12) for column in range(4, 8)]
"""Of a coarse cell that is cut into four by four."""


def made(values: dict[tuple[int, int], float], error: float) -> dict[tuple[int, int, int], float]:
    """The cells by side and place, where the interval of a sum of n is n^(1/2) times as wide as that of a piece."""
    cells = put_together(values, 4, GRID, 2, lambda taken, _: error * math.sqrt(taken))
    return {(cell.side, cell.column, cell.row): cell.value for cell in cells}


@pytest.mark.parametrize(
    ("error", "sides"),
    [(9, [2] * 16), (11, [4] * 4), (30, [8]), (41, [2] * 16)],
    ids=["each tells", "four tell", "all tell", "nothing tells"],
)
def test_sums_take_the_place_of_pieces_that_noise_explains(error: float, sides: list[int]) -> None:
    cells = made(dict.fromkeys(PLACES, 10.0), error)
    assert [side for side, _, _ in cells] == sides
    assert sum(cells.values()) == 160


def test_a_piece_that_tells_is_not_hidden_in_a_sum() -> None:
    cells = made({**dict.fromkeys(PLACES, 10.0), (4, 8): 100.0}, 11)
    assert [cells[2, *at] for at in ((4, 8), (5, 8), (4, 9), (5, 9))] == [100, 10, 10, 10]
    assert sorted(side for side, _, _ in cells) == [2] * 4 + [4] * 3


def test_an_edge_of_the_area_may_miss_pieces_and_every_sum_is_counted() -> None:
    some = {at: 10.0 for at in PLACES if at[0] < 7}
    assert unions(some.items(), 4) == 4 + 1
    assert unions(dict.fromkeys(PLACES, 0.0).items(), 4) == 4 + 1
    assert unions([((3, 5), 0.0)], 1) == 0
    assert sum(made(some, 11).values()) == 120


def test_the_densest_place_of_a_map_is_no_blank() -> None:
    """The densest square of 8 by 8 finest cells holds over 1,000, many times the noise of all its pieces.

    A sum of noise that hides it has a chance below 1e-9.
    """

    table = sightings()
    drawn = finest()
    exact = truth(table, drawn.grid)
    dense: dict[tuple[int, int], int] = {}
    for (column, row), count in exact.items():
        dense[column // 8, row // 8] = dense.get((column // 8, row // 8), 0) + count
    best = max(dense, key=lambda at: dense[at])
    inside = [
        cell for cell in drawn.cells if (cell.column * cell.side // 8, cell.row * cell.side // 8) == best
    ]
    assert dense[best] > 1000
    assert any(cell.low > 0 for cell in inside)
