"""The picture of the errors of a stream's running totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plots.theme import COLOURS, Picture, Row, Size, altair, axis, finish, lines, size_of, words
from discreet.rational import Number, decimal
from discreet.streams import compared

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.streams import Prediction

_POINTS = 400
_SHOWN = 4
_FAR = 12
"""Methods that err so many times as much as the best one are not drawn."""


def stream_errors(
    periods: int = 365,
    epsilon: Number = 1,
    rows: int = 1,
    neighbours: Neighbours = "add_remove",
    size: str | Size = "slide",
    *,
    delta: Number = 0,
    window: int = 0,
) -> Picture:
    """Draw the error of the running total after each period, for the best methods.

    Args:
        periods: how many there are.
        epsilon: of the whole stream.
        rows: how many rows of a unit count in it.
        neighbours: as the policy says.
        size: "slide" or "column".
        delta: of the whole stream; above zero Gaussian noise is drawn, too.
        window: draw totals of so many periods; 0 for all so far.

    Example:
        >>> stream_errors(30).title.text
        'Running totals over 30 periods under one ε = 1'
    """
    fit = size_of(size)
    every = compared(periods, epsilon, rows, neighbours, delta, window)
    both = bool(decimal(delta, "delta"))
    names = list(
        dict.fromkeys(
            prediction.strategy.name for prediction in every if prediction.rms <= _FAR * every[0].rms
        )
    )[:_SHOWN]
    drawn = [prediction for prediction in every if prediction.strategy.name in names]
    curves = [prediction.errors for prediction in drawn]
    y = axis("y", f"standard deviation of the {f'total of {window:,} periods' if window else 'running total'}",
             log=True, format="~g",
             domain=(0.9 * min(map(min, curves)), 1.1 * max(map(max, curves))))  # fmt: skip
    panels = [
        _panel(noise, drawn, names, y, periods, both, fit) for noise in ("Laplace", "Gaussian")[: 1 + both]
    ]
    chart = panels[0] if not both else altair().hconcat(*panels)
    cost = f"ε = {epsilon}, δ = {float(decimal(delta, 'delta')):g}" if both else f"ε = {epsilon}"
    best = f"{every[0].strategy.name}, {every[0].noise}" if both else every[0].strategy.name
    over = f"Totals of the last {window:,} of" if window else "Running totals over"
    return finish(
        chart,
        f"{over} {periods:,} periods under one {cost}",
        fit,
        f"Least: {best}, rms {every[0].rms:,.1f}. At most {rows:,} row{'s' * (rows != 1)} of a unit.",
    )


def _panel(
    noise: str,
    made: Sequence[Prediction],
    names: list[str],
    y: dict[str, Any],
    periods: int,
    both: bool,
    fit: Size,
) -> Picture:
    """The curves of one kind of noise."""
    places = np.unique(np.linspace(1, periods, min(periods, _POINTS)).round().astype(int))
    drawn: list[Row] = []
    for prediction in made:
        if prediction.noise == noise:
            errors = prediction.errors
            drawn += [
                {"x": int(t), "y": float(errors[t - 1]), "at": int(t), "series": prediction.strategy.name}
                for t in places
            ]
    x = axis("x", f"period · {noise} noise" if both else "period", domain=(1, max(2, periods)), tickCount=4)
    chart = lines(drawn, x, y, names, width=1.6)
    # The names stand in the corner that stays empty: late errors are never small.
    for index, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        up = -int(1.5 * fit.font * (index + 0.5))
        chart += words([(periods, y["scale"].domain[0], name, colour)], x, y, align="right", dx=0, dy=up,
                       size=fit.font, bold=True)  # fmt: skip
    return chart.properties(width=fit.width * 0.45 if both else fit.width, height=fit.height)
