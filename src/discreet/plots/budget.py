"""Pictures of epsilon: what it bounds, and how a budget is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.plots.theme import COLOURS, Picture, Size, axis, dots, finish, lines, rule, size_of, words
from discreet.rational import Number, decimal, epsilon_of, positive


def one_plus_epsilon(marks: Sequence[float] = (0.1, 0.5, 1), size: str | Size = "slide") -> Picture:
    """The factor e^epsilon against 1 + epsilon, and by how much the second falls short.

    Args:
        marks: values of epsilon where the gap (e^epsilon - 1 - epsilon)/(1 + epsilon) is written.
        size: "slide" or "column".

    Example:
        >>> one_plus_epsilon(size="column").width
        330
    """
    fit = size_of(size)
    at = np.linspace(0, 1.6, 161)
    names = ["exp(ε)", "1 + ε"]
    x, y = axis("x", "ε", domain=(0, 1.6)), axis("y", "factor", domain=(0.8, 5.2))
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, curve in zip(names, (np.exp(at), 1 + at), strict=True)
        for px, py in zip(at, curve, strict=True)
    ]
    places = [(mark, math.exp(mark), f"{100 * gap(mark):.2g} % more") for mark in marks]
    ends = [(1.6, math.exp(1.6), names[0], COLOURS[0]), (1.6, 2.6, names[1], COLOURS[1])]
    chart = (
        lines(rows, x, y, names)
        + dots([(px, py) for px, py, _ in places], x, y, size=50)
        + dots([(mark, 1 + mark) for mark in marks], x, y, size=50)
        + words(places[1:], x, y, align="right", dx=-4, dy=-fit.font, size=fit.font)
        + words(places[:1], x, y, dx=6, dy=int(0.8 * fit.font), size=fit.font)
        + words(ends, x, y, align="right", dx=-24, dy=-4, size=fit.font, bold=True)
    )
    return finish(
        chart.properties(width=fit.width, height=fit.height), "Small ε: the factor exp(ε) is about 1 + ε", fit
    )


def gap(epsilon: float) -> float:
    """By which share e^epsilon is above 1 + epsilon.

    Example:
        >>> [f"{100 * gap(e):.3g} %" for e in (0.1, 0.5, 1)]
        ['0.47 %', '9.91 %', '35.9 %']
    """
    return math.exp(epsilon) / (1 + epsilon) - 1


def composition(
    epsilon: Number = 0.1,
    budget: Number = 3,
    releases: int = 100,
    delta: Number = 1e-6,
    size: str | Size = "slide",
) -> Picture:
    """What k releases of epsilon each cost together, and where a budget refuses.

    Sequentially k epsilon; by advanced composition (Dwork, Rothblum and Vadhan 2010, theorem III.3) with a delta,
    sqrt(2 k ln(1/delta)) epsilon + k epsilon (e^epsilon - 1); in parallel, over disjoint data, epsilon.

    Args:
        epsilon: of each release.
        budget: the epsilon that may be spent.
        releases: how many are shown.
        delta: of advanced composition, strictly between 0 and 1.
        size: "slide" or "column".

    Example:
        >>> composition(epsilon=0.1, budget=2).title.text
        'How losses add up'
    """
    fit = size_of(size)
    exact, limit = epsilon_of(epsilon), epsilon_of(budget, "budget")
    loss, small = float(exact), float(positive(decimal(delta, "delta"), "delta"))
    count = np.arange(1, releases + 1)
    names = ["one after the other: k ε", f"with δ = {small:g}", "disjoint data: ε"]
    curves = (count * loss, advanced(count, loss, small), np.full(len(count), loss))
    top = max(1.05 * releases * loss, 1.3 * float(limit))
    x = axis("x", f"releases k, each with ε = {loss:g}", domain=(0, releases))
    y = axis("y", "ε of all together", domain=(0, top), zero=True)
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, curve in zip(names, curves, strict=True)
        for px, py in zip(count, curve, strict=True)
    ]
    last = min(releases, math.floor(limit / exact))
    place = 0.62 * releases
    ends = [
        (place, place * loss, names[0], COLOURS[0]),
        (releases, float(advanced(np.array([releases]), loss, small)[0]), names[1], COLOURS[1]),
        (releases, loss, names[2], COLOURS[2]),
    ]
    chart = (
        lines(rows, x, y, names)
        + rule(float(limit), x, y, vertical=False)
        + dots([(last, float(last * exact))], x, y)
        + words([(releases, float(limit), f"budget {float(limit):g}: release {last + 1} is refused")], x, y,
                align="right", dx=-4, dy=fit.font, size=fit.font)
        + words(ends[:1], x, y, align="right", dx=-8, dy=-4, size=fit.font, bold=True)
        + words(ends[1:2], x, y, align="right", dx=-4, dy=int(2.6 * fit.font), size=fit.font, bold=True)
        + words(ends[2:], x, y, align="right", dx=-4, dy=-fit.font, size=fit.font, bold=True)
    )  # fmt: skip
    return finish(chart.properties(width=fit.width, height=fit.height), "How losses add up", fit)


def advanced(count: npt.NDArray[np.int64], epsilon: float, delta: float) -> npt.NDArray[np.float64]:
    """The epsilon of `count` releases by advanced composition; never worse than their sum.

    Example:
        >>> advanced(np.array([1, 100]), 0.1, 1e-6).round(3).tolist()
        [0.1, 6.308]
    """
    root = np.sqrt(2 * count * math.log(1 / delta)) * epsilon
    tight = root + count * epsilon * math.expm1(epsilon)
    return np.asarray(np.minimum(count * epsilon, tight), np.float64)
