"""The mean-release experiment: a mean of clamped values, released again and again, with its confidence band."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.local import half_width
from discreet.noise import laplace
from discreet.plots.theme import (
    BAND,
    COLOURS,
    Picture,
    Size,
    altair,
    axis,
    data,
    finish,
    lines,
    size_of,
    words,
)
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass

SIZES: Final = tuple(range(200, 1501, 100))
EPSILONS: Final = (1, 0.32, 0.1, 0.03, 0.01)
EDUCATION: Final = (1, 16)
_SHARES: Final = (3, 2, 4, 3, 3, 3, 3, 4, 20, 6, 18, 7, 14, 5, 2, 1)
_FINE: Final = Fraction(1, 1 << 32)
Floats: TypeAlias = npt.NDArray[np.float64]


def education(people: int) -> npt.NDArray[np.int64]:
    """Levels of education that nobody has, from 1 to 16, about as a census finds them: int64 (people,)."""
    shares = np.array(_SHARES) / sum(_SHARES)
    return np.random.default_rng().choice(np.arange(1, 17), people, p=shares)


@dataclass(frozen=True)
class MeanReleases:
    """The errors of many releases of the mean of n values.

    Attributes:
        people: n.
        epsilon: of each release.
        scale: b = (greatest - least)/(n epsilon).
        radius: the error is within it with probability at least 1 - alpha; for a public n it is b ln(1/alpha).
        errors: of each release, signed: float64 (rounds,).
        bounds: (least, greatest).
        alpha: one less the confidence of the radius.
        private: whether n is private.
    """

    people: int
    epsilon: float
    scale: float
    radius: float
    errors: npt.NDArray[np.float64]
    bounds: tuple[float, float] = EDUCATION
    alpha: float = 0.05
    private: bool = False

    @property
    def coverage(self) -> float:
        """The share of releases within the radius."""
        return float((np.abs(self.errors) <= self.radius).mean())

    @property
    def band(self) -> str:
        """The meaning of the radius, in words."""
        if self.private:
            return f"{100 * (1 - self.alpha):g} % of a noisy share"
        return f"b ln {1 / self.alpha:.4g}"


def mean_releases(
    values: npt.ArrayLike | None = None,
    bounds: tuple[Number, Number] = EDUCATION,
    *,
    people: Sequence[int] = SIZES,
    epsilons: Sequence[Number] = EPSILONS,
    rounds: int = 200,
    alpha: Number = 0.05,
    private: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[MeanReleases]:
    """Release the mean of the first n values, for each n and epsilon, `rounds` times.

    With a public n, a record may be replaced, so the clamped sum has sensitivity greatest - least, and the mean
    that divided by n. With a private one, a record may be added or removed, and the release is a noisy pair:
    with u in [0, 1] the place of a value between the bounds, the sums of u and of 1 - u, which together move by 1.
    Their share is the mean, and its radius follows from the law of that pair (`_ratio_radius`), for every n and
    epsilon. The errors are those of the noise alone.

    Args:
        values: at least as many as the largest n; by default invented levels of education.
        bounds: (least, greatest).
        people: the values of n.
        epsilons: of a release.
        rounds: how often each is released.
        alpha: one less the confidence of the band.
        private: whether n is private.
        progress: called with the cases done and the cases wanted.

    Raises:
        InvalidParameter: there are too few values, or a number is out of range.

    Example:
        >>> for case in mean_releases(people=[200, 400], epsilons=[1], rounds=10):
        ...     print(case.people, round(case.scale, 4), round(case.radius, 4))
        200 0.075 0.2247
        400 0.0375 0.1123
    """
    low, high = (decimal(end, "A bound") for end in bounds)
    level = decimal(alpha, "alpha")
    most = max(people)
    given = np.asarray(education(most) if values is None else values, np.float64)
    if low >= high or not 0 < level < 1 or rounds < 1 or min(people) < 1 or len(given) < most:
        raise InvalidParameter(
            "There are fewer values than people, or bounds, alpha or rounds are out of range.",
            "Write bounds=(1, 16), alpha=0.05, rounds=200.",
        )
    cases = []
    for epsilon in epsilons:
        loss = epsilon_of(epsilon)
        for n in people:
            places = (given[:n].clip(float(low), float(high)) - float(low)) / float(high - low)
            errors, radius = (_ratio if private else _plain)(places, loss, rounds, float(1 - level))
            width = float(high - low)
            cases.append(
                MeanReleases(n, float(loss), width / (n * float(loss)), width * radius, width * errors,
                         (float(low), float(high)), float(level), private)
            )  # fmt: skip
            if progress is not None:
                progress(len(cases), len(epsilons) * len(people))
    return cases


def _plain(places: Floats, loss: Fraction, rounds: int, level: float) -> tuple[Floats, float]:
    """Errors of the mean of places in [0, 1] with a public n, and their radius."""
    noise = laplace(1 / (len(places) * loss * _FINE), rounds) * float(_FINE)
    return np.asarray(noise, np.float64), half_width([float(1 / (len(places) * loss))], level)


def _ratio(places: Floats, loss: Fraction, rounds: int, level: float) -> tuple[Floats, float]:
    """The same with a private n."""
    inside, n = float(places.sum()), len(places)
    first, second = laplace(1 / (loss * _FINE), (2, rounds)) * float(_FINE)
    mean = inside / n
    number = np.maximum(n + first + second, 1.0)
    released = ((inside + first) / number).clip(0.0, 1.0)
    return np.asarray(released - mean, np.float64), _ratio_radius(mean, n, float(loss), 1 - level)


def _ratio_radius(mean: float, n: int, loss: float, alpha: float) -> float:
    """The r that the error of a share of two noisy sums passes with probability at most alpha.

    With F and S the noise of the sums of u and of 1 - u, the released (n m + F)/(n + F + S) is above m + r exactly when
    (1 - m - r) F - (m + r) S > r n, and below m - r exactly when (m - r) S - (1 - m + r) F > r n, as long as the
    divisor is above 1; a divisor of 1 or less counts as passed. An error cannot be more than the distance to an end.
    """
    few = _tail(1 / loss, 1 / loss, n - 1.0)

    def passed(r: float) -> float:
        above = _tail(abs(1 - mean - r) / loss, (mean + r) / loss, r * n) if mean + r < 1 else 0.0
        below = _tail(abs(mean - r) / loss, (1 - mean + r) / loss, r * n) if mean - r > 0 else 0.0
        return above + below + few

    low, high = 0.0, max(mean, 1 - mean)
    if passed(high * (1 - 1e-9)) > alpha:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if passed(middle) > alpha else (low, middle)
    return high


def _tail(first: float, second: float, t: float) -> float:
    """P(X + Y > t) for independent Laplace X and Y of two scales and t >= 0."""
    a, b = max(first, second), min(first, second)
    if t < 0:
        return 1.0
    if b < 1e-9 * a:
        return math.exp(-t / a) / 2
    if a - b < 1e-6 * a:
        return (2 + t / a) * math.exp(-t / a) / 4
    return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (2 * (a * a - b * b))


def mean_release(
    cases: Sequence[MeanReleases] | None = None, shown: int = 30, size: str | Size = "slide"
) -> Picture:
    """Draw it: the errors against n with the band, and their sizes against epsilon.

    Args:
        cases: the result of `mean_releases`; run anew by default.
        shown: how many releases of each case are drawn.
        size: "slide" or "column".

    Example:
        >>> mean_release(mean_releases(rounds=20)).title.text
        'A mean, released again and again'
    """
    fit, alt = size_of(size), altair()
    run = mean_releases() if cases is None else cases
    part = fit.part(2)
    by_epsilon = sorted({case.epsilon for case in run})
    middle = by_epsilon[len(by_epsilon) // 2]
    left = sorted((case for case in run if case.epsilon == middle), key=lambda case: case.people)
    most = max(case.people for case in run)
    right = sorted((case for case in run if case.people == most), key=lambda case: case.epsilon)
    against_people, first = _against_people(left, shown, part, fit)
    against_epsilon, second = _against_epsilon(right, shown, part, fit)
    chart = alt.hconcat(against_people, against_epsilon, spacing=26)
    says = _captions(run)
    if first + second:
        points = sum(min(shown, len(case.errors)) for case in (*left, *right))
        says[-1] += f" Not drawn: {first + second:,} of {points:,} points, beyond the axes."
    return finish(chart, "A mean, released again and again", fit, says)


def _captions(run: Sequence[MeanReleases]) -> list[str]:
    """The facts that the picture rests on, read from the releases that are drawn."""
    covered = np.mean([case.coverage for case in run])
    rounds = sum(len(case.errors) for case in run)
    (low, high), estimator = run[0].bounds, run[0]
    band = f"Band: {estimator.band}" + ("" if estimator.private else f", b = {high - low:g}/(n ε)")
    return [
        f"Values {low:g} to {high:g}, {'private' if estimator.private else 'public'} n. {band}.",
        f"{100 * covered:.1f} % of {rounds:,} releases lie within it.",
    ]


def _against_people(cases: Sequence[MeanReleases], shown: int, part: Size, fit: Size) -> tuple[Any, int]:
    """The panel, and how many points lie outside it."""
    alt = altair()
    points = [(case.people, float(error)) for case in cases for error in case.errors[:shown]]
    widest = max(case.radius for case in cases)
    top = min(max(1.35 * widest, 1.05 * max((abs(y) for _, y in points), default=0.0)), 2.5 * widest)
    ends = (cases[0].people - 40, cases[-1].people + 40)
    x = axis("x", f"people n, with ε = {cases[0].epsilon:g}", domain=ends, tickCount=4)
    y = axis("y", "error of the mean", domain=(-top, top), tickCount=5)
    band = (
        alt.Chart(data({"x": case.people, "y": case.radius, "low": -case.radius} for case in cases))
        .mark_area(color=BAND, interpolate="monotone")
        .encode(x=alt.X(**x), y=alt.Y(**y), y2="low:Q")
    )
    percent = f"{100 * (1 - cases[0].alpha):g}"
    label = words(
        [(ends[1], 0.86 * top, f"band: {percent} % of the noise")], x, y, align="right", dx=0, size=fit.font
    )
    chart = (band + _cloud(points, x, y) + label).properties(width=part.width, height=fit.height)
    return chart, sum(abs(error) > top for _, error in points)


def _against_epsilon(cases: Sequence[MeanReleases], shown: int, part: Size, fit: Size) -> tuple[Any, int]:
    """The panel, and how many points lie outside it."""
    ends = (cases[0].epsilon / 1.5, cases[-1].epsilon * 1.5)
    x = axis("x", f"ε, with n = {cases[0].people:,}", log=True, domain=ends, format="~g",
             values=[case.epsilon for case in cases])  # fmt: skip
    points = [(case.epsilon, abs(float(error))) for case in cases for error in case.errors[:shown]]
    bottom = min(case.scale for case in cases) / 100
    # Room for the names above all points, on a logarithmic axis.
    top = 6 * max(max(case.radius for case in cases), max((error for _, error in points), default=0.0))
    y = axis("y", "size of the error", log=True, domain=(bottom, top), tickCount=5, format="~g")
    named = [(cases[0].band, [case.radius for case in cases])]
    if not cases[0].private:
        named.append(("mean: b", [case.scale for case in cases]))
    rows = [
        {"x": case.epsilon, "y": value, "at": case.epsilon, "series": name}
        for name, values in named
        for case, value in zip(cases, values, strict=True)
    ]
    chart = _cloud(points, x, y) + lines(rows, x, y, [name for name, _ in named])
    for index, ((name, _), colour) in enumerate(zip(named, COLOURS, strict=False)):
        chart += words([(ends[1], top, name, colour)], x, y, align="right", dx=0, dy=int(1.5 * fit.font * index) + 8,
                       size=fit.font, bold=True)  # fmt: skip
    chart = chart.properties(width=part.width, height=fit.height)
    return chart, sum(not bottom <= error <= top for _, error in points)


def _cloud(points: Sequence[tuple[float, float]], x: dict[str, Any], y: dict[str, Any]) -> Any:
    alt = altair()
    return (
        alt.Chart(data({"x": px, "y": py} for px, py in points))
        .mark_point(filled=True, size=14, color=COLOURS[0], opacity=0.45, clip=True)
        .encode(x=alt.X(**x), y=alt.Y(**y))
    )
