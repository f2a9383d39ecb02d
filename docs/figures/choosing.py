"""Draws the effect of a bound, and of max_rows, on the error of an answer.

    python docs/figures/choosing.py bounds > docs/figures/bounds.svg
    python docs/figures/choosing.py max_rows > docs/figures/max_rows.svg

Nothing is measured here: both pictures are formulas, which tests/test_docs.py compares with real answers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

MU, SIGMA = 7.0, 1.0
"""The invented costs: lognormal, with a median of 1,097 and a mean of 1,808."""
PEOPLE, EPSILON = 500, 0.5
"""The number of people in the average, and its epsilon."""
LEAVE = 1 / 3
"""The chance that a visit is somebody's last: visits are geometric, three each in the mean."""
UNITS, COUNT_EPSILON = 1000, 0.1


def mean() -> float:
    """The mean cost."""
    return math.exp(MU + SIGMA * SIGMA / 2)


def clamping(hi: float) -> float:
    """By how much clamping into [0, hi] lowers the mean: E[max(X - hi, 0)] of a lognormal X."""
    far = (MU - math.log(hi)) / SIGMA
    return mean() * _phi(far + SIGMA) - hi * _phi(far)


def noise(hi: float, people: int = PEOPLE, epsilon: float = EPSILON) -> float:
    """The standard deviation that the noise gives an average over [0, hi].

    The average is lo + (hi - lo) b / (a + b) of two noisy integers a and b, each with Laplace noise of one row's
    worth divided by epsilon, so to first order its noise is hi / n * ((1 - m) La - m Lb) with m the mean over hi.
    """
    m = (mean() - clamping(hi)) / hi
    return hi / people / epsilon * math.sqrt(2 * ((1 - m) ** 2 + m**2))


def dropping(cap: float) -> float:
    """How many visits of all people are dropped when each keeps `cap` of them: N E[max(K - cap, 0)]."""
    return float(UNITS * (1 - LEAVE) ** cap / LEAVE)


def count_noise(cap: float) -> float:
    """The standard deviation of the noise of a count with max_rows = cap."""
    return math.sqrt(2) * cap / COUNT_EPSILON


@dataclass(frozen=True)
class Picture:
    """A bias that falls and a noise that grows.

    Attributes:
        title: the question.
        across: the title of the horizontal axis.
        up: the title of the vertical axis.
        places: where the curves are computed.
        marks: labels of the horizontal axis.
        log: whether that axis is logarithmic.
        top: the end of the vertical axis.
        bias: the loss by the limit, by place.
        noise: the standard deviation of the noise, by place.
        lost: the name of the bias.
    """

    title: str
    across: str
    up: str
    places: Sequence[float]
    marks: Sequence[float]
    log: bool
    top: float
    bias: Callable[[float], float]
    noise: Callable[[float], float]
    lost: str

    def total(self, place: float) -> float:
        """The root mean square error: bias and noise add up in squares."""
        return math.hypot(self.bias(place), self.noise(place))

    def best(self) -> float:
        """The place where it is least."""
        return min(self.places, key=self.total)


PICTURES = {
    "bounds": Picture(
        f"Average cost of {PEOPLE} people, epsilon {EPSILON}, bounds [0, h]", "upper bound h", "error of the average",
        [10 ** (2.7 + at / 100) for at in range(231)], [500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000], True,
        600.0, clamping, noise, "clamping: values above h count as h",
    ),
    "max_rows": Picture(
        f"Number of visits of {UNITS:,} people, epsilon {COUNT_EPSILON}", "max_rows", "error of the count",
        [float(at) for at in range(1, 31)], [1, 5, 10, 15, 20, 25, 30], False,
        1000.0, dropping, count_noise, "dropping: visits beyond max_rows do not count",
    ),
}  # fmt: skip


def _phi(x: float) -> float:
    """The standard normal distribution function."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


# Drawing -----------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 80, 44, 52, 58
BIAS, NOISE, TOTAL = "#b5483a", "#2f6db5", "#222222"


def draw(picture: Picture) -> Iterator[str]:
    """The picture as lines of SVG."""
    places = [math.log(p) if picture.log else p for p in (picture.places[0], picture.places[-1])]

    def x(place: float) -> float:
        at = math.log(place) if picture.log else place
        return LEFT + (at - places[0]) / (places[1] - places[0]) * (WIDTH - LEFT - RIGHT)

    def y(error: float) -> float:
        return HEIGHT - BOTTOM - error / picture.top * (HEIGHT - TOP - BOTTOM)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13">')  # fmt: skip
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield _text(LEFT, 26, picture.title, size=15)
    for mark in picture.marks:
        yield f'<line x1="{x(mark):.1f}" y1="{y(0):.1f}" x2="{x(mark):.1f}" y2="{y(0) + 5:.1f}" stroke="#666"/>'
        yield _text(x(mark), y(0) + 21, f"{mark:,.0f}", anchor="middle")
    for step in range(6):
        error = picture.top * step / 5
        yield f'<line x1="{LEFT}" y1="{y(error):.1f}" x2="{WIDTH - RIGHT}" y2="{y(error):.1f}" stroke="#e4e4e4"/>'
        yield _text(LEFT - 8, y(error) + 4, f"{error:,.0f}", anchor="end")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, picture.across, anchor="middle")
    yield (f'<text transform="translate(20 {(y(0) + TOP) / 2:.1f}) rotate(-90)" text-anchor="middle">'
           f"{picture.up}</text>")  # fmt: skip
    for curve, colour, wide in (
        (picture.bias, BIAS, 2),
        (picture.noise, NOISE, 2),
        (picture.total, TOTAL, 3),
    ):
        points = [(x(p), y(curve(p))) for p in picture.places if curve(p) <= picture.top]
        joined = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{wide}"/>'
    best = picture.best()
    yield f'<circle cx="{x(best):.1f}" cy="{y(picture.total(best)):.1f}" r="5" fill="{TOTAL}"/>'
    shown = f"{best:,.0f}" if not picture.log else f"about {float(f'{best:.2g}'):,.0f}"
    low = y(picture.total(best))
    yield f'<line x1="{x(best):.1f}" y1="{low - 104:.1f}" x2="{x(best):.1f}" y2="{low - 8:.1f}" stroke="#666"/>'
    yield _text(x(best), low - 112, f"least error at {shown}", anchor="middle", weight="bold")
    keys = [(BIAS, picture.lost), (NOISE, "noise: its standard deviation"),
            (TOTAL, "both: root of the mean squared error")]  # fmt: skip
    for at, (colour, words) in enumerate(keys):
        line = TOP + 8 + 20 * at
        left = (LEFT + WIDTH) / 2 - 100
        yield f'<line x1="{left:.1f}" y1="{line}" x2="{left + 26:.1f}" y2="{line}" stroke="{colour}" stroke-width="3"/>'
        yield _text(left + 34, line + 4, words)
    yield "</svg>"


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, weight: str = "normal"
) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="#222">{words}</text>')  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:] not in ([name] for name in PICTURES):
        sys.exit(f"usage: choosing.py {'|'.join(PICTURES)}")
    print("\n".join(draw(PICTURES[sys.argv[1]])))
