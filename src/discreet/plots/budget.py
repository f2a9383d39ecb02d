"""Pictures of epsilon: the bound that it sets, and the spending of a budget."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting import ACCOUNTANTS, ZCDP, Loss, Released
from discreet.errors import DiscreetError
from discreet.planning.forecast import Forecast
from discreet.plots.theme import COLOURS, Picture, Row, Size, axis, dots, finish, lines, rule, size_of, words
from discreet.rational import Number, decimal, epsilon_of, positive

_POINTS = 400


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
    epsilons = np.linspace(0, 1.6, 161)
    names = ["exp(ε)", "1 + ε"]
    x, y = axis("x", "ε", domain=(0, 1.6)), axis("y", "factor", domain=(0.8, 5.2))
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, curve in zip(names, (np.exp(epsilons), 1 + epsilons), strict=True)
        for px, py in zip(epsilons, curve, strict=True)
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
    """The loss of k releases of epsilon each, by bounds of textbooks and by the accountants here.

    Sequentially k epsilon; by advanced composition (Dwork, Rothblum and Vadhan 2010, theorem III.3) with a delta,
    sqrt(2 k ln(1/delta)) epsilon + k epsilon (e^epsilon - 1); in parallel, over disjoint data, epsilon. The line of the
    accountant `zcdp` is drawn beside them, and the loss of all releases by each accountant is written above.

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
    names = ["sum: k ε", "advanced composition, 2010", "accountant zcdp", "disjoint data: ε"]
    by_zcdp = concentrated(count, exact, delta)
    curves = (count * loss, advanced(count, loss, small), by_zcdp, np.full(len(count), loss))
    top = max(1.05 * releases * loss, 1.3 * float(limit))
    x = axis("x", f"releases k, each with ε = {loss:g}", domain=(0, releases))
    y = axis("y", "ε of all together", domain=(0, top), zero=True)
    rows = [
        {"x": px, "y": py, "at": px, "series": name}
        for name, curve in zip(names, curves, strict=True)
        for px, py in zip(count, curve, strict=True)
    ]
    summed = min(releases, math.floor(limit / exact))
    allowed = min(releases, int((by_zcdp <= float(limit)).sum()))
    # The names stand in the empty corner, in the order of the lines at its side.
    ends = [(0.02 * releases, top, name, colour) for name, colour in zip(names, COLOURS, strict=True)]
    chart = (
        lines(rows, x, y, names)
        + rule(float(limit), x, y, vertical=False)
        + dots([(k, float(curve[k - 1])) for k, curve in ((summed, curves[0]), (allowed, by_zcdp)) if k], x, y)
        + words([(releases, float(limit), f"budget {float(limit):g}")], x, y, align="right", dx=-4,
                dy=int(0.8 * fit.font), size=fit.font)
    )  # fmt: skip
    for index, end in enumerate(ends):
        chart += words([end], x, y, dx=0, dy=int(1.4 * fit.font * (index + 0.5)), size=fit.font, bold=True)
    fits = f"{limit_words(summed, releases)} by sums, {limit_words(allowed, releases)} with zcdp"
    says = [
        f"δ = {small:g}. Of {releases:,} releases a budget of {float(limit):g} allows {fits}.",
        f"All {releases:,}: "
        + ", ".join(f"{name} {value:.3f}" for name, value in accounted(releases, exact, delta)),
    ]
    return finish(chart.properties(width=fit.width, height=fit.height), "How losses add up", fit, says)


def limit_words(allowed: int, releases: int) -> str:
    """How many of so many releases.

    Example:
        >>> limit_words(30, 100), limit_words(100, 100)
        ('30', 'all')
    """
    return "all" if allowed == releases else f"{allowed:,}"


def concentrated(count: npt.NDArray[np.int64], epsilon: Fraction, delta: Number) -> npt.NDArray[np.float64]:
    """The epsilon of `count` releases by the accountant `zcdp`; never worse than their sum.

    Example:
        >>> concentrated(np.array([1, 100]), Fraction(1, 10), 1e-6).round(3).tolist()
        [0.1, 5.222]
    """
    loss = ZCDP.of(Loss(epsilon))
    found = [float(ZCDP(int(k) * loss.rho).loss(delta).epsilon) for k in count]
    return np.asarray(np.minimum(found, count * float(epsilon)), np.float64)


def accounted(releases: int, epsilon: Fraction, delta: Number) -> list[tuple[str, float]]:
    """The epsilon of so many releases: the bound of 2010, and each accountant that is installed.

    Example:
        >>> [(name, round(value, 2)) for name, value in accounted(100, Fraction(1, 10), 1e-6)][:3]
        [('bound of 2010', 6.31), ('advanced', 5.76), ('zcdp', 5.22)]
    """
    small = float(decimal(delta, "delta"))
    found = [("bound of 2010", float(advanced(np.array([releases]), float(epsilon), small)[0]))]
    event = Released(epsilon, neighbours="add_remove")
    for name in ("advanced", "zcdp", "pld"):
        # pld needs an extra, a delta of 1e-10 and more, and is left out where it has no price.
        with contextlib.suppress(DiscreetError, ImportError):
            found.append((name, float(ACCOUNTANTS[name]("add_remove").add(event, releases).epsilon(delta))))
    return found


def advanced(count: npt.NDArray[np.int64], epsilon: float, delta: float) -> npt.NDArray[np.float64]:
    """The epsilon of `count` releases by advanced composition; never worse than their sum.

    Example:
        >>> advanced(np.array([1, 100]), 0.1, 1e-6).round(3).tolist()
        [0.1, 6.308]
    """
    root = np.sqrt(2 * count * math.log(1 / delta)) * epsilon
    tight = root + count * epsilon * math.expm1(epsilon)
    return np.asarray(np.minimum(count * epsilon, tight), np.float64)


def spending(
    forecasts: Sequence[Forecast],
    limit: Fraction,
    epsilon: Fraction,
    releases: int,
    size: str | Size = "slide",
) -> Picture:
    """Draw the epsilon spent after each release that fits, for each accountant, under the limit.

    Args:
        forecasts: one for each accountant.
        limit: the epsilon of the budget.
        epsilon: of each release.
        releases: how many are wanted.
        size: "slide" or "column".
    """
    fit = size_of(size)
    x = axis("x", "release", domain=(0, releases))
    y = axis("y", "epsilon spent", domain=(0, 1.1 * float(limit)))
    rows: list[Row] = []
    ends = []
    for forecast, colour in zip(forecasts, COLOURS, strict=False):
        step = max(1, len(forecast.spent) // _POINTS)
        places = sorted({*range(0, len(forecast.spent), step), len(forecast.spent) - 1} - {-1})
        rows += [
            {"x": place + 1, "y": float(forecast.spent[place]), "at": place, "series": forecast.rule}
            for place in places
        ]
        if places:
            ends.append((len(forecast.spent), float(forecast.spent[-1]), forecast.rule, colour))
    chart = rule(float(limit), x, y, vertical=False) + lines(
        rows, x, y, [forecast.rule for forecast in forecasts]
    )
    chart += words(ends, x, y, align="right", dx=-4, dy=-10, size=fit.font, bold=True)
    return finish(
        chart.properties(width=fit.width, height=fit.height),
        f"Releases of ε = {float(epsilon):g} under one budget",
        fit,
        ", ".join(f"{forecast.rule}: {len(forecast.spent):,} of {releases:,} fit" for forecast in forecasts),
    )
