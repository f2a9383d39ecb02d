"""Maps in cells of H3: hexagons of nearly one size everywhere on the earth, each with a name that map tools know."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.engines.hexagons import FINEST, installed
from discreet.errors import InvalidParameter
from discreet.imports import load
from discreet.rational import Number
from discreet.records import dataclass
from discreet.spatial.cell import Box, Cell
from discreet.spatial.counting import AnySession, PointTable, counted, read_area
from discreet.spatial.grid import Ring
from discreet.spatial.heat_map import HeatMap

if TYPE_CHECKING:
    from types import ModuleType


@dataclass(frozen=True)
class Hexagons:
    """The cells of H3 of one resolution.

    Attributes:
        resolution: 0 to 15; a cell of 7 has 5 square kilometres, one of 8 a seventh of that.
    """

    resolution: int

    @classmethod
    def read(cls, resolution: object) -> Hexagons:
        """Read a resolution.

        Raises:
            InvalidParameter: it is no whole number from 0 to 15, or the library h3 is not installed.
        """
        if not isinstance(resolution, int) or isinstance(resolution, bool) or not 0 <= resolution <= FINEST:
            raise InvalidParameter(f"The resolution is no whole number from 0 to {FINEST}.", "Write 7.")
        _library()
        return cls(resolution)

    @property
    def words(self) -> str:
        """The size of a cell."""
        return f"H3 resolution {self.resolution}"

    def key(self, x: str, y: str) -> str:
        """The key of a point in SQL, from two expressions in degrees."""
        return f"h3_cell({y}, {x}, {self.resolution})"

    def ring(self, name: str) -> Ring:
        """The outline of a cell, not cut at the antimeridian but going on beyond 180 degrees.

        Example:
            >>> [round(x, 2) for x, _ in Hexagons(3).ring("831969fffffffff")][:3]
            [4.52, 4.63, 5.49]
        """
        corners = [(lng, lat) for lat, lng in _library().cell_to_boundary(name)]
        if max(x for x, _ in corners) - min(x for x, _ in corners) > 180:
            corners = [(x + 360 if x < 0 else x, y) for x, y in corners]
        return [*corners, corners[0]]

    def cell(self, name: str, value: float, low: float, high: float) -> Cell:
        """A cell by its name; its box is that of its outline."""
        xs, ys = zip(*self.ring(name), strict=True)
        return Cell(0, 0, (min(xs), min(ys), max(xs), max(ys)), value, low, high, name=name)

    def outlines(self, cells: Sequence[Cell]) -> list[Ring]:
        """The outlines of cells as longitude and latitude."""
        return [self.ring(cell.name) for cell in cells]

    def near(self, cell: Cell, reach: int) -> list[Hashable]:
        """The places of a cell and of those around it, so many rings."""
        return list(_library().grid_disk(cell.name, reach))


def hexagon_map(  # noqa: D417  most are those of `heat_map`
    session: AnySession,
    table: str,
    resolution: int,
    epsilon: Number,
    *,
    area: Box,
    x: str = "lng",
    y: str = "lat",
    total: str | None = None,
    people: str | None = None,
    where: str = "",
    max_rows: int | None = None,
    max_groups: int | None = None,
    confidence: float = 0.95,
) -> HeatMap:
    """Count the rows of a table, or add up a column, in each cell of H3.

    Args:
        resolution: of H3, 0 to 15.
        the others: as for `heat_map`; the columns are degrees.

    Returns:
        A cell for each hexagon in the area, those without rows too; those at its edge hold the rows inside the area.

    Raises:
        InvalidParameter: the resolution or the area cannot be read, or the library h3 is not installed.
        QueryRefused: the engine cannot compute them, as PostgreSQL. Nothing was charged.
        Every error of `Session.sql` is raised too.

    Privacy: that of `Session.sql`, which answers it as one GROUP BY over public keys.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> seen = pa.table({"lat": [52.1, 52.3], "lng": [4.9, 5.1]})
        >>> session = dp.protect(seen, privacy_unit="row", budget=3, bounds={"lat": (52, 53), "lng": (4, 6)})
        >>> made = hexagon_map(session, "data", 3, 1, area=(4.5, 52, 5.5, 52.5))
        >>> sorted(cell.name for cell in made.cells)[0]
        '831968fffffffff'
    """
    box, hexagons = read_area(area), Hexagons.read(resolution)
    points = PointTable(table, x, y, box, total, where, people)
    asked: dict[str, Any] = {"max_rows": max_rows, "max_groups": max_groups, "confidence": confidence}
    answer, rows = counted(session, points, {"map_cell": hexagons.key(*points.axes)}, epsilon, asked)
    cells = sorted(
        (hexagons.cell(*row) for row in rows), key=lambda cell: (cell.box[1], cell.box[0], cell.name)
    )
    notes = tuple(map(str, answer.notes))
    return HeatMap(points.name, cells, hexagons, answer.epsilon, answer.confidence, notes)


def _library() -> ModuleType:
    if not installed():
        raise InvalidParameter("Cells of H3 need h3, which is not installed.", 'pip install "discreet[maps]"')
    return load("h3")
