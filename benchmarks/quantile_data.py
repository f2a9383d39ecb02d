"""The six data sets that quantiles are measured on, and how far a value lies from a quantile in rank."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.engines.schema import Type
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.measures.ranks import Ranks, ranks_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

ROWS: Final = 10_000
INCOMES: Final = "shared/data/PUMS5extract10000.csv"
"""Beside the checkout, or further up."""


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

    def squares(self, q: Fraction, values: Floats) -> Floats:
        """The squared errors of rank of some values; each leaf has all ranks of its rows."""
        grid, leaves = self.ranks.grid, self.leaves()
        at = np.floor((values - grid.lo) / float(grid.step)).clip(0, grid.levels - 1)
        return squares(leaves, q, at)


def squares(ordered: Floats | Integers, q: Fraction, found: Floats) -> Floats:
    """The squared errors of rank of some values among others in order; each has all ranks of those that are equal."""
    below, until = np.searchsorted(ordered, found), np.searchsorted(ordered, found, "right")
    rank = float(q) * len(ordered)
    return np.asarray(np.square(np.maximum(0, np.maximum(below - rank, rank - until))))


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
