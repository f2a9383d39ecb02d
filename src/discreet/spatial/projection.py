"""Reference systems of columns: which unit they have, and where on the earth a point is."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter
from discreet.rational import decimal
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.spatial.cell import Box

WGS84 = "EPSG:4326"
_DEGREE = math.pi / 180


@dataclass(frozen=True)
class Projection:
    """A reference system that pyproj knows, with x to the east and y to the north in each.

    Attributes:
        name: such as `EPSG:28992`.

    Example:
        >>> [round(end, 3) for end in Projection("EPSG:28992").degrees([(155_000.0, 463_000.0)])[0]]
        [5.387, 52.155]
        >>> Projection("EPSG:4258").metres is None, round(float(Projection("EPSG:2263").metres), 9)
        (True, 0.30480061)
    """

    name: str

    @cached_property
    def metres(self) -> Fraction | None:
        """The metres of a unit of its columns; None where they are degrees.

        Raises:
            InvalidParameter: pyproj is not installed or does not know it, or it is no map of the earth in degrees or
                in lengths.
        """
        known = self._known(lambda pyproj: pyproj.CRS.from_user_input(self.name))
        units = {axis.unit_conversion_factor for axis in known.axis_info[:2]}
        unit = units.pop() if len(units) == 1 else 0.0
        if known.is_projected and unit > 0:
            return decimal(unit)
        if known.is_geographic and math.isclose(unit, _DEGREE):
            return None
        raise InvalidParameter(
            "The columns of this reference system are neither degrees nor lengths of a projection.",
            "Write a code such as EPSG:28992.",
        )

    def degrees(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """The longitude and latitude of points.

        Raises:
            InvalidParameter: as `metres`.
        """
        return list(zip(*self._transformer.transform(*zip(*points, strict=True)), strict=True))

    def see_area(self, area: Box) -> None:
        """See that an area is on the earth, and not wholly outside of the area that the system is made for.

        Raises:
            InvalidParameter: it is not; degrees were written where the system has metres, perhaps.
        """
        west, south, east, north = area
        corners = self.degrees([(west, south), (east, south), (east, north), (west, north)])
        for place in corners:
            if not all(map(math.isfinite, place)):
                raise InvalidParameter(
                    f"The area is beyond the ends of {self.name}.",
                    "Write west, south, east and north in its units.",
                )
        used = self._known(lambda pyproj: pyproj.CRS.from_user_input(self.name)).area_of_use
        if used is None:
            return
        xs, ys = zip(*corners, strict=True)
        # An area of use that crosses the date line has its west end east of its east end.
        beside = used.west <= used.east and (max(xs) < used.west or min(xs) > used.east)
        if beside or max(ys) < used.south or min(ys) > used.north:
            raise InvalidParameter(
                f"The area lies near longitude {xs[0]:.1f} and latitude {ys[0]:.1f}, where {self.name} is not used: it "
                f"is made for {used.west:g} to {used.east:g} and {used.south:g} to {used.north:g}.",
                f"Write the area in the units of {self.name}, not in degrees.",
            )

    @cached_property
    def _transformer(self) -> Any:
        return self._known(lambda pyproj: pyproj.Transformer.from_crs(self.name, WGS84, always_xy=True))

    def _known(self, ask: Any) -> Any:
        try:
            import pyproj
        except ImportError:
            raise InvalidParameter(
                f"Maps in {self.name} need pyproj, which is not installed.", 'pip install "discreet[maps]"'
            ) from None
        try:
            return ask(pyproj)
        except pyproj.exceptions.ProjError:
            pass
        raise InvalidParameter(
            "pyproj does not know this reference system.", "Write a code such as EPSG:28992."
        )
