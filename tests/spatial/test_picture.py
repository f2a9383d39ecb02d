"""The picture of a map is of the grammar, though nothing checks its data when it is drawn, and data is not copied."""

from __future__ import annotations

from typing import Any

import pytest
from altair.utils import schemapi

from discreet.plots.library import unchecked
from discreet.spatial.cell import Cell
from discreet.spatial.picture import picture_of_cells


def drawn(skew: float) -> Any:
    cells, rings = [], []
    for column in range(6):
        west, south = 16 + 0.1 * column, 48.0
        cells.append(
            Cell(
                column,
                0,
                (west, south, west + 0.1, south + 0.1),
                5.0 * column,
                5.0 * column - 7,
                5.0 * column + 7,
            )
        )
        ring = [(0.0, 0.0), (0.1, skew), (0.1, 0.1 + skew), (0.0, 0.1), (0.0, 0.0)]
        rings.append([(west + x, south + y) for x, y in ring])
    return picture_of_cells(cells, rings, "n", "A map", "words")


@pytest.mark.parametrize("skew", [0.0, 0.01])
def test_it_is_of_the_grammar(skew: float) -> None:
    made = drawn(skew)
    assert schemapi.DEBUG_MODE  # only for the time of drawing it is not
    assert made.to_dict() == made.to_dict(validate=False)
    with unchecked(), pytest.raises(Exception, match="wide and high"):
        # Planted fault: a picture of another grammar passes unseen, and is found when it is checked.
        made.properties(width="wide and high").to_dict(validate=True)


@pytest.mark.parametrize("skew", [0.0, 0.01])
def test_layers_share_the_data(skew: float) -> None:
    def values(part: Any) -> list[Any]:
        if hasattr(part, "layer"):
            return [one for layer in part.layer for one in values(layer)]
        return [part.data.values]

    held = [one for one in values(drawn(skew)) if len(one) > 2]
    assert held
    assert all(isinstance(one, tuple) for one in held)
