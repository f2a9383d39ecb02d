"""Pictures of error: against epsilon, against the number of people, against sensitivity, against the local model."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.plots.theme import COLOURS, Picture, Size, altair, axis, dots, finish, lines, size_of, words
from discreet.rational import Number, decimal, epsilon_of, positive


def errors(epsilon: Number = 0.1, people: int = 1000, size: str | Size = "slide") -> Picture:
    """The error of a proportion: against epsilon, against the number of people, and of a count against sensitivity.

    A proportion of n people has sensitivity 1/n (replace one), so b = 1/(n epsilon); E|Z| = b, rms = sqrt(2) b, and
    95 % of noise is within b ln 20. Where the error is 1 or more the answer says nothing: at epsilon = 1/n.

    Args:
        epsilon: its value where it does not vary.
        people: the number of people where it does not vary.
        size: "slide" or "column".

    Example:
        >>> len(errors(epsilon=1).hconcat)
        3
    """
    fit, alt = size_of(size), altair()
    loss = float(epsilon_of(epsilon))
    upright = fit.width < 500
    part = Size(fit.width, 150, fit.font) if upright else Size(fit.part(3).width, fit.height - 40, fit.font)
    names = ["95 %", "rms", "mean"]
    factors = (math.log(20), math.sqrt(2), 1.0)

    def panel(
        title: str, of: str, ends: tuple[float, float], scale: Callable[[float], float],
        span: tuple[float, float] | None = None,
    ) -> Picture:  # fmt: skip
        grid = np.geomspace(*ends, 60)
        least, most = span or (min(map(scale, ends)), max(map(scale, ends)))
        worst, best = factors[0] * most, factors[2] * least
        x = axis("x", of, log=True, domain=ends, tickCount=3, format="~s" if ends[1] > 1 else "~g")
        y = axis("y", title, log=True, domain=(best / 1.5, worst * 1.5), tickCount=4,
                 format="~s" if worst > 10 else "~g")  # fmt: skip
        rows = [
            {"x": px, "y": factor * scale(px), "at": px, "series": name}
            for name, factor in zip(names, factors, strict=True)
            for px in grid
        ]
        middle = math.sqrt(ends[0] * ends[1])
        chart = lines(rows, x, y, names)
        rising = scale(ends[1]) > scale(ends[0])
        for number, align, dx, dy in ((0, "left", 10, -8), (2, "right", -10, 10)):
            place = (middle, factors[number] * scale(middle), names[number], COLOURS[number])
            flipped = {"left": "right", "right": "left"}[align] if rising else align
            chart += words([place], x, y, align=flipped, dx=-dx if rising else dx, dy=dy,
                           size=fit.font, bold=True)  # fmt: skip
        return chart.properties(width=part.width, height=part.height)

    join = alt.vconcat if upright else alt.hconcat
    # Both are errors of a proportion, and one scale lets them be compared.
    both = [1 / (people * e) for e in (0.001, 1)] + [1 / (n * loss) for n in (100, 100_000)]
    span = (min(both), max(both))
    chart = join(
        panel("error of a proportion", f"ε, with n = {people:,}", (0.001, 1), lambda e: 1 / (people * e), span),
        panel("error of a proportion", f"people n, with ε = {loss:g}", (100, 100_000), lambda n: 1 / (n * loss),
              span),
        panel("error of a count or sum", f"sensitivity, with ε = {loss:g}", (1, 1000), lambda s: s / loss),
        spacing=26,
    )  # fmt: skip
    return finish(
        chart,
        "The error of Laplace noise",
        fit,
        "b = sensitivity / ε; mean b, rms √2 b (between), 95 % within b ln 20",
    )


def laplace_size(error: float, epsilon: float) -> float:
    """People needed for a proportion with that rms error: sqrt(2)/(error epsilon).

    Example:
        >>> round(laplace_size(0.01, 0.1)), round(laplace_size(0.01, 1))
        (1414, 141)
    """
    return math.sqrt(2) / (error * epsilon)


def response_size(error: float, epsilon: float) -> float:
    """The same with randomised response: e^epsilon/(error^2 (e^epsilon - 1)^2).

    Example:
        >>> round(response_size(0.01, 0.1)), round(response_size(0.01, 1))
        (999167, 9207)
    """
    return math.exp(epsilon) / (error * math.expm1(epsilon)) ** 2


def randomized_response(error: Number = 0.01, size: str | Size = "slide") -> Picture:
    """How many people a proportion needs: with a trusted curator (Laplace), and without (randomised response).

    Args:
        error: the rms error wanted, above zero.
        size: "slide" or "column".

    Example:
        >>> randomized_response(error=0.05).title.text
        'The cost of trusting nobody'
    """
    fit = size_of(size)
    alpha = float(positive(decimal(error, "error"), "error"))
    grid = np.geomspace(0.01, 4, 100)
    names = ["randomised response", "Laplace"]
    sizes = (response_size, laplace_size)
    x = axis("x", "ε", log=True, domain=(0.01, 4), format="~g", values=[0.01, 0.03, 0.1, 0.3, 1, 3])
    y = axis("y", f"people for an error of {alpha:g}", log=True, format="~s", tickCount=5)
    rows = [
        {"x": px, "y": of(alpha, px), "at": px, "series": name}
        for name, of in zip(names, sizes, strict=True)
        for px in grid
    ]
    marks = [(mark, of(alpha, mark)) for of in sizes for mark in (0.1, 1.0)]
    names_at = [(0.017, of(alpha, 0.017), name, colour)
                for name, of, colour in zip(names, sizes, COLOURS, strict=False)]  # fmt: skip
    chart = (
        lines(rows, x, y, names)
        + dots(marks, x, y)
        + words([(px, py, f"{py:,.0f}") for px, py in marks], x, y, dx=9, dy=-9, size=fit.font)
        + words(names_at, x, y, dx=10, dy=-12, size=fit.font, bold=True)
    )
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        "The cost of trusting nobody",
        fit,
        "Halving the error needs 2 times the people with Laplace noise, 4 times with randomised response.",
    )
