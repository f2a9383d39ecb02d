"""Grids of a map: public cells, as keys in SQL and as outlines on the earth."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal
from discreet.records import dataclass
from discreet.spatial.cell import Box, Cell
from discreet.spatial.projection import WGS84, Projection

Ring: TypeAlias = list[tuple[float, float]]
"""The corners of a cell as longitude and latitude, against the clock, the first one again at the end."""

METRES_PER_DEGREE: Final = Fraction("111195.08")
"""Of latitude, on a sphere of the earth's mean radius, 6,371,008.8 m."""
MOST: Final = 1_000_000
"""Cells of a map at most, as many as keys in SQL list."""
_DIGITS: Final = 12
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(deg|°|km|m)\s*", re.ASCII)


@dataclass(frozen=True)
class Grid:
    """A grid of cells, fixed without the data.

    Cells are `width` wide and `height` high in the units of the columns and begin at zero, so that the same grid has
    the same cells in every area. The cell of a point is (floor(x / width), floor(y / height)).

    Attributes:
        width: of a cell, in units of x: degrees of longitude, or metres of a projection.
        height: of a cell, in units of y.
        crs: the reference system of the columns, such as `EPSG:4326` (degrees) or `EPSG:28992`.
        words: the size in the words of the caller.
    """

    width: Fraction
    height: Fraction
    crs: str = WGS84
    words: str = ""

    @classmethod
    def read(cls, size: str, area: Box, crs: str = WGS84) -> Grid:
        """Read a size such as `3km`, `500m` or `0.05deg`.

        Columns in degrees and a size in metres make cells that are square in the middle of the area and as high
        everywhere: a degree of longitude is shorter near a pole. In a projected system a size is in metres of the
        projection, also where its columns are in feet.

        Args:
            size: of a cell, a positive number and its unit.
            area: where the map is.
            crs: of the columns.

        Raises:
            InvalidParameter: the size cannot be read, or does not fit the reference system; or this one is not
                known; or the area is beyond its ends or a pole, outside of the area that it is made for, less than
                a cell, or more than a million cells.

        Example:
            >>> Grid.read("0.5deg", (0, 50, 10, 60)).index(4.9, 52.3)
            (9, 104)
        """
        found = _SIZE.fullmatch(size)
        if found is None or decimal(found[1]) == 0:
            raise InvalidParameter("The size of a cell cannot be read.", "Write 3km, 500m or 0.05deg.")
        number, unit = decimal(found[1]), found[2]
        degrees = unit in ("deg", "°")
        projection = Projection(crs)
        if crs == WGS84 and not -90 <= area[1] < area[3] <= 90:
            raise InvalidParameter(
                "The area reaches beyond a pole, as its south and north are degrees.",
                "Write degrees, or name the reference system of the columns: crs=EPSG:28992, say.",
            )
        if crs != WGS84 and projection.metres is not None:
            if degrees:
                raise InvalidParameter(
                    f"Columns in {crs} are not degrees, and the size is.", "Write a size in m or km."
                )
            projection.see_area(area)
            side = _rounded(number * (1000 if unit == "km" else 1) / projection.metres)
            return cls(side, side, crs, size.strip())._within(area)
        if degrees:
            return cls(number, number, crs, size.strip())._within(area)
        height = _rounded(number * (1000 if unit == "km" else 1) / METRES_PER_DEGREE)
        narrow = math.cos(math.radians((area[1] + area[3]) / 2))
        if narrow < 0.01:
            raise InvalidParameter(
                "The middle of the area is a pole.", "Use a projection: crs=…, columns in metres."
            )
        return cls(_rounded(height / Fraction(narrow)), height, crs, size.strip())._within(area)

    def _within(self, area: Box) -> Grid:
        """This grid, whose cells are not larger than an area both ways, and of which at most `MOST` are in it.

        Raises:
            InvalidParameter: they are larger, and a map of so few cells would be charged for nothing; or they are more,
                and it would take minutes.
        """
        if area[2] - area[0] < self.width and area[3] - area[1] < self.height:
            units = (
                "" if self.crs == WGS84 else f"write the area in the units of {self.crs}, not in degrees, or "
            )
            fix = f"{units}take smaller cells, or a larger area."
            raise InvalidParameter(
                f"The area is smaller than one cell of {self.words}.", fix[0].upper() + fix[1:]
            )
        many = math.prod(
            math.ceil(decimal(to) / side) - math.floor(decimal(begin) / side)
            for begin, to, side in ((area[0], area[2], self.width), (area[1], area[3], self.height))
        )
        if many > MOST:
            raise InvalidParameter(
                f"The area has {many:,} cells of {self.words}, and a map has {MOST:,} at most.",
                "Take larger cells, or a smaller area.",
            )
        return self

    def coarser(self, times: int) -> Grid:
        """The grid whose cells are so many times as wide and high."""
        return Grid(self.width * times, self.height * times, self.crs, self.words)

    def keys(self, x: str, y: str) -> tuple[str, str]:
        """The keys of a point in SQL: column and row of its cell, from two expressions."""
        return f"floor({x} / {_text(self.width)})", f"floor({y} / {_text(self.height)})"

    def index(self, x: Number, y: Number) -> tuple[int, int]:
        """The cell of a point."""
        return math.floor(decimal(x) / self.width), math.floor(decimal(y) / self.height)

    def box(self, column: int, row: int) -> Box:
        """The ends of a cell, in the units of the columns."""
        return (
            float(column * self.width), float(row * self.height),
            float((column + 1) * self.width), float((row + 1) * self.height),
        )  # fmt: skip

    def meets(self, column: int, row: int, area: Box) -> bool:
        """Whether a cell has an inner point in common with an area."""
        west, south, east, north = self.box(column, row)
        return west < area[2] and east > area[0] and south < area[3] and north > area[1]

    def outlines(self, cells: Sequence[Cell]) -> list[Ring]:
        """The outlines of cells as longitude and latitude; see `rings`."""
        return self.rings([cell.box for cell in cells])

    def near(self, cell: Cell, reach: int) -> list[Hashable]:
        """The places of a cell and of those around it, so many to each side."""
        steps = range(-reach, reach + 1)
        return [(cell.column + across, cell.row + down) for down in steps for across in steps]

    def rings(self, cells: list[Box]) -> list[Ring]:
        """The outlines of cells as longitude and latitude; those of cells that reach beyond a pole end there.

        Raises:
            InvalidParameter: a projected system needs `pyproj`, of the extra `maps`, or is not known to it.
        """
        if self.crs == WGS84:
            cells = [(w, max(s, -90.0), e, min(n, 90.0)) for w, s, e, n in cells]
        rings = [[(w, s), (e, s), (e, n), (w, n), (w, s)] for w, s, e, n in cells]
        if self.crs == WGS84:
            return rings
        projection = Projection(self.crs)
        return [projection.degrees(ring) for ring in rings]


def _rounded(number: Fraction) -> Fraction:
    """A decimal of some digits, which SQL can say.

    Raises:
        InvalidParameter: nothing is left of it.
    """
    found = Fraction(round(number * 10**_DIGITS), 10**_DIGITS)
    if not found:
        raise InvalidParameter("The size of a cell is too small.", "Write a larger one, such as 1m.")
    return found


def _text(number: Fraction) -> str:
    whole, rest = divmod(number * 10**_DIGITS, 10**_DIGITS)
    if rest.denominator != 1:
        raise InvalidParameter("The size of a cell has too many digits.", f"Write at most {_DIGITS}.")
    return f"{whole}.{int(rest):0{_DIGITS}d}".rstrip("0").rstrip(".")
