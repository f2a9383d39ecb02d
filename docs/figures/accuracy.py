"""Draws the errors between which the planner chooses.

    python docs/figures/accuracy.py quantiles > docs/figures/quantiles.svg
    python docs/figures/accuracy.py totals > docs/figures/totals.svg
    python docs/figures/accuracy.py noise > docs/figures/noise.svg

Nothing is measured here: the curves are the formulas by which the planner chooses.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.accounting import GDP, Loss
from discreet.mechanisms.ranks.quantile import row_moves
from discreet.mechanisms.ranks.quantile_order import deviations
from discreet.planning.ranges.factors import single
from discreet.planning.ranges.families import RUNNING
from discreet.planning.ranges.search import factors
from discreet.sql.measures.count_tree import rank_variance, shape_for
from discreet.sql.measures.quantile_tree import MOST_LEAVES

sys.path.insert(0, str(Path(__file__).parent))
from choosing import BIAS, BOTTOM, HEIGHT, LEFT, NOISE, RIGHT, TOP, TOTAL, WIDTH, _text

NUMBERS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 25, 31, 39, 49, 63, 79, 99, 127)
DAYS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 365, 512, 1024)
CHANGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
EPSILON = Fraction(1)


@dataclass(frozen=True)
class Picture:
    """Curves of errors on two logarithmic axes.

    Attributes:
        title: above.
        across: words below the axis of numbers.
        up: words beside the axis of errors.
        numbers: at which the curves are drawn.
        marks: on the axis of numbers.
        errors: on the axis of errors, the least and the most at its ends.
        curves: a colour, words, and the error at a number.
    """

    title: str
    across: str
    up: str
    numbers: Sequence[int]
    marks: Sequence[int]
    errors: Sequence[int]
    curves: Sequence[tuple[str, str, Callable[[int], float]]]


def evenly(number: int) -> tuple[Fraction, ...]:
    """So many quantiles, evenly spaced."""
    return tuple(Fraction(k + 1, number + 1) for k in range(number))


def one_by_one(number: int) -> float:
    """The rms error of rank where each has an equal part of epsilon 1."""
    return math.sqrt(np.mean([8 * float(row_moves(q) * number) ** 2 for q in evenly(number)]))


def part_by_part(number: int) -> float:
    """The same where each splits the rows for those beside it."""
    return math.sqrt(np.mean(np.square(list(deviations(evenly(number)).values()))))


def tree(number: int) -> float:
    """The same where all are read off one tree of counts."""
    return math.sqrt(np.mean([rank_variance(shape_for(MOST_LEAVES), float(q)) for q in evenly(number)]))


def single_days(days: int) -> float:
    """The rms error of the running totals of so many days, each day measured by itself."""
    return math.sqrt(single(days).variance(RUNNING))


def windows(days: int) -> float:
    """The same with smooth windows."""
    return math.sqrt((factors(days, (RUNNING,)) or single(days)).variance(RUNNING))


def bound(days: int) -> float:
    """The least error of any matrix whose columns have the length one in L2 (Li and Miklau 2013)."""
    angles = (2 * np.arange(1, days + 1) - 1) * np.pi / (4 * days + 2)
    return float(math.sqrt(2) * (1 / (2 * np.sin(angles))).sum() / days)


def laplace(changes: int) -> float:
    """The deviation of a count that shares epsilon with so many others."""
    return math.sqrt(2) * changes / float(EPSILON)


def gaussian(delta: str) -> Callable[[int], float]:
    """The same for Gaussian noise of a delta."""
    square = float(GDP.bought(Loss(EPSILON, delta)).square)
    return lambda changes: math.sqrt(changes / square)


PICTURES = {
    "quantiles": Picture(
        "Evenly spaced quantiles of one column, epsilon 1 for all together",
        "how many quantiles", "rms error of the rank, in rows",
        NUMBERS, (1, 2, 3, 5, 9, 19, 49, 99), (1, 2, 5, 10, 20, 50, 100, 200),
        (
            (BIAS, "one by one, each with its part of epsilon", one_by_one),
            (NOISE, "off one tree of noisy counts", tree),
            (TOTAL, "part by part, one level of epsilon after the other", part_by_part),
        ),
    ),
    "totals": Picture(
        "Running totals of a count, a row on one day, epsilon 1 for all days",
        "how many days", "rms error of the totals, in rows",
        DAYS, (8, 16, 32, 64, 128, 256, 512, 1024), (1, 2, 5, 10, 20, 50),
        (
            (BIAS, "each day by itself, added up", single_days),
            (NOISE, "days and smooth windows, by least squares", windows),
            (TOTAL, "a bound that no strategy reaches", bound),
        ),
    ),
    "noise": Picture(
        "A count that shares epsilon 1 with others that one person changes, too",
        "how many counts: groups of a person, times columns and questions", "standard deviation, in people",
        CHANGES, (1, 3, 10, 30, 100, 300, 1000), (1, 3, 10, 30, 100, 300, 1000, 3000),
        (
            (BIAS, "Laplace noise, no delta", laplace),
            (NOISE, "Gaussian noise, delta 10^-9", gaussian("1e-9")),
            (TOTAL, "Gaussian noise, delta 10^-6", gaussian("1e-6")),
        ),
    ),
}  # fmt: skip


def draw(picture: Picture) -> Iterator[str]:
    """A picture as lines of SVG."""
    first, last = picture.numbers[0], picture.numbers[-1]
    low, high = picture.errors[0], picture.errors[-1]

    def x(number: float) -> float:
        return LEFT + math.log(number / first) / math.log(last / first) * (WIDTH - LEFT - RIGHT)

    def y(error: float) -> float:
        return HEIGHT - BOTTOM - math.log(error / low) / math.log(high / low) * (HEIGHT - TOP - BOTTOM)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13">')  # fmt: skip
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield _text(LEFT, 26, picture.title, size=15)
    for mark in picture.marks:
        yield f'<line x1="{x(mark):.1f}" y1="{y(low):.1f}" x2="{x(mark):.1f}" y2="{y(low) + 5:.1f}" stroke="#666"/>'
        yield _text(x(mark), y(low) + 21, f"{mark:,}", anchor="middle")
    for error in picture.errors:
        yield f'<line x1="{LEFT}" y1="{y(error):.1f}" x2="{WIDTH - RIGHT}" y2="{y(error):.1f}" stroke="#e4e4e4"/>'
        yield _text(LEFT - 8, y(error) + 4, f"{error:,}", anchor="end")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, picture.across, anchor="middle")
    yield (f'<text transform="translate(20 {(y(low) + TOP) / 2:.1f}) rotate(-90)" text-anchor="middle">'
           f"{picture.up}</text>")  # fmt: skip
    for at, (colour, words, curve) in enumerate(picture.curves):
        found = [(n, curve(n)) for n in picture.numbers]
        joined = " ".join(f"{x(n):.1f},{y(error):.1f}" for n, error in found if error <= high)
        yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="3"/>'
        line = TOP + 8 + 20 * at
        yield f'<line x1="{LEFT + 20}" y1="{line}" x2="{LEFT + 46}" y2="{line}" stroke="{colour}" stroke-width="3"/>'
        yield _text(LEFT + 54, line + 4, words)
    yield "</svg>"


if __name__ == "__main__":
    if sys.argv[1:] not in ([name] for name in PICTURES):
        sys.exit(f"usage: accuracy.py {'|'.join(PICTURES)}")
    print("\n".join(draw(PICTURES[sys.argv[1]])))
