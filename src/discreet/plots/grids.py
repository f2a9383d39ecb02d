"""A release with two keys of many groups as a grid, darker for more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.escaping import picture
from discreet.plots.marks import CROSS, EXPLAINED, GROUND, NONE, PALE, explained, number_format, ordered, text
from discreet.plots.theme import RULE, Picture, Size, altair, data


def grid(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], name: str, fit: Size, reach: float
) -> tuple[Picture, list[str]]:
    """The grid, and the meaning of the marks on it."""
    alt = altair()
    across, down = (_sorted({row[f"k {key}"] for row in rows}) for key in keys)
    cells = {(row[f"k {keys[0]}"], row[f"k {keys[1]}"]): row for row in rows}
    table = [_cell(one, other, cells.get((one, other), {}), name, reach) for one in across for other in down]
    side = min(fit.width / len(across), 1.25 * fit.height / len(down), 64)
    upwards = all(ordered(value) for value in down)
    names = [text(value) for value in (reversed(down) if upwards else down)]
    thin = alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False)
    x = alt.X("x:N", sort=[text(value) for value in across], title=picture(keys[0]), axis=thin)
    y = alt.Y("y:N", sort=names, title=picture(keys[1]), axis=thin)
    given = [row for row in table if row["v"] is not None]
    most, least = max((row["v"] for row in given), default=1.0), min((row["v"] for row in given), default=0.0)
    legend = alt.Legend(format=number_format([most]), gradientLength=int(0.6 * fit.height))
    colour = alt.Color("v:Q", title=picture(name), legend=legend).scale(
        range=["#f4f8fc", "#9fc3e0", "#3d7fb5", "#12355b"], domain=[min(0.0, least), max(most, least + 1e-9)],
        interpolate="lab",
    )  # fmt: skip
    wide = side > 7
    coloured = given if wide else [row for row in given if not row["mark"]]
    tiles = alt.Chart(data(coloured)).mark_rect(stroke="white", strokeWidth=1 if wide else 0.3).encode(
        x=x, y=y, color=colour
    )  # fmt: skip
    if len(coloured) < len(given):
        grey = [row for row in given if row["mark"]]
        tiles += alt.Chart(data(grey)).mark_rect(color=PALE, stroke="white", strokeWidth=0.3).encode(x=x, y=y)
    nothing = [row for row in table if row["v"] is None]
    chart = tiles
    if nothing:
        chart += (
            alt.Chart(data(nothing))
            .mark_rect(color="#ffffff", stroke=GROUND, strokeWidth=0.6)
            .encode(x=x, y=y)
        )
    marked = [row for row in table if row["mark"]]
    if marked and wide:
        chart += alt.Chart(data(marked)).mark_text(color=RULE, fontSize=min(fit.font, int(0.6 * side))).encode(
            x=x, y=y, text="mark:N"
        )  # fmt: skip
    seen = {row["mark"] for row in marked}
    means = (
        {CROSS: NONE, "○": f"○ {EXPLAINED}"}
        if wide
        else {CROSS: "white: no answer", "○": f"grey: {EXPLAINED}"}
    )
    drawn = chart.properties(width=int(side * len(across)), height=int(side * len(down)))
    return drawn, [words for mark, words in means.items() if mark in seen]


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # NULL beside texts, say
        return sorted(values, key=lambda value: (value is not None, str(value)))


def _cell(one: Any, other: Any, row: Mapping[str, Any], name: str, reach: float) -> dict[str, Any]:
    """A cell of the grid, with its mark."""
    value = row.get(f"v {name}")
    mark = CROSS if value is None else "○" if explained(row, name, reach) else ""
    return {"x": text(one), "y": text(other), "v": value, "mark": mark}
