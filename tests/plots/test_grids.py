"""A release as a grid."""

from __future__ import annotations

from typing import Any

from discreet.plots.grids import grid
from discreet.plots.theme import size_of

KEYS = ["year", "age"]


def _rows(across: int, down: int) -> list[dict[str, Any]]:
    return [
        {"k year": x, "k age": y, "v n": 10.0, "l n": 8.0, "h n": 12.0}
        for x in range(across)
        for y in range(down)
    ]


def _marks(rows: list[dict[str, Any]], reach: float = 1.0) -> tuple[set[str], list[str]]:
    chart, words = grid(rows, KEYS, "n", size_of("slide"), reach)
    spec = chart.to_dict()
    return {layer["mark"]["type"] for layer in spec.get("layer", [spec])}, words


def test_every_cell_with_a_number_of_its_own_is_a_tile_without_words() -> None:
    assert _marks(_rows(3, 4)) == ({"rect"}, [])


def test_a_cell_that_is_not_there_and_one_that_noise_explains_are_marked() -> None:
    rows = _rows(3, 4)[:-1]
    rows[0] |= {"v n": 1.0, "l n": -1.0, "h n": 3.0}
    kinds, words = _marks(rows)
    assert kinds == {"rect", "text"}
    assert len(words) == 2


def test_small_cells_are_grey_instead() -> None:
    rows = _rows(150, 80)
    rows[0] |= {"v n": 1.0, "l n": -1.0, "h n": 3.0}
    kinds, words = _marks(rows)
    assert kinds == {"rect"}
    assert [word.partition(":")[0] for word in words] == ["grey"]
