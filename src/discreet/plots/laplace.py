"""Pictures of the Laplace distribution and of the difference that it hides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.noise.distribution import DiscreteLaplace
from discreet.plots.theme import (
    BAND,
    COLOURS,
    INK,
    RULE,
    Picture,
    Size,
    altair,
    axis,
    data,
    dots,
    finish,
    lines,
    rule,
    size_of,
    words,
)
from discreet.rational import Number, decimal, epsilon_of, positive

Floats = npt.NDArray[np.float64]
GRID = Fraction(1, 1 << 12)
"""So fine that the discrete distribution and the density of the formula are one line."""


def distribution(scale: Number) -> DiscreteLaplace:
    """The distribution that is drawn from, on a grid that looks continuous."""
    return DiscreteLaplace(positive(decimal(scale, "scale"), "scale"), GRID)


def density(noise: DiscreteLaplace, x: Floats) -> Floats:
    """Probability per unit, at the point of the grid nearest to x."""
    grid = float(noise.grid)
    return np.asarray(noise.pmf(np.round(x / grid) * grid) / grid, np.float64)


def densities(scales: Sequence[Number] = (1, 2, 4, 7), size: str | Size = "slide") -> Picture:
    """The density for several scales b, with its peak 1/(2b).

    Args:
        scales: up to four, above zero.
        size: "slide" or "column".

    Example:
        >>> len(densities([1, 2]).to_dict()["layer"])
        4
    """
    fit = size_of(size)
    noises = [distribution(scale) for scale in scales][: len(COLOURS)]
    end = 2.5 * max(float(noise.scale) for noise in noises)
    places = np.unique(np.concatenate([np.linspace(-end, end, 401), [0.0]]))
    names = [f"b = {float(noise.scale):g}" for noise in noises]
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, noise in zip(names, noises, strict=True)
        for px, py in zip(places, density(noise, places), strict=True)
    ]
    peaks = [(0.0, float(density(noise, np.zeros(1))[0])) for noise in noises]
    x = axis("x", "noise", domain=(-end, end))
    y = axis("y", "density", domain=(0, 1.06 * peaks[0][1]), zero=True)
    # Each name stands beside the curves, on a line of its own kind that leads to its peak.
    leaders = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, (_, py) in zip(names, peaks, strict=True)
        for px in (0.0, 0.36 * end)
    ]
    labels = [(0.36 * end, py, f"{name}, peak {py:.3g}") for name, (_, py) in zip(names, peaks, strict=True)]
    chart = (
        lines(leaders, x, y, names, width=1)
        + lines(rows, x, y, names)
        + dots(peaks, x, y, size=40)
        + words(labels, x, y, size=fit.font, bold=True)
    )
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        "Laplace noise: the density for several scales",
        fit,
    )


def functions(scale: Number = 1, draws: int = 2000, size: str | Size = "slide") -> Picture:
    """Density, distribution function and quantile function; exact draws, and uniform ones through the quantiles.

    Uniform floats through the quantile function look right and are not safe: which floats can come out depends on
    the answer (Mironov 2012). Here they are a picture; every answer has exact draws.

    Args:
        scale: above zero.
        draws: how many are drawn, with new randomness.
        size: "slide" or "column".

    Example:
        >>> functions(scale=3).title.text
        'Laplace noise of scale 3'
    """
    fit, alt = size_of(size), altair()
    across = 2 if fit.width < 500 else 3
    part = Size(fit.width, int(1.3 * fit.height), fit.font).part(across, 2)
    noise = distribution(scale)
    b = float(noise.scale)
    places = np.linspace(-5 * b, 5 * b, 401)
    ps = np.linspace(0.003, 0.997, 399)
    x = axis("x", "noise", domain=(-5 * b, 5 * b), tickCount=5)
    p = axis("x", "p", domain=(0, 1), tickCount=3)
    curve = (places, density(noise, places))
    uniform = np.random.default_rng().uniform(0.0, 1.0, draws).clip(1e-12, 1 - 1e-12)
    level = (np.array([0.0, 1.0]), np.ones(2))
    exactly, through = noise.draws(draws), noise.quantile(uniform)
    # Densities are compared, so they have one scale, to which the highest bar belongs.
    tall = max(float(curve[1].max()), *(float(_bins(each, curve)[1].max()) for each in (exactly, through)))
    y = axis("y", "density", zero=True, tickCount=4, domain=(0, 1.05 * tall))
    flat = axis(
        "y", "density", zero=True, tickCount=4, domain=(0, 1.05 * float(_bins(uniform, level)[1].max()))
    )
    outside = [int((np.abs(each) > 5 * b).sum()) for each in (exactly, through)]
    panels = [
        _curve("density", curve, x, y, part),
        _curve(
            "distribution function",
            (places, noise.cdf(places)),
            x,
            axis("y", "P(noise ≤ x)", zero=True, tickCount=4),
            part,
        ),
        _curve("quantile function", (ps, noise.quantile(ps)), p, axis("y", "noise", tickCount=5), part),
        _histogram(f"{draws:,} exact draws", exactly, curve, x, y, part),
        _histogram(f"{draws:,} uniform draws", uniform, level, p, flat, part),
        _histogram("the same through the quantiles", through, curve, x, y, part),
    ]
    rows = [
        alt.hconcat(*panels[first : first + across], spacing=20) for first in range(0, len(panels), across)
    ]
    says = (
        f"Beyond ± {5 * b:g}, and not drawn: {outside[0]:,} of the exact draws, {outside[1]:,} of the others."
    )
    return finish(alt.vconcat(*rows, spacing=14), f"Laplace noise of scale {b:g}", fit, says)


def _curve(
    title: str, curve: tuple[Floats, Floats], x: dict[str, Any], y: dict[str, Any], part: Size
) -> Picture:
    rows = [{"x": px, "y": py, "at": px, "series": title} for px, py in zip(*curve, strict=True)]
    return lines(rows, x, y, [title]).properties(width=part.width, height=part.height, title=title)


def _bins(drawn: Any, curve: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The edges and the heights of a histogram over the range of a curve."""
    edges = np.linspace(float(curve[0][0]), float(curve[0][-1]), 41 if len(curve[0]) > 2 else 21)
    return edges, np.histogram(drawn, edges)[0] / (len(drawn) * (edges[1] - edges[0]))


def _histogram(
    title: str, drawn: Any, curve: tuple[Floats, Floats], x: dict[str, Any], y: dict[str, Any], part: Size
) -> Picture:
    """Bars of the draws, and the curve that they follow."""
    alt = altair()
    edges, heights = _bins(drawn, curve)
    bars = (
        alt.Chart(
            data({"x": lo, "x2": hi, "y": h} for lo, hi, h in zip(edges, edges[1:], heights, strict=False))
        )
        .mark_bar(color=BAND, stroke=RULE, strokeWidth=0.5)
        .encode(x=alt.X(**x), x2="x2:Q", y=alt.Y(**y), y2=alt.datum(0))
    )
    rows = [{"x": px, "y": py, "at": px, "series": "s"} for px, py in zip(*curve, strict=True)]
    return (bars + lines(rows, x, y, ["s"], width=1.6)).properties(
        width=part.width, height=part.height, title=title
    )


def neighbours(
    epsilon: Number = 1,
    answers: tuple[float, float] = (0.0, 1.0),
    output: float = 1.3,
    size: str | Size = "slide",
) -> Picture:
    """The densities of the output on two neighbouring data sets, and the band that epsilon allows between them.

    Args:
        epsilon: a positive rational; the scale is |difference of the answers|/epsilon.
        answers: the true answers on the two data sets; different.
        output: the output at which the ratio is marked.
        size: "slide" or "column".

    Example:
        >>> neighbours(epsilon=0.5).title.text
        'Two neighbouring data sets, ε = 0.5'
    """
    fit = size_of(size)
    loss = float(epsilon_of(epsilon))
    b = abs(answers[1] - answers[0]) / loss
    noise = distribution(b)
    low, high = min(answers) - 3 * b, max(answers) + 3 * b
    places = np.unique(np.concatenate([np.linspace(low, high, 401), answers, [output]]))
    names = [f"answer {answer:g}" for answer in answers]
    first, second = (density(noise, places - answer) for answer in answers)
    x, y = axis("x", "output", domain=(low, high)), axis("y", "density", zero=True)
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, curve in zip(names, (first, second), strict=True)
        for px, py in zip(places, curve, strict=True)
    ]
    spot = int(np.argmin(np.abs(places - output)))
    seen = [float(first[spot]), float(second[spot])]
    ratio = max(seen) / min(seen)
    text = f"at {output:g}: ratio {seen[1] / seen[0]:.3f}"
    top = float(first.max())
    outwards = ("right", "left") if answers[0] < answers[1] else ("left", "right")

    def _beside(side: int) -> Picture:
        """The name of an answer, outwards of it, and beyond the rule where that would cross the name."""
        sign = 1 if outwards[side] == "left" else -1
        crossed = 0 <= sign * (output - answers[side]) < 2 * b
        place = output if crossed else answers[side]
        return words([(place, 1.05 * top, names[side], COLOURS[side])], x, y, align=outwards[side],
                     dx=6 * sign if crossed else 0, size=fit.font, bold=True)  # fmt: skip

    chart = (
        _allowed(places, first, loss, x, y)
        + lines(rows, x, y, names)
        + rule(output, x, y)
        + dots([(output, each) for each in seen], x, y)
        + _beside(0) + _beside(1)
        + words([(high, 0.9 * top, text)], x, y, align="right", dx=0, size=fit.font, bold=True)
        + words([(high, 0.9 * top, f"bound: exp(ε) = {math.exp(loss):.3f}")], x, y, align="right", dx=0,
                dy=int(1.4 * fit.font), size=fit.font)
    )  # fmt: skip
    assert ratio <= math.exp(loss) * 1.001
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        f"Two neighbouring data sets, ε = {loss:g}",
        fit,
        f"Shaded: from exp(-ε) to exp(ε) times the density of {names[0]}, cut off at the top. The other stays inside.",
    )


def _allowed(places: Any, curve: Any, loss: float, x: Mapping[str, Any], y: Mapping[str, Any]) -> Picture:
    """The band that epsilon allows around a density, cut off at the top."""
    alt, top = altair(), 1.18 * float(curve.max())
    ends = (
        {"x": px, "low": py * math.exp(-loss), "y": min(py * math.exp(loss), top)}
        for px, py in zip(places, curve, strict=True)
    )
    area = alt.Chart(data(ends)).mark_area(color=BAND, opacity=0.75, clip=True)
    return area.encode(x=alt.X(**x), y=alt.Y(**y), y2="low:Q")


def memorylessness(
    scale: Number = 1, waits: Sequence[float] = (0, 1, 2), size: str | Size = "slide"
) -> Picture:
    """P(noise > x | noise > t) of the exponential: the same curve again, from wherever one waits.

    Args:
        scale: above zero.
        waits: the values of t, from 0 up; at most four.
        size: "slide" or "column".

    Example:
        >>> memorylessness(scale=2).width
        800
    """
    fit = size_of(size)
    b = float(distribution(scale).scale)
    end = max(waits) + 3.5 * b
    names = [f"above {wait:g}" if wait else "all" for wait in waits]
    rows, labels = [], []
    x = axis("x", "x", domain=(0, end), zero=True)
    y = axis("y", "P(noise > x)", domain=(0, 1.08), zero=True)
    for name, wait, colour in zip(names, waits, COLOURS, strict=False):
        places = np.linspace(wait, end, 200)
        survival = np.exp(-(places - wait) / b)
        rows += [
            {"x": px, "y": py, "at": px, "series": name} for px, py in zip(places, survival, strict=True)
        ]
        labels.append((wait + 0.12 * b, 1.04, name, colour))
    steps = [(wait + b, math.exp(-1)) for wait in waits]
    chart = (
        lines(rows, x, y, names)
        + dots(steps, x, y, size=60)
        + rule(math.exp(-1), x, y, vertical=False)
        + words(labels, x, y, dx=0, size=fit.font, bold=True)
        + words([(end, math.exp(-1), "b further: always 1/e = .368", INK)], x, y, align="right", dx=-4, dy=-11,
                size=fit.font)
    )  # fmt: skip
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        "Exponential noise has no memory: S(x | x > t) = S(x - t)",
        fit,
    )
