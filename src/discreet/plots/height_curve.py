"""The picture of the height experiment."""

from __future__ import annotations

from discreet.local import HeightExperiment, height_experiment
from discreet.plots.theme import COLOURS, Picture, Size, altair, axis, data, finish, lines, size_of, words


def heights(run: HeightExperiment | None = None, size: str | Size = "slide") -> Picture:
    """Draw the error of the mean height against epsilon: measured as points, by the formula as lines.

    Args:
        run: the result of `height_experiment`; run anew by default.
        size: "slide" or "column".

    Example:
        >>> heights(height_experiment(people=50, rounds=2)).title.text
        '50 people report their heights with noise'
    """
    fit, alt = size_of(size), altair()
    made = height_experiment() if run is None else run
    sizes = list(dict.fromkeys(point.sensitivity for point in made.points))
    names = [f"sensitivity {size:g} cm" for size in sizes]
    ends = min(p.epsilon for p in made.points), max(p.epsilon for p in made.points)
    x = axis("x", "ε of each report", log=True, domain=ends, format="~g", values=[0.001, 0.01, 0.1, 1, 3])
    y = axis("y", "error of the mean height, in cm", log=True, format="~g", tickCount=4)
    rows = [
        {"x": p.epsilon, "y": p.expected, "at": p.epsilon, "series": names[sizes.index(p.sensitivity)]}
        for p in made.points
    ]
    measured = [
        {"x": p.epsilon, "y": p.error, "series": names[sizes.index(p.sensitivity)]} for p in made.points
    ]
    points = (
        alt.Chart(data(measured))
        .mark_point(filled=True, size=38, clip=True)
        .encode(
            x=alt.X(**x), y=alt.Y(**y),
            shape=alt.Shape("series:N", legend=None).scale(domain=names, range=["circle", "square", "triangle-up"]),
            color=alt.Color("series:N", legend=None).scale(domain=names, range=list(COLOURS[: len(names)])),
        )
    )  # fmt: skip
    chart = lines(rows, x, y, names, width=1.6) + points
    # The names stand in the empty corner, in the order of the lines.
    top = max(p.expected for p in made.points)
    for index, (name, colour) in enumerate(reversed(list(zip(names, COLOURS, strict=False)))):
        chart += words([(ends[1], top, name, colour)], x, y, align="right", dx=0, dy=int(1.5 * fit.font * index),
                       size=fit.font, bold=True)  # fmt: skip
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        f"{made.people:,} people report their heights with noise",
        fit,
        f"Points: mean of {made.rounds:,} rounds. Lines: 2 b/√(π n), b = sensitivity/ε. Measured: {made.ratio:.4f} b.",
    )
