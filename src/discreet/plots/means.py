"""The mean-release experiment: a mean of clamped values, released again and again, with its confidence band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
class Releases:
    """The errors of many releases of the mean of n values.

    Attributes:
        people: n.
        epsilon: of each release.
        scale: b = (greatest - least)/(n epsilon).
        radius: b ln(1/alpha): the noise is within it with probability 1 - alpha.
        errors: of each release, signed: float64 (rounds,).
    """

    people: int
    epsilon: float
    scale: float
    radius: float
    errors: npt.NDArray[np.float64]

    @property
    def coverage(self) -> float:
        """The share of releases within the radius."""
        return float((np.abs(self.errors) <= self.radius).mean())


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
) -> list[Releases]:
    """Release the mean of the first n values, for each n and epsilon, `rounds` times.

    With a public n, a record may be replaced, so the clamped sum has sensitivity greatest - least, and the mean
    that divided by n. With a private one, a record may be added or removed, and what is released is a noisy pair:
    with u in [0, 1] the place of a value between the bounds, the sums of u and of 1 - u, which together move by 1.
    Their share is the mean; its radius is to first order in 1/(n epsilon). The errors are those of the noise alone.

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
            cases.append(Releases(n, float(loss), width / (n * float(loss)), width * radius, width * errors))
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
    scales = [each / (n * float(loss)) for each in (1 - mean, mean)]
    return np.asarray(released - mean, np.float64), half_width(scales, level)


def mean_release(
    cases: Sequence[Releases] | None = None, shown: int = 30, size: str | Size = "slide"
) -> Picture:
    """Draw it: the errors against n with the band, and their sizes against epsilon.

    Args:
        cases: what `mean_releases` returned; run anew by default.
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
    covered = np.mean([case.coverage for case in run])
    rounds = sum(len(case.errors) for case in run)
    chart = alt.hconcat(
        _against_people(left, shown, part, fit), _against_epsilon(right, shown, part, fit), spacing=26
    )
    return finish(
        chart, "A mean, released again and again", fit,
        f"Levels 1 to 16. Band: b ln 20, b = 15/(n ε). {100 * covered:.1f} % of {rounds:,} releases lie within it.",
    )  # fmt: skip


def _against_people(cases: Sequence[Releases], shown: int, part: Size, fit: Size) -> Any:
    alt = altair()
    top = 1.35 * cases[0].radius
    ends = (cases[0].people - 40, cases[-1].people + 40)
    x = axis("x", f"people n, with ε = {cases[0].epsilon:g}", domain=ends, tickCount=4)
    y = axis("y", "error of the mean", domain=(-top, top), tickCount=5)
    band = (
        alt.Chart(data({"x": case.people, "y": case.radius, "low": -case.radius} for case in cases))
        .mark_area(color=BAND, interpolate="monotone")
        .encode(x=alt.X(**x), y=alt.Y(**y), y2="low:Q")
    )
    points = [(case.people, float(error)) for case in cases for error in case.errors[:shown]]
    label = words(
        [(ends[1], 0.86 * top, "band: 95 % of the noise")], x, y, align="right", dx=0, size=fit.font
    )
    return (band + _cloud(points, x, y) + label).properties(width=part.width, height=fit.height)


def _against_epsilon(cases: Sequence[Releases], shown: int, part: Size, fit: Size) -> Any:
    ends = (cases[0].epsilon / 1.5, cases[-1].epsilon * 1.5)
    x = axis("x", f"ε, with n = {cases[0].people:,}", log=True, domain=ends, format="~g",
             values=[case.epsilon for case in cases])  # fmt: skip
    y = axis("y", "size of the error", log=True, domain=(cases[-1].scale / 100, 4 * cases[0].radius), tickCount=5,
             format="~g")  # fmt: skip
    points = [(case.epsilon, abs(float(error))) for case in cases for error in case.errors[:shown]]
    names = ["b ln 20", "mean: b"]
    rows = [
        {"x": case.epsilon, "y": value, "at": case.epsilon, "series": name}
        for case in cases
        for name, value in zip(names, (case.radius, case.scale), strict=True)
    ]
    top = 4 * cases[0].radius
    chart = _cloud(points, x, y) + lines(rows, x, y, names)
    for at, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        chart += words([(ends[1], top, name, colour)], x, y, align="right", dx=0, dy=int(1.5 * fit.font * at) + 8,
                       size=fit.font, bold=True)  # fmt: skip
    return chart.properties(width=part.width, height=fit.height)


def _cloud(points: Sequence[tuple[float, float]], x: dict[str, Any], y: dict[str, Any]) -> Any:
    alt = altair()
    return (
        alt.Chart(data({"x": px, "y": py} for px, py in points))
        .mark_point(filled=True, size=14, color=COLOURS[0], opacity=0.45, clip=True)
        .encode(x=alt.X(**x), y=alt.Y(**y))
    )
