"""Estimates of the integers of a question from integers that were released: sums of them, and the best linear ones.

The groups of a question are sums of cells of a table. Other releases tell of sums of the same cells, such as of the
ages from 20 to 60. Of all unbiased linear estimates from the cells and these sums, the generalised least squares
estimate has the least variance (Aitken 1936). Its weights follow from the scales and places, never from the integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import effective
from discreet.records import dataclass
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.plan.recalled import Law, scaled, variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

N = TypeVar("N", np.int64, np.float64)
MOST_ROWS = 32
"""The most sums beside the cells that tell of a group."""
LEAST_GAIN = 0.002
"""The share of the variance that a sum must take away by itself to be used."""
MOST_PAIRS = 1 << 18
"""No more groups times cells are looked at."""
Row: TypeAlias = tuple[int, int, float]
"""A sum beside the cells: the number of its release, its group there, and its weight."""
CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6, 1 - 1e-9)
"""At which the law of one group is compared with those of the others."""


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """A release of an earlier question.

    Attributes:
        number: of the charge of that question in the ledger.
        noisy: its integers.
    """

    number: int
    noisy: NoisyIntegers


@dataclass(frozen=True, eq=False)
class Sums:
    """A measure of a question as sums of integers that were released.

    Attributes:
        source: where they are.
        measure: the number of the measure there.
        place: int64 array (groups of the source,): the group of the question that each belongs to, or -1.
        count: the most of them that a group adds up.
    """

    source: EarlierRelease
    measure: int
    place: Integers
    count: int

    @property
    def used(self) -> frozenset[tuple[EarlierRelease, int]]:
        """The releases, with their measures, that it is made of."""
        return frozenset({(self.source, self.measure)})

    @property
    def scale(self) -> float:
        """Of the noise of an integer."""
        return float(self.source.noisy.plan.scale(self.measure))

    @property
    def law(self) -> Law:
        """The law of the noise of a sum."""
        return ((self.scale, self.count),)

    @property
    def released(self) -> Integers:
        """The integers: int64 array (groups of the source, integers of the measure)."""
        return self.source.noisy.entries[:, self.source.noisy.plan.entries[self.measure]]

    def entries(self, cells: int) -> Integers:
        """The sums, by group: int64 array (cells, integers)."""
        return added(self.released, self.place, cells)


def added(values: NDArray[N], place: Integers, groups: int) -> NDArray[N]:
    """The sums of the rows of values of each group: array (groups, integers)."""
    out: NDArray[N] = np.zeros((groups, values.shape[1]), values.dtype)
    used = place >= 0
    np.add.at(out, place[used], values[used])
    return out


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A measure of a question from the cells of a table and from sums of these cells.

    Attributes:
        cells: ways in which each cell of the table was released, or is a sum of released integers.
        sums: releases whose groups are sums of these cells; `place` is the group that each cell of the table is in.
        place: int64 array (cells of the table,): the group of the question that each belongs to, or -1.
        groups: the number of groups of the question.
    """

    cells: tuple[Sums, ...]
    sums: tuple[Sums, ...]
    place: Integers
    groups: int

    @property
    def used(self) -> frozenset[tuple[EarlierRelease, int]]:
        """The releases, with their measures, that it is made of."""
        return frozenset((sums.source, sums.measure) for sums in (*self.cells, *self.sums))

    @cached_property
    def _own(self) -> tuple[Floats, float]:
        """The weights of the ways in which a cell was released, and the variance of their mean."""
        each = np.array([variance([sums.law]) for sums in self.cells])
        return (1 / each) / np.sum(1 / each), float(1 / np.sum(1 / each))

    @cached_property
    def _sizes(self) -> list[Integers]:
        """How many cells each group of a release of sums adds up."""
        return [np.bincount(sums.place + 1, minlength=1)[1:] for sums in self.sums]

    @cached_property
    def _solved(self) -> list[tuple[list[Row], Law]]:
        """By group, the sums beside the cells, and the law of the estimate."""
        return [self._of_group(np.flatnonzero(self.place == group)) for group in range(self.groups)]

    def _of_group(self, inside: Integers) -> tuple[list[Row], Law]:
        own, cell = self._own
        rows = []
        for number, (sums, sizes) in enumerate(zip(self.sums, self._sizes, strict=True)):
            shared = np.bincount(sums.place[inside] + 1, minlength=1)[1:]
            noise = 2 * sums.scale**2
            for group in np.flatnonzero(shared).tolist():
                gain = float(cell * shared[group]) ** 2 / (cell * float(sizes[group]) + noise)
                rows.append((gain, number, group, noise))
        rows = sorted((row for row in rows if row[0] > LEAST_GAIN * cell * len(inside)), reverse=True)[
            :MOST_ROWS
        ]
        weights = np.ones(len(inside))
        chosen: list[Row] = []
        if rows:
            within = np.array([self.sums[number].place == group for _, number, group, _ in rows])
            columns = np.union1d(inside, np.flatnonzero(within.any(axis=0)))
            members = within[:, columns].astype(np.float64)
            weights = np.isin(columns, inside).astype(np.float64)
            covariance = cell * members @ members.T + np.diag([noise for *_, noise in rows])
            found = np.linalg.solve(covariance, cell * members @ weights)
            weights = weights - found @ members
            chosen = [(number, group, float(w)) for (_, number, group, _), w in zip(rows, found, strict=True)]
        if not len(inside):
            weights = np.ones(1)  # without cells it is 0, and its interval that of one cell, as of other sums
        kinds, counts = np.unique(np.abs(np.round(weights, 9)), return_counts=True)
        law = [
            (float(kind * share) * scale, int(count) * number)
            for kind, count in zip(kinds, counts, strict=True)
            if kind
            for share, sums in zip(own, self.cells, strict=True)
            for scale, number in sums.law
        ]
        return chosen, (*law, *_beside(self.sums, chosen))

    @cached_property
    def law(self) -> Law:
        """The law of the group whose noise is largest, widened where another one has a wider interval."""
        return widest(list(dict.fromkeys(law for _, law in self._solved)))

    def entries(self, cells: int) -> Floats:
        """The estimates, by group: float64 array (cells, integers)."""
        own, _ = self._own
        size = len(self.place)
        base: Floats = sum(
            weight * sums.entries(size).astype(np.float64)
            for weight, sums in zip(own, self.cells, strict=True)
        )
        out: Floats = added(base, self.place, cells)
        beside = [sums.released - added(base, sums.place, len(sums.released)) for sums in self.sums]
        for group, (rows, _) in enumerate(self._solved):
            for number, other, weight in rows:
                out[group] += weight * beside[number][other]
        return out


def widest(laws: Sequence[Law]) -> Law:
    """Of some laws that with the largest variance, widened where another one has a wider interval."""
    squares = np.array([variance([law]) for law in laws])
    fourth = np.array([sum(count * scale**4 for scale, count in law) for law in laws])
    number = np.maximum(1, (squares / 2) ** 2 / np.maximum(fourth, 1e-300))
    worst = int(np.argmax(squares))
    reach = np.array([np.sqrt(squares) * effective(number, confidence) for confidence in CONFIDENCES])
    wider = float(np.max(reach / np.maximum(reach[:, [worst]], 1e-300)))
    return scaled(laws[worst], wider if wider > 1 + 1e-6 else 1.0)


def _beside(sums: Sequence[Sums], rows: Sequence[Row]) -> Law:
    """The law of the noise of weighted sums."""
    return tuple((abs(weight) * sums[number].scale, 1) for number, _, weight in rows if weight)


Estimate: TypeAlias = Sums | LeastSquares


def better(ways: Sequence[Sums], tables: Sequence[tuple[Sums, tuple[Sums, ...], tuple[Sums, ...]]], groups: int
           ) -> tuple[Estimate, ...]:  # fmt: skip
    """The ways in which a measure follows, with the best estimate from one table in the place of those that it uses.

    Args:
        ways: sums of released integers, each an estimate by itself.
        tables: for some of them, the ways in which its cells were released and the sums of them beside.
        groups: the number of groups of the question.
    """
    best: tuple[Estimate, ...] = tuple(ways)
    least = variance([way.law for way in ways])
    for table, cells, sums in tables:
        if not sums or groups * len(table.place) > MOST_PAIRS:
            continue
        found = LeastSquares(cells, sums, table.place, groups)
        others = tuple(way for way in ways if not way.used & found.used)
        own = variance([found.law, *(way.law for way in others)])
        if own < least:
            best, least = (found, *others), own
    return best
