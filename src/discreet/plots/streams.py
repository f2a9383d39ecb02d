"""The picture of the errors of a stream's running totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.plots.theme import COLOURS, Picture, Row, Size, axis, finish, lines, size_of, words
from discreet.rational import Number
from discreet.streams import predictions

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours

_POINTS = 400
_SHOWN = 4


def stream_errors(
    periods: int = 365,
    epsilon: Number = 1,
    rows: int = 1,
    neighbours: Neighbours = "add_remove",
    size: str | Size = "slide",
) -> Picture:
    """Draw the error of the running total after each period, for the best methods.

    Args:
        periods: how many there are.
        epsilon: of the whole stream.
        rows: how many rows of a unit count in it.
        neighbours: as the policy says.
        size: "slide" or "column".

    Example:
        >>> stream_errors(30).title.text
        'Running totals over 30 periods under one ε = 1'
    """
    fit = size_of(size)
    made = predictions(periods, epsilon, rows, neighbours)[:_SHOWN]
    places = np.unique(np.linspace(1, periods, min(periods, _POINTS)).round().astype(int))
    names = [one.strategy.name for one in made]
    drawn: list[Row] = [
        {"x": int(t), "y": float(one.errors[t - 1]), "at": int(t), "series": one.strategy.name}
        for one in made
        for t in places
    ]
    x = axis("x", "period", domain=(1, max(2, periods)))
    y = axis("y", "standard deviation of the running total", log=True, format="~g")
    chart = lines(drawn, x, y, names, width=1.6)
    # The names stand in the corner that stays empty: late errors are never small.
    low = min(float(one.errors.min()) for one in made)
    for index, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        up = -int(1.5 * fit.font * (index + 0.5))
        chart += words([(periods, low, name, colour)], x, y, align="right", dx=0, dy=up,
                       size=fit.font, bold=True)  # fmt: skip
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        f"Running totals over {periods:,} periods under one ε = {epsilon}",
        fit,
        f"Least first: {names[0]}, rms {made[0].rms:,.1f}. At most {rows:,} row{'s' * (rows != 1)} of a unit.",
    )
