"""A cell of a map."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from discreet.records import dataclass

Box: TypeAlias = tuple[float, float, float, float]
"""West, south, east and north: least and greatest x and y."""


@dataclass(frozen=True)
class Cell:
    """A cell of a map.

    Attributes:
        column: its place from west to east, from zero on.
        row: its place from south to north.
        box: its ends, in the units of the columns.
        value: the noisy number.
        low: the lower end of its interval.
        high: the upper end.
        side: how many of the finest cells it is wide and high; `column` and `row` count in its own size.
        name: of H3; empty on a grid, where a cell has none.
    """

    column: int
    row: int
    box: Box
    value: float
    low: float
    high: float
    side: int = 1
    name: str = ""

    @property
    def place(self) -> Hashable:
        """Tells it from the other cells of its map."""
        return self.name or (self.column, self.row)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of its box."""
        west, south, east, north = self.box
        return (west + east) / 2, (south + north) / 2

    @property
    def explained(self) -> bool:
        """Whether the noise alone could have made the number: zero lies in the interval."""
        return self.low <= 0 <= self.high
