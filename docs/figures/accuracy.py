"""Draws the error of several quantiles by each way of answering them.

    python docs/figures/accuracy.py > docs/figures/quantiles.svg

Nothing is measured here: the curves are the formulas by which the planner chooses.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.mechanisms.ranks.quantile import row_moves
from discreet.mechanisms.ranks.quantile_order import deviations
from discreet.sql.measures.count_tree import rank_variance, shape_for
from discreet.sql.measures.quantile_tree import MOST_LEAVES

sys.path.insert(0, str(Path(__file__).parent))
from choosing import BIAS, BOTTOM, HEIGHT, LEFT, NOISE, RIGHT, TOP, TOTAL, WIDTH, _text

NUMBERS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 25, 31, 39, 49, 63, 79, 99, 127)
MARKS, ERRORS = (1, 2, 3, 5, 9, 19, 49, 99), (1, 2, 5, 10, 20, 50, 100, 200)


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


CURVES = (
    (BIAS, "one by one, each with its part of epsilon", one_by_one),
    (NOISE, "off one tree of noisy counts", tree),
    (TOTAL, "part by part, one level of epsilon after the other", part_by_part),
)


def draw() -> Iterator[str]:
    """The picture as lines of SVG."""

    def x(number: float) -> float:
        return LEFT + math.log(number) / math.log(NUMBERS[-1]) * (WIDTH - LEFT - RIGHT)

    def y(error: float) -> float:
        return HEIGHT - BOTTOM - math.log(error) / math.log(ERRORS[-1]) * (HEIGHT - TOP - BOTTOM)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13">')  # fmt: skip
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield _text(LEFT, 26, "Evenly spaced quantiles of one column, epsilon 1 for all together", size=15)
    for mark in MARKS:
        yield f'<line x1="{x(mark):.1f}" y1="{y(1):.1f}" x2="{x(mark):.1f}" y2="{y(1) + 5:.1f}" stroke="#666"/>'
        yield _text(x(mark), y(1) + 21, f"{mark}", anchor="middle")
    for error in ERRORS:
        yield f'<line x1="{LEFT}" y1="{y(error):.1f}" x2="{WIDTH - RIGHT}" y2="{y(error):.1f}" stroke="#e4e4e4"/>'
        yield _text(LEFT - 8, y(error) + 4, f"{error}", anchor="end")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "how many quantiles", anchor="middle")
    yield (f'<text transform="translate(20 {(y(1) + TOP) / 2:.1f}) rotate(-90)" text-anchor="middle">'
           "rms error of the rank, in rows</text>")  # fmt: skip
    for at, (colour, words, curve) in enumerate(CURVES):
        joined = " ".join(f"{x(n):.1f},{y(curve(n)):.1f}" for n in NUMBERS if curve(n) <= ERRORS[-1])
        yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="3"/>'
        line = TOP + 8 + 20 * at
        yield f'<line x1="{LEFT + 20}" y1="{line}" x2="{LEFT + 46}" y2="{line}" stroke="{colour}" stroke-width="3"/>'
        yield _text(LEFT + 54, line + 4, words)
    yield "</svg>"


if __name__ == "__main__":
    print("\n".join(draw()))
