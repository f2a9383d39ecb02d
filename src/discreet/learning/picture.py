"""The picture of a student's accuracy against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discreet.plots.theme import COLOURS, Picture, Row, Size, altair, axis, data, finish, lines, size_of

if TYPE_CHECKING:
    from discreet.learning.digits import DigitsRun


_LOOK: Final = ("dark and orange", "blue dots and yellow")
"""Of a student and of its labels, for the first noise and the second."""


def accuracies(
    points: Sequence[DigitsRun], true_labels: float, delta: str, size: str | Size = "slide"
) -> Picture:
    """Draw how right labels and student are at each epsilon.

    Args:
        points: runs, at least one.
        true_labels: the accuracy of a student of true labels: the dashed line.
        delta: at which epsilon is shown.
        size: "slide" or "column".
    """
    alt = altair()
    fit = size_of(size)
    kinds = sorted({point.noise for point in points}, reverse=True)
    names = [f"{kind}: {part}" for kind in kinds for part in ("student", "labels")]
    said = "; ".join(f"{kind} noise, {look}" for kind, look in zip(kinds, _LOOK, strict=False))
    rows: list[Row] = [
        {"x": point.epsilon, "y": value, "series": f"{point.noise}: {part}", "at": place}
        for place, point in enumerate(sorted(points, key=lambda point: point.epsilon))
        for part, value in (("student", point.accuracy), ("labels", point.named))
    ]
    x = axis("x", f"epsilon at delta {delta}", log=True, format="~g")
    y = axis("y", "share that is right", domain=(0, 1), format=".0%")
    chart = lines(rows, x, y, names)
    for name, colour in zip(names, COLOURS, strict=False):
        mine = data([row for row in rows if row["series"] == name])
        chart += (
            alt.Chart(mine).mark_point(color=colour, filled=True, size=60).encode(x=alt.X(**x), y=alt.Y(**y))
        )
    rule = alt.Chart(data([{"y": true_labels}])).mark_rule(strokeDash=[4, 4]).encode(y=alt.Y(**y))
    return finish(
        (chart + rule).properties(width=fit.width, height=fit.height),
        "A student of noisy teachers",
        fit,
        f"Students on test images, and their labels: {said}. "
        f"Thin dashes: a student of true labels, {true_labels:.0%}.",
    )
