"""Root mean square errors of rank of quantiles, ours against each candidate, and how often the intervals hold.

Six data sets of 10,000 rows (`quantile_data`). A value that occurs often has all of its ranks, as the fine leaves tell
them. Single choices by rank and their coverage are worked out from their laws. The tree and quantiles part by part are
drawn until it is clear whether the goal is met, `BLOCKS` blocks at most: all quantiles of a run share its noise, so the
standard error of few runs would be greater than what the goal leaves. It stands in the name of a line. Each question is
asked without intervals and with them; without, all of epsilon goes into the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.line import Line
from benchmarks.quantile_coverage import coverage
from benchmarks.quantile_data import DataSet, data_sets
from benchmarks.quantile_error import Drawn, Goal, coverage_until_clear
from benchmarks.quantile_peers import beside_peers
from benchmarks.quantile_ways import by_law, by_parts, by_rank, by_tree, flipped
from discreet.mechanisms.ranks.flipped_quantile import FEW
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.sql.plan.quantile_choice import quantile_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS: Final = 200
EPSILONS: Final = ("0.05", "0.2", "1")
PARTS: Final = 2000
"""So many quantiles with their intervals are in a block of draws, 200 runs at most."""
NUMBERS: Final = 2000
"""So many quantiles without intervals are in a block of draws; ten times as many on a grid of few leaves."""
BLOCKS: Final = 40
GOAL: Final = Goal(times=1.05, more=0.5)
LEAST: Final = 0.94
"""Intervals that claim 95 % hold at least so often."""
SMALL: Final = 1000
"""Up to so many leaves permute-and-flip is worked out, a candidate for each."""


def lines() -> Iterator[Line]:
    """One quantile, several, and other libraries."""
    for data in data_sets():
        for epsilon in EPSILONS:
            for q in (Fraction(1, 2), Fraction(9, 10)):
                yield from one_quantile(data, q, Fraction(epsilon))
            for many in (2, 3, 9, 99):
                yield from several(data, many, Fraction(epsilon))
    yield from beside_peers()


def one_quantile(data: DataSet, q: Fraction, epsilon: Fraction) -> Iterator[Line]:
    """The number without an interval and with one, each against the best candidate; how often the interval holds."""
    label = f"{data.name}, {q} quantile, epsilon {float(epsilon):g}"
    grid, counts = data.ranks.grid, data.counts()
    tree = float(np.sqrt(by_tree(data, [q], epsilon, RUNS).mean()))
    others = {
        "exponential": by_law(ExponentialQuantile(epsilon, q, data.measure), counts),
        "even weights": by_law(ExponentialQuantile(epsilon, q, LeafMeasure.over(grid.levels)), counts),
        "tree": tree,
    }
    if grid.levels <= SMALL:
        others["permute-and-flip"] = flipped(counts, grid.levels, q, epsilon)
    for ends in (False, True):
        made = QuantilesWithEnds(epsilon, [q], data.measure, ends=ends)
        chosen = quantile_choice(data.argument, [f"quantile {q}"], ends).counts
        ours = tree if chosen == "tree" else by_law(made.number(q), counts)
        yield compared(f"{label}, by {chosen}{', with its interval' * ends}", ours, others, ends)
    if chosen == "ranks":
        yield covered(label, coverage(data.leaves(), made))


def several(data: DataSet, many: int, epsilon: Fraction) -> Iterator[Line]:
    """Evenly spaced quantiles of one column, without intervals and with them, each against the best candidate."""
    label = f"{data.name}, {many} quantiles, epsilon {float(epsilon):g}"
    quantiles = [Fraction(k + 1, many + 1) for k in range(many)]
    choice = {ends: quantile_choice(data.argument, [f"quantile {q}" for q in quantiles], ends).counts
              for ends in (False, True)}  # fmt: skip
    runs = NUMBERS * (10 if data.ranks.grid.levels <= FEW else 1) // many
    parts = Drawn(lambda: by_parts(data, quantiles, epsilon, runs, ends=False)[0].mean(0))
    tree = Drawn(lambda: by_tree(data, quantiles, epsilon, runs).mean(0))
    ours, other = (parts, tree) if choice[False] == "ranks" else (tree, parts)
    one_by_one = float(np.sqrt(np.mean(np.square(by_rank(data, quantiles, epsilon)))))
    GOAL.draw_until_clear(ours, other, one_by_one, BLOCKS)
    others = {
        "one by one": one_by_one,
        "part by part": parts.rms,
        "tree": tree.rms,
    }
    yield compared(
        f"{label}, by {choice[False]} (± {ours.spread:.2g}; {other.spread:.2g})", ours.rms, others, False
    )
    errors: list[Floats] = []

    def held() -> Floats:
        more, each = by_parts(data, quantiles, epsilon, min(RUNS, PARTS // many), ends=True)
        errors.append(more)
        return each

    if choice[True] != "ranks":
        yield compared(f"{label}, by {choice[True]}, with their intervals", tree.rms, others, True)
        return
    share, spread = coverage_until_clear(held, LEAST, BLOCKS)
    found = float(np.sqrt(np.mean(np.concatenate(errors, axis=1))))
    yield compared(f"{label}, by ranks, with their intervals", found, others, True)
    yield covered(f"{label} (± {100 * spread:.2g})", share)


def compared(name: str, ours: float, others: dict[str, float], ends: bool) -> Line:
    """A line with the best of the candidates; half a row more is none. An interval may cost what is said to."""
    best = min(others, key=lambda one: others[one])
    ratio = ours / max(others[best], 1e-9)
    most = "" if ends else "at most 1.05 times the best, or half a row more"
    met = ends or GOAL.met(ours, others[best])
    return Line(f"rms rank: {name}", ours, best, others[best], ratio, most, met, "rows")


def covered(label: str, held: float) -> Line:
    """How often intervals hold."""
    return Line(
        f"coverage: {label}", 100 * held, "claimed", 95, held / 0.95, "at least 94 %", held >= LEAST, "%"
    )
