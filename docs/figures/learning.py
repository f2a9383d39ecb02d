"""Draws how models score at epsilon 1 beside those of diffprivlib, from the table of docs/learning.md.

    python docs/figures/learning.py > docs/figures/learning.svg

The picture needs the extra `plots`. Nothing is measured here: `python -m benchmarks learning` measures the table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

PAGE = Path(__file__).parents[1] / "learning.md"
LIBRARIES = ("discreet", "diffprivlib", "OpenDP")
COLOURS = ("#1b6ca8", "#e07b00", "#7a7a7a")
LEAST = -1.0
"""Scores below it are drawn at the edge."""
SHAPES = ("circle", "square", "diamond")
TITLE = "median score at epsilon 1, 30 runs; -1 or less at the edge"


class Score(NamedTuple):
    """The median score of a library at epsilon 1."""

    task: str
    library: str
    score: float


def scores(text: str) -> Iterator[Score]:
    """Those of the table."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or "/" not in cells[2]:
            continue
        for library, cell in zip(LIBRARIES, cells[2:], strict=True):
            said = cell.replace("*", "").split("/")[1].strip() if cell else "none"
            if said != "none":
                found = float(said) if re.fullmatch(r"-?[\d.]+", said) else LEAST
                yield Score(f"{cells[0]}, {cells[1]}", library, max(found, LEAST))


def draw(rows: list[Score]) -> Any:
    """A line for each task, a point for each library."""
    data = alt.InlineData([one._asdict() for one in rows])
    order = list(dict.fromkeys(one.task for one in rows))
    y = alt.Y("task:N", sort=order, title=None, axis=alt.Axis(grid=True, labelLimit=200))
    scale = alt.Scale(domain=list(LIBRARIES), range=list(COLOURS))
    axis = alt.Axis(values=[LEAST + step / 4 for step in range(9)], format=".2~f", labelFlush=False)
    x = alt.X("score:Q", scale=alt.Scale(domain=(LEAST, 1)), title=TITLE, axis=axis)
    colour = alt.Color(
        "library:N", scale=scale, sort=list(LIBRARIES), legend=alt.Legend(orient="top", title=None)
    )
    shape = alt.Shape(
        "library:N",
        sort=list(LIBRARIES),
        scale=alt.Scale(domain=list(LIBRARIES), range=list(SHAPES)),
    )
    points = alt.Chart(data).mark_point(filled=True, size=60, opacity=0.85)
    return points.encode(x=x, y=y, color=colour, shape=shape).properties(width=620, height=alt.Step(15))


if __name__ == "__main__":
    import vl_convert

    sys.stdout.write(vl_convert.vegalite_to_svg(draw(list(scores(PAGE.read_text("utf-8")))).to_json()))
