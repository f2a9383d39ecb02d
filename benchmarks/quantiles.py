"""Root mean square errors of rank of quantiles, ours against each candidate, and how often the intervals hold.

Six data sets of 10,000 rows: even, normal, lognormal, two fifths zeros, eleven values, incomes of a census extract
(where `shared/data` beside the checkout has it; else rounded lognormal ones). A value that occurs often has all of its
ranks, as the fine leaves tell them. Single choices by rank and their coverage are worked out from their laws; the tree
is drawn `RUNS` times, quantiles part by part up to as often, and the standard error of an error is then about 5 to
8 % of it. Each question is asked without intervals and with them; without, all of epsilon goes into the numbers.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.line import Line
from benchmarks.peers.environments import HOME, ROOT
from benchmarks.quantile_coverage import coverage, exact_leaf
from discreet.engines.schema import Type
from discreet.mechanisms import PermuteAndFlip
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile, row_moves
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.noise import add_laplace
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.measures.quantile_tree import tree_for
from discreet.sql.measures.ranks import Ranks, ranks_for
from discreet.sql.plan.quantile_choice import quantile_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

ROWS: Final = 10_000
RUNS: Final = 200
EPSILONS: Final = ("0.05", "0.2", "1")
PARTS: Final = 2000
"""So many quantiles are drawn part by part, 200 times each at most."""
PEER_RUNS: Final = 200
PEERS: Final = ("diffprivlib", "opendp")
"""SmartNoise SQL has no quantiles but those of its engine, and Tumult, which has, is too slow for so many runs."""
INCOMES: Final = "shared/data/PUMS5extract10000.csv"
"""Beside the checkout, or further up."""
SMALL: Final = 1000
"""Up to so many leaves permute-and-flip is worked out, a candidate for each."""


@dataclass(frozen=True)
class DataSet:
    """Values in leaves of the fine grid of a column.

    Attributes:
        name: of the data set.
        values: float64 array (n,).
        argument: the column, with its bounds.
    """

    name: str
    values: Floats
    argument: Column

    @property
    def ranks(self) -> Ranks:
        """The measure whose grid it is."""
        return ranks_for(self.argument, [Fraction(1, 2)])

    @property
    def measure(self) -> LeafMeasure:
        """The weights of its leaves."""
        grid = self.ranks.grid
        return LeafMeasure.over(grid.levels, Fraction(grid.lo), grid.step)

    def leaves(self) -> Integers:
        """The leaf of each value, in order."""
        grid = self.ranks.grid
        return np.sort(
            np.floor((self.values - grid.lo) / float(grid.step)).astype(np.int64).clip(0, grid.levels - 1)
        )

    def counts(self) -> SparseCounts:
        """The counts by leaf."""
        leaves = self.leaves()
        return SparseCounts.of(1, self.ranks.grid.levels, 0 * leaves, leaves, 0 * leaves + 1)

    def error(self, q: Fraction, values: Floats) -> float:
        """The rms error of rank of some values; each leaf has all ranks of its rows."""
        grid, leaves = self.ranks.grid, self.leaves()
        at = np.floor((values - grid.lo) / float(grid.step)).clip(0, grid.levels - 1)
        return off(leaves, q, at)


def off(ordered: Floats | Integers, q: Fraction, found: Floats) -> float:
    """The rms error of rank of some values among others in order; each has all ranks of those that are equal."""
    below, until = np.searchsorted(ordered, found), np.searchsorted(ordered, found, "right")
    rank = float(q) * len(ordered)
    return rms(np.maximum(0, np.maximum(below - rank, rank - until)))


def rms(errors: Floats) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def data_sets() -> Iterator[DataSet]:
    """The six data sets."""
    rng = np.random.default_rng(13)
    skewed = rng.lognormal(9, 1, ROWS)
    incomes = rng.lognormal(10, 1, ROWS) // 100 * 100
    files = [parent / INCOMES for parent in Path(__file__).parents]
    for found in [one for one in files if one.exists()][:1]:
        incomes = np.array([float(row["income"]) for row in csv.DictReader(found.read_text().splitlines())])

    def column(name: str, high: int, kind: Type = Type.FLOAT) -> Column:
        return Column(name, kind, Span(Fraction(0), Fraction(high)))

    yield DataSet("even", rng.uniform(0, 1000, ROWS), column("even", 1000))
    yield DataSet("normal", rng.normal(100, 15, ROWS), column("normal", 200))
    yield DataSet("lognormal", rng.lognormal(10, 1, ROWS).clip(0, 499_999), column("lognormal", 500_000))
    yield DataSet("two fifths zeros", np.where(rng.random(ROWS) < 0.4, 0, skewed), column("zeros", 500_000))
    shares = [0.3, 0.2, 0.1, *[0.05] * 8]
    yield DataSet(
        "eleven values", rng.choice(11, ROWS, p=shares).astype(float), column("few", 10, Type.INTEGER)
    )
    yield DataSet("incomes", incomes.clip(0, 500_000), column("income", 500_000, Type.INTEGER))


def lines() -> Iterator[Line]:
    """One quantile, several, and other libraries."""
    for data in data_sets():
        for epsilon in EPSILONS:
            for q in (Fraction(1, 2), Fraction(9, 10)):
                yield from one_quantile(data, q, Fraction(epsilon))
            for many in (2, 3, 9, 99):
                yield from several(data, many, Fraction(epsilon))
    for name in PEERS:
        yield from of_peer(name)


def one_quantile(data: DataSet, q: Fraction, epsilon: Fraction) -> Iterator[Line]:
    """The number without an interval and with one, each against the best candidate; how often the interval holds."""
    label = f"{data.name}, {q} quantile, epsilon {float(epsilon):g}"
    grid, counts = data.ranks.grid, data.counts()
    tree = by_tree(data, [q], epsilon)[0]
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
    parts, _ = by_parts(data, quantiles, epsilon, ends=False)
    tree = rms(np.array(by_tree(data, quantiles, epsilon)))
    others = {
        "one by one": rms(np.array(by_rank(data, quantiles, epsilon))),
        "part by part": parts,
        "tree": tree,
    }
    for ends in (False, True):
        chosen = quantile_choice(data.argument, [f"quantile {q}" for q in quantiles], ends).counts
        ours, held = tree, 0.0
        if chosen == "ranks":
            ours, held = by_parts(data, quantiles, epsilon, ends=True) if ends else (parts, held)
        yield compared(f"{label}, by {chosen}{', with their intervals' * ends}", ours, others, ends)
    if held:
        yield covered(label, held)


def compared(name: str, ours: float, others: dict[str, float], ends: bool) -> Line:
    """A line with the best of the candidates; half a row more is none. An interval may cost what is said to."""
    best = min(others, key=lambda one: others[one])
    ratio = ours / max(others[best], 1e-9)
    most = "" if ends else "at most 1.05 times the best, or half a row more"
    met = ends or ours <= 1.05 * others[best] + 0.5
    return Line(f"rms rank: {name}", ours, best, others[best], ratio, most, met, "rows")


def covered(label: str, held: float) -> Line:
    """How often intervals hold."""
    return Line(
        f"coverage: {label}", 100 * held, "claimed", 95, held / 0.95, "at least 94 %", held >= 0.94, "%"
    )


def of_peer(name: str) -> Iterator[Line]:
    """The number of a quantile by another library, where `make bench-peers` has made its environment."""
    if not (HOME / name / "made.txt").exists():
        yield Line(f"{name} is not here: make bench-peers installs it", 0, "", 0, 0, "", True)
        return
    for epsilon, q in itertools.product(EPSILONS, (Fraction(1, 2), Fraction(9, 10))):
        ours, theirs = [], []
        for data in data_sets():
            grid, values = data.ranks.grid, np.sort(data.values)
            asked = {"library": name, "values": values.tolist(), "q": float(q), "epsilon": float(epsilon),
                     "bounds": [float(grid.lo), float(grid.hi)], "runs": PEER_RUNS}  # fmt: skip
            command = [
                str(HOME / name / "bin" / "python"),
                "-W",
                "ignore",
                "-m",
                "benchmarks.peers.quantile_of",
            ]
            told = subprocess.run(
                command, input=json.dumps(asked), capture_output=True, text=True, check=True, cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            theirs.append(off(values, q, np.array(json.loads(told.stdout))))
            made = QuantilesWithEnds(epsilon, [q], data.measure, ends=False)
            ours.append(by_law(made.number(q), data.counts()))
        label = f"rms rank: {q} quantile, epsilon {float(Fraction(epsilon)):g}, over all data sets"
        here, there = rms(np.array(ours)), rms(np.array(theirs))
        yield Line(label, here, name, there, here / there, "at most theirs", here <= there, "rows")


def by_law(mechanism: ExponentialQuantile, counts: SparseCounts) -> float:
    """The rms error of rank, from the law."""
    some, law = mechanism.probabilities(counts)
    distance = some.distances(mechanism.q, np.zeros(1, np.int64)) / mechanism.q.denominator
    return float(np.sqrt(law @ np.square(distance)))


def flipped(counts: SparseCounts, leaves: int, q: Fraction, epsilon: Fraction) -> float:
    """The same of permute-and-flip, a candidate for each leaf."""
    dense = np.zeros(leaves, np.int64)
    dense[counts.leaf] = counts.count
    below = np.cumsum(dense) - dense
    over = below * q.denominator - q.numerator * int(dense.sum())
    distance = np.maximum(0, np.maximum(over, -over - dense * q.denominator))
    law = PermuteAndFlip(epsilon, row_moves(q) * q.denominator).probabilities(-distance)
    return float(np.sqrt(law @ np.square(distance / q.denominator)))


def by_tree(data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction) -> list[float]:
    """The rms errors of rank of quantiles read off a tree of noisy counts."""
    tree = tree_for(data.argument, 1)
    leaf = np.floor((data.values - tree.grid.lo) / float(tree.grid.step)).astype(np.int64)
    exact = tree.from_leaves(1, 0 * leaf, leaf, 0 * leaf + 1)
    noisy = add_laplace(np.repeat(exact, RUNS, axis=0), tree.row_sensitivity / epsilon).astype(np.float64)
    return [data.error(q, tree.estimate(f"quantile {q}", noisy)) for q in quantiles]


def by_rank(data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction) -> list[float]:
    """The same of quantiles chosen by rank one by one, with an equal part of epsilon each."""
    counts = data.counts()
    return [by_law(ExponentialQuantile(epsilon / len(quantiles), q, data.measure), counts) for q in quantiles]


def by_parts(
    data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction, *, ends: bool
) -> tuple[float, float]:
    """The rms error of rank of quantiles drawn part by part, and how many of their intervals hold."""
    one, made = data.counts(), QuantilesWithEnds(epsilon, quantiles, data.measure, ends=ends)
    runs = min(RUNS, PARTS // len(quantiles))
    starts = np.arange(runs + 1) * len(one.leaf)
    many = SparseCounts(runs, starts, np.tile(one.leaf, runs), np.tile(one.count, runs))
    drawn, grid, leaves = made.release(many), data.ranks.grid, data.leaves()
    errors, held = [], []
    for at, q in enumerate(quantiles):
        number, *beside = drawn[:, made.each * at : made.each * (at + 1)].T
        errors.append(data.error(q, float(grid.lo) + float(grid.step) * (number + 0.5)))
        if ends:
            held.append(np.mean((beside[0] <= exact_leaf(leaves, q)) & (exact_leaf(leaves, q) <= beside[1])))
    return rms(np.array(errors)), float(np.mean(held)) if held else 0.0
