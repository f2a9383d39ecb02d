"""Workloads of weighted sums with Gaussian noise: the matrix that is best for it, and the workload with it.

Laplace noise asks for columns that add up to one number, Gaussian noise for columns of one length, so each has its own
matrix (`planning.ranges.search`, `pieces`, and `lengths`). Which of the two errs less is predicted from these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.planning.ranges.factors import Weighted
from discreet.planning.ranges.lengths import Lengths, for_families, for_tables
from discreet.records import dataclass
from discreet.sql.algebra import keys as ks
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.plan.plan import AnyMeasure, JointWorkload, PlannedRelease
from discreet.sql.plan.workloads.pieced import Parted, Pieced
from discreet.sql.plan.workloads.series_law import SeriesLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moved:
    """By how much a unit moves a measure, in rows, times the error of the sums.

    Attributes:
        laplace: in L1, by the matrix for Laplace noise.
        gaussian: in L2, by that for Gaussian noise.
        smoothing: the variance that noise by the exact curve has more, in rows squared.
    """

    laplace: float
    gaussian: float
    smoothing: float


@dataclass(frozen=True)
class WeightedWorkload:
    """A workload of weighted sums that could have Gaussian noise.

    Attributes:
        workload: with Laplace noise.
        tables: its releases.
        first: the number of the first of them.
    """

    workload: JointWorkload
    tables: tuple[PlannedRelease, ...]
    first: int

    @property
    def possible(self) -> bool:
        """Whether all of its integers may get Gaussian noise."""
        return not any(isinstance(measure, AllRows) for measure in self.workload.finest.measures)

    @cached_property
    def _sums(self) -> list[Floats]:
        """The sums of pieces that each table is made of."""
        laws = [table.estimated for table in self.tables]
        return [law.kinds for law in laws if isinstance(law, Pieced)]

    @cached_property
    def matrix(self) -> Weighted:
        """The matrix for Gaussian noise."""
        series, parted = self.workload.series, self.workload.pieces
        if series is not None:
            found = for_families(series.factors.size, series.families)
            return series.factors if found is None else found
        assert parted is not None
        sums = tuple(tuple(tuple(np.flatnonzero(row).tolist()) for row in own) for own in self._sums)
        return for_tables(parted.matrix.size, sums)

    def spread(self, matrix: Weighted) -> float:
        """The geometric mean of the deviations of the sums that are asked for, for noise of deviation one in units."""
        series = self.workload.series
        if series is not None:
            found = [matrix.variance(family) for family in series.families]
        else:
            found = [float(np.mean(matrix.of_sums(own))) for own in self._sums]
        return math.exp(sum(math.log(variance / 2) for variance in found) / len(found) / 2)

    @cached_property
    def planned(self) -> PlannedRelease:
        """The measured release with that matrix, before its noise is chosen."""
        ((_, measured),) = self.workload.marginals
        node = measured.keys[-1]
        keys = (*measured.keys[:-1], ks.Key(node.expression, tuple(range(self.matrix.nodes))))
        return replace(measured, keys=keys, times=self.matrix.norm, length=self.matrix.length)

    def moved(self, measure: AnyMeasure) -> Moved:
        """By how much a unit moves a measure."""
        from discreet.accounting.gaussian.gdp import smoothing

        before = self.workload.series or self.workload.pieces
        assert before is not None
        old = before.factors if isinstance(before, SeriesLaw) else before.matrix
        rows = measure.row_sensitivity
        square, spread = self.planned.square(measure), self.spread(self.matrix)
        times = spread / self.matrix.units / rows
        return Moved(
            float(self.workload.finest.sensitivity(measure) / rows) * self.spread(old),
            math.sqrt(square) * times,
            float(smoothing(square)) * times**2,
        )

    def noisy(self, measured: PlannedRelease) -> tuple[JointWorkload, tuple[PlannedRelease, ...]]:
        """The workload and its tables, once the Gaussian noise of the measured release is known."""
        scales = tuple(
            Fraction(math.sqrt(float(measured.gaussian(index) or 0) / 2) / self.matrix.units)
            for index in range(len(measured.measures))
        )
        finest = replace(self.workload.finest, measures=measured.measures)
        series, parted = self.workload.series, self.workload.pieces
        if series is not None:
            series = replace(series, factors=self.matrix, scales=scales, gaussian=True)
        if parted is not None:
            assert isinstance(self.matrix, Lengths)
            parted = Parted(self.matrix, parted.series, parted.of)
        workload = replace(
            self.workload, finest=finest, marginals=(((), measured),), series=series, pieces=parted
        )
        tables = []
        for table in self.tables:
            law = table.estimated
            if isinstance(law, Pieced) and parted is not None:
                law = replace(law, parted=parted, scales=scales, gaussian=True)
            else:
                law = series
            inexact = tuple(replace(aggregate, whole=False) for aggregate in table.aggregates)
            tables.append(replace(table, measures=measured.measures, aggregates=inexact, estimated=law))
        return workload, tuple(tables)


def weighted_of(
    workloads: Sequence[JointWorkload], releases: Sequence[PlannedRelease]
) -> list[WeightedWorkload]:
    """The workloads that could have Gaussian noise."""
    numbers: Mapping[str, int] = {release.name: index for index, release in enumerate(releases)}
    found = []
    for workload in workloads:
        if workload.series is not None or workload.pieces is not None:
            tables = [numbers[name] for name in workload.tables]
            weighted = WeightedWorkload(workload, tuple(releases[index] for index in tables), min(tables))
            found += [weighted] if weighted.possible else []
    return found
