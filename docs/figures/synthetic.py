"""Draws how models that were trained on synthetic rows name real ones, from the table of docs/synthetic.md.

    python docs/figures/synthetic.py > docs/figures/synthetic_models.svg

The picture needs the extra `plots`. Nothing is measured here: `python -m benchmarks synthetic` measures the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

PAGE = Path(__file__).parents[1] / "synthetic.md"
HEADING = "## A model trained on synthetic rows"
SOURCES = ("real rows", "here", "SmartNoise MST", "SmartNoise AIM", "OpenDP MST", "OpenDP AIM")
COLOURS = ("#1c1c1c", "#1b6ca8", "#e07b00", "#b33a00", "#7a7a7a", "#4d7a2f")
SHAPES = ("cross", "circle", "square", "diamond", "triangle-up", "triangle-down")
TITLE = "share of real rows named rightly; trained on rows of"


class Score(NamedTuple):
    """How many of the real rows a model names rightly."""

    task: str
    source: str
    score: float


def scores(text: str) -> Iterator[Score]:
    """Those of the table."""
    for line in text.partition(HEADING)[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 2 + len(SOURCES) or not cells[2][:1].isdigit():
            continue
        for source, cell in zip(SOURCES, cells[2:], strict=True):
            if cell:
                yield Score(f"{cells[0]}, epsilon {cells[1]}", source, float(cell))


def draw(rows: list[Score]) -> Any:
    """A line for each data set and epsilon, a point for each source of rows."""
    data = alt.InlineData([one._asdict() for one in rows])
    order = list(dict.fromkeys(one.task for one in rows))
    y = alt.Y("task:N", sort=order, title=None, axis=alt.Axis(grid=True, labelLimit=300))
    x = alt.X("score:Q", scale=alt.Scale(domain=(0, 1)), title=None, axis=alt.Axis(format="%"))
    legend = alt.Legend(orient="top", title=TITLE, titleLimit=400, columns=3)
    colour = alt.Color(
        "source:N",
        sort=list(SOURCES),
        scale=alt.Scale(domain=list(SOURCES), range=list(COLOURS)),
        legend=legend,
    )
    shape = alt.Shape(
        "source:N",
        sort=list(SOURCES),
        scale=alt.Scale(domain=list(SOURCES), range=list(SHAPES)),
        legend=legend,
    )
    points = alt.Chart(data).mark_point(filled=True, size=75, opacity=0.85)
    return points.encode(x=x, y=y, color=colour, shape=shape).properties(
        width=480, height=alt.Step(26), background="white"
    )


if __name__ == "__main__":
    import vl_convert

    sys.stdout.write(vl_convert.vegalite_to_svg(draw(list(scores(PAGE.read_text("utf-8")))).to_json()))
