"""Root mean square errors of rank of quantiles, ours against each candidate, and how often the intervals hold.

Six data sets of 10,000 rows: even, normal, lognormal, two fifths zeros, eleven values, incomes of a census extract
(where `shared/data` beside the checkout has it; else rounded lognormal ones). A value that occurs often has all of its
ranks, as the fine leaves tell them. Choices by rank and the coverage are worked out from their laws; the tree is drawn
`RUNS` times, and the standard error of an error is then about 5 % of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.line import Line
from benchmarks.quantile_coverage import coverage
from discreet.engines.schema import Type
from discreet.mechanisms import PermuteAndFlip
from discreet.mechanisms.selection.leaf_measure import LeafMeasure
from discreet.mechanisms.selection.quantile import ExponentialQuantile, row_moves
from discreet.mechanisms.selection.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.selection.sparse_counts import SparseCounts
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
        below, until = np.searchsorted(leaves, at), np.searchsorted(leaves, at, "right")
        rank = float(q) * len(leaves)
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
    """One quantile, several, and the coverage of their intervals."""
    for data in data_sets():
        for epsilon in EPSILONS:
            for q in (Fraction(1, 2), Fraction(9, 10)):
                yield from one_quantile(data, q, Fraction(epsilon))
            for many in (2, 3, 9, 99):
                yield several(data, many, Fraction(epsilon))


def one_quantile(data: DataSet, q: Fraction, epsilon: Fraction) -> Iterator[Line]:
    """The number alone against each candidate, and the number of an answer, with its interval."""
    label = f"{data.name}, {q} quantile, epsilon {float(epsilon):g}"
    grid, counts = data.ranks.grid, data.counts()
    ours = by_law(ExponentialQuantile(epsilon, q, data.measure), counts)
    others = {
        "even weights": by_law(ExponentialQuantile(epsilon, q, LeafMeasure.over(grid.levels)), counts),
        "tree": by_tree(data, [q], epsilon)[0],
    }
    if grid.levels <= SMALL:
        others["permute-and-flip"] = flipped(counts, grid.levels, q, epsilon)
    yield compared(f"rms rank: {label}", ours, others)
    answer = QuantilesWithEnds(epsilon, [q], data.measure)
    shown = by_law(answer.number(q), counts)
    yield Line(f"the same in an answer with its interval: {label}", shown, "tree", others["tree"],
               shown / max(others["tree"], 1e-9), "", True)  # fmt: skip
    covered = coverage(data.leaves(), answer)
    yield Line(
        f"coverage: {label}", covered, "claimed", 0.95, covered / 0.95, "at least 94 %", covered >= 0.94
    )


def compared(name: str, ours: float, others: dict[str, float]) -> Line:
    """A line with the best of the candidates; half a row more is none."""
    best = min(others, key=lambda one: others[one])
    ratio = ours / max(others[best], 1e-9)
    met = ours <= 1.05 * others[best] + 0.5
    return Line(name, ours, best, others[best], ratio, "at most 1.05 times the best, or half a row more", met)


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


def several(data: DataSet, many: int, epsilon: Fraction) -> Line:
    """Evenly spaced quantiles of one column: what the planner takes against each candidate."""
    quantiles = [Fraction(k + 1, many + 1) for k in range(many)]
    candidates = {"ranks": rms(np.array(by_rank(data, quantiles, epsilon)))}
    candidates["tree"] = rms(np.array(by_tree(data, quantiles, epsilon)))
    chosen = quantile_choice(data.argument, [f"quantile {q}" for q in quantiles]).counts
    label = f"{data.name}, {many} quantiles, epsilon {float(epsilon):g}"
    return compared(f"rms rank: {label}, by {chosen}", candidates[chosen], candidates)
