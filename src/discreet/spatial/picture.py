"""The picture of a heat map: cells on the earth, grey where the noise alone could have made the number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.escaping import pictured
from discreet.plots.theme import PALE, Picture, Size, altair, axis, data, finish, size_of

if TYPE_CHECKING:
    from discreet.spatial.cell import Cell
    from discreet.spatial.grid import Ring

_SHADES: Final = ["#cfe0ef", "#9fc3e0", "#3d7fb5", "#12355b"]


def picture_of_cells(
    cells: Sequence[Cell],
    rings: Sequence[Ring],
    name: str,
    title: str,
    words: str,
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
                "x": min(xs), "x2": max(xs), "y": min(ys), "y2": max(ys), "v": cell.value / cell.side**2,
                "number": f"{cell.value:,.0f} ({cell.low:,.0f} to {cell.high:,.0f})",
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
    tips = [alt.Tooltip("number:N", title=pictured(name)), alt.Tooltip("noise:N", title="cell")]
    base = {"x": alt.X(**x), "x2": "x2:Q", "y": alt.Y(**y), "y2": "y2:Q", "tooltip": tips}
    seen = [row for row in rows if not row["grey"]]
    tiles = alt.Chart(data([row for row in rows if row["grey"]])).mark_rect(
        color=PALE, stroke="white", strokeWidth=0.3
    )
    chart = tiles.encode(**base)
    if seen:
        most, least = max(row["v"] for row in seen), min(0.0, *(row["v"] for row in seen))
        per = " per finest cell" if any(cell.side > 1 for cell in cells) else ""
        colour = alt.Color(
            "v:Q", title=pictured(name) + per, legend=alt.Legend(gradientLength=int(0.6 * fit.height))
        )
        chart += alt.Chart(data(seen)).mark_rect(stroke="white", strokeWidth=0.3).encode(
            **base,
            color=colour.scale(range=_SHADES, domain=[least, most], interpolate="lab"),
        )  # fmt: skip
    return finish(chart.properties(width=int(height / tall), height=int(height)), title, fit, words)
