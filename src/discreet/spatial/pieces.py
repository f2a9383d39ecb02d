"""The pieces of a coarse cell, put together again where each of them tells nothing and their sum does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from discreet.spatial.cell import Cell
from discreet.spatial.grid import Grid

Place: TypeAlias = tuple[int, int]


def unions(pieces: Iterable[tuple[Place, float]], cut: int) -> int:
    """How many sums of two or four by two or four pieces there are: each may be shown, and has an interval."""
    places = {place for place, _ in pieces}
    many = 0
    while cut > 1:
        cut, places = cut // 2, {(column // 2, row // 2) for column, row in places}
        many += len(places)
    return many


def put_together(
    pieces: Mapping[Place, float], cut: int, grid: Grid, side: int, width: Callable[[int, int], float]
) -> list[Cell]:
    """The cells of a coarse cell: its pieces, and sums of neighbours in place of pieces that noise explains.

    Two by two pieces are one cell where noise alone could have made each of them and could not have made their sum;
    then so are two by two of these squares, up to the coarse cell. A sum is a function of released numbers, and its
    interval is one of those that hold together, whether it is shown or not.

    Args:
        pieces: the estimate of each, by its place.
        cut: how many pieces the coarse cell has each way, a power of two.
        grid: of the pieces.
        side: of a piece, in finest cells.
        width: the half-width of the interval of a sum of so many pieces, of so many.
    """
    everywhere = len(pieces)

    def cell(column: int, row: int, times: int, inside: list[float]) -> Cell:
        value, error = sum(inside), width(len(inside), everywhere)
        high = max(0.0, value + error)  # no count is below zero
        box = grid.coarser(times).box(column, row)
        return Cell(column, row, box, value, value - error, high, side * times)

    def square(column: int, row: int, times: int) -> list[Cell]:
        inside = [value for (c, r), value in pieces.items() if (c // times, r // times) == (column, row)]
        if not inside:
            return []
        if times == 1:
            return [cell(column, row, 1, inside)]
        below = [
            part for up in (0, 1) for across in (0, 1)
            for part in square(2 * column + across, 2 * row + up, times // 2)
        ]  # fmt: skip
        whole = cell(column, row, times, inside)
        return [whole] if whole.low > 0 and all(part.low <= 0 for part in below) else below

    corners = {(column // cut, row // cut) for column, row in pieces}
    return [part for column, row in sorted(corners) for part in square(column, row, cut)]
