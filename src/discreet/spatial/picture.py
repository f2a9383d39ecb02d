"""The picture of a heat map: cells on the earth, grey where the noise alone could have made the number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from discreet.escaping import pictured
from discreet.plots.library import unchecked
from discreet.plots.theme import PALE, Picture, Size, altair, axis, data, finish, size_of
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.spatial.cell import Cell
    from discreet.spatial.grid import Ring

_SHADES: Final = ["#cfe0ef", "#9fc3e0", "#3d7fb5", "#12355b"]


def picture_of_cells(
    cells: Sequence[Cell],
    rings: Sequence[Ring],
    name: str,
    title: str,
    words: str | Sequence[str],
    size: str | Size = "slide",
) -> Picture:
    """Draw cells, north up. Cells of several sizes have the colour of their number per finest cell.

    Args:
        cells: at least one.
        rings: their outlines, in degrees.
        name: of the number.
        title: above the map.
        words: below the title.
        size: "slide" or "column".
    """
    alt = altair()
    fit = size_of(size)
    rows: list[dict[str, Any]] = []
    for ring, cell in zip(rings, cells, strict=True):
        xs, ys = zip(*ring, strict=True)
        rows.append(
            {
                "x": min(xs), "x2": max(xs), "y": min(ys), "y2": max(ys), "v": cell.value / cell.side**2, "ring": ring,
                "name": cell.name, "number": f"{cell.value:,.0f} ({cell.low:,.0f} to {cell.high:,.0f})",
                "noise": "noise could have made it" if cell.explained else "above or below the noise",
                "grey": cell.explained,
            }
        )  # fmt: skip
    west, east = min(row["x"] for row in rows), max(row["x2"] for row in rows)
    south, north = min(row["y"] for row in rows), max(row["y2"] for row in rows)
    # A degree of longitude is shorter than one of latitude, by the cosine of the latitude in the middle.
    tall = (north - south) / ((east - west) * max(0.05, math.cos(math.radians((north + south) / 2))))
    height = min(2.2 * fit.height, fit.width * 0.8 * tall)
    x = axis("x", "longitude", domain=(west, east))
    y = axis("y", "latitude", domain=(south, north))
    width, high = int(height / tall), int(height)
    tips = [alt.Tooltip("number:N", title=pictured(name)), alt.Tooltip("noise:N", title="cell")]
    if any(cell.name for cell in cells):
        tips.append(alt.Tooltip("name:N", title="H3"))
    seen = [row for row in rows if not row["grey"]]
    outlines = _Outlines(x, y, tips, (west, south, east, north), (width, high), all(map(_upright, rings)))
    with unchecked():
        chart = outlines.draw([row for row in rows if row["grey"]], alt.value(PALE))
        if seen:
            most, least = max(row["v"] for row in seen), min(0.0, *(row["v"] for row in seen))
            per = " per finest cell" if any(cell.side > 1 for cell in cells) else ""
            colour = alt.Color("v:Q", title=pictured(name) + per, legend=_legend(fit))
            colour = colour.scale(range=_SHADES, domain=[least, most], interpolate="lab")
            chart += outlines.draw(seen, colour)
        many = int(fit.width / (0.55 * max(9, fit.font - 2)))  # letters of a line
        below = [line for part in ([words] if isinstance(words, str) else words) for line in wrap(part, many)]
        return finish(chart.properties(width=width, height=high), title, fit, below)


def _legend(fit: Size) -> Any:
    """The legend of the colours: beside the map, or below where that is narrow."""
    alt = altair()
    if fit.width < fit.height * 1.5:
        return alt.Legend(gradientLength=int(0.6 * fit.width), orient="bottom")
    return alt.Legend(gradientLength=int(0.6 * fit.height))


def _upright(ring: Ring) -> bool:
    """Whether a cell is a rectangle between two meridians and two parallels."""
    return len(ring) == 5 and all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(ring))


@dataclass(frozen=True)
class _Outlines:
    """Draws cells of one kind.

    Attributes:
        x: the axis of longitude.
        y: the axis of latitude.
        tips: the words under the pointer.
        ends: west, south, east and north of the picture.
        pixels: its width and height.
        upright: whether all cells are rectangles of the axes.
    """

    x: dict[str, Any]
    y: dict[str, Any]
    tips: list[Any]
    ends: tuple[float, float, float, float]
    pixels: tuple[int, int]
    upright: bool

    def draw(self, rows: Sequence[dict[str, Any]], colour: Any) -> Any:
        """A layer of cells."""
        alt = altair()
        if self.upright:
            plain = [{name: value for name, value in row.items() if name != "ring"} for row in rows]
            tiles = alt.Chart(data(plain)).mark_rect(stroke="white", strokeWidth=0.3)
            place = {"x": alt.X(**self.x), "x2": "x2:Q", "y": alt.Y(**self.y), "y2": "y2:Q"}
            return tiles.encode(**place, color=colour, tooltip=self.tips)
        # Outlines in pixels: the axes, which lie behind, have the same ends.
        shapes = tuple(self._shape(row) for row in rows)  # a list would be copied with each layer
        tiles = alt.Chart(alt.Data(values=shapes)).mark_geoshape(stroke="white", strokeWidth=0.3)
        west, south, east, north = self.ends
        corners = data([{"x": west, "y": south}, {"x": east, "y": north}])
        axes = alt.Chart(corners).mark_point(opacity=0).encode(x=alt.X(**self.x), y=alt.Y(**self.y))
        return axes + tiles.project(type="identity", scale=1, translate=[0, 0]).encode(
            color=colour, tooltip=self.tips
        )

    def _shape(self, row: dict[str, Any]) -> dict[str, Any]:
        (west, south, east, north), (width, height) = self.ends, self.pixels
        ring = [
            [round((x - west) / (east - west) * width, 2), round((north - y) / (north - south) * height, 2)]
            for x, y in row["ring"]
        ]
        words = {name: row[name] for name in ("v", "number", "noise", "name")}
        return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, **words}
